/**
 * Markdown as HTML: `marked` makes it, DOMPurify removes all that is not text and its marks.
 *
 * Texts come from models and from the data they read. So nothing in them runs, is styled or asks for anything, and no
 * picture is loaded from elsewhere: that would tell its server who reads.
 */
import DOMPurify from "dompurify";
import { Marked } from "marked";
import { useMemo } from "react";

/** Headings of a text stand below those of the page around it. */
const BELOW = 2;

const marked = new Marked({
  gfm: true,
  breaks: true,
  walkTokens(token) {
    if (token.type === "heading") token.depth = Math.min(6, Number(token.depth) + BELOW);
  },
});

const purifier = DOMPurify(window);
purifier.addHook("afterSanitizeAttributes", (element) => {
  if (element instanceof HTMLImageElement && !element.src.startsWith("data:image/")) {
    const link = document.createElement("a");
    link.href = element.src;
    link.textContent = element.alt || element.src;
    element.replaceWith(link);
    leadOut(link);
  } else if (element instanceof HTMLAnchorElement) leadOut(element);
  else if (element.tagName === "PRE" || element.tagName === "TABLE") element.setAttribute("tabindex", "0");
});

function leadOut(link: HTMLAnchorElement): void {
  link.target = "_blank";
  link.rel = "noopener noreferrer nofollow";
}

const ALLOWED = {
  ALLOWED_TAGS: [
    ...["p", "br", "hr", "strong", "em", "del", "code", "pre", "blockquote", "ul", "ol", "li", "a", "img"],
    ...["h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "sup", "sub", "kbd"],
  ],
  ALLOWED_ATTR: ["href", "src", "alt", "title", "align", "start"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

export default function MarkdownHtml({ text }: { text: string }) {
  const html = useMemo(() => purifier.sanitize(marked.parse(text, { async: false }), ALLOWED), [text]);
  return <div className="markdown" dangerouslySetInnerHTML={{ __html: html }} />;
}
