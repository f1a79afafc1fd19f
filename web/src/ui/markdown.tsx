/** A text with marks of Markdown, rendered; any other text as it is. What renders it is loaded when it is first needed. */
import { lazy, Suspense } from "react";
import { isMarkdown } from "../model/text-kinds";
import "./markdown.css";

const Rendered = lazy(() => import("./markdown-html"));

export function Markdown({ text }: { text: string }) {
  const plain = <div className="markdown markdown-plain">{text}</div>;
  if (!isMarkdown(text)) return plain;
  return (
    <Suspense fallback={plain}>
      <Rendered text={text} />
    </Suspense>
  );
}
