/** Code in colours. */
import { Fragment, memo } from "react";
import { highlight } from "../model/highlight";
import "./code.css";

/** One line. */
export const CodeLine = memo(function CodeLine({ text, language }: { text: string; language: string }) {
  return highlight(text, language).map((piece, at) =>
    piece.kind === "plain" ? (
      <Fragment key={at}>{piece.text}</Fragment>
    ) : (
      <span key={at} className={`code-${piece.kind}`}>
        {piece.text}
      </span>
    ),
  );
});

/** So many lines are coloured and drawn; the rest is there as plain text. */
const MOST_LINES = 2_000;

export function Code({ text, language, label }: { text: string; language: string; label: string }) {
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <pre className="code" tabIndex={0} role="group" aria-label={label}>
      {lines.slice(0, MOST_LINES).map((line, at) => (
        <Fragment key={at}>
          <CodeLine text={line} language={language} />
          {"\n"}
        </Fragment>
      ))}
      {lines.slice(MOST_LINES).join("\n")}
    </pre>
  );
}
