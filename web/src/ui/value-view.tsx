/** Any value as a person would like to read it: Markdown rendered, CSV as a table, diffs as diffs, the rest as a tree. */
import type { Json } from "../api/json";
import { parseCsv } from "../model/csv";
import { parsedJson, textKind } from "../model/text-kinds";
import { DiffView } from "./diff-view";
import { JsonTree } from "./json-tree";
import { Markdown } from "./markdown";
import "./value-view.css";

export function ValueView({ value, label }: { value: Json; label: string }) {
  if (typeof value === "string") return <TextView text={value} label={label} />;
  if (typeof value !== "object" || value === null) return <code className="value-short">{JSON.stringify(value)}</code>;
  return <JsonTree value={value} label={label} />;
}

export function TextView({ text, label }: { text: string; label: string }) {
  switch (textKind(text)) {
    case "diff":
      return <DiffView text={text} />;
    case "json":
      return <JsonTree value={parsedJson(text)} label={label} />;
    case "csv":
      return <CsvTable text={text} label={label} />;
    case "markdown":
    case "plain":
      return <Markdown text={text} />;
  }
}

/** So many rows are drawn; the rest is in the file. */
const MOST_ROWS = 200;

export function CsvTable({ text, label }: { text: string; label: string }) {
  const [head = [], ...rows] = parseCsv(text);
  return (
    <div className="csv" tabIndex={0} role="group" aria-label={label}>
      <table>
        <thead>
          <tr>
            {head.map((name, at) => (
              <th key={at} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((row, number) => (
            <tr key={number}>
              {row.map((field, at) => (
                <td key={at}>{field}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MOST_ROWS && <p className="muted small">{rows.length - MOST_ROWS} more rows.</p>}
    </div>
  );
}
