/** A JSON value as a tree that opens part by part. Large parts begin closed, long texts are cut until asked for. */
import { useState } from "react";
import type { Json } from "../api/json";
import "./json-tree.css";

interface Props {
  value: Json;
  /** What the value is, for those who do not see it. */
  label: string;
}

const OPEN_LEVELS = 2;
/** A list or map with more parts than this begins closed, below the first level. */
const MANY = 20;
/** So many parts are drawn at once. */
const PAGE = 100;
const LONG = 400;

export function JsonTree({ value, label }: Props) {
  return (
    <div className="json" role="group" aria-label={label}>
      <Part name={null} value={value} level={0} />
    </div>
  );
}

function Part({ name, value, level }: { name: string | null; value: Json; level: number }) {
  if (typeof value !== "object" || value === null) {
    return (
      <div className="json-line">
        <Name name={name} />
        <Leaf value={value} />
      </div>
    );
  }
  const parts = Array.isArray(value) ? value.map((part, at) => [String(at), part] as const) : Object.entries(value);
  const ends = Array.isArray(value) ? "[]" : "{}";
  if (parts.length === 0) {
    return (
      <div className="json-line">
        <Name name={name} />
        <span className="json-mark">{ends}</span>
      </div>
    );
  }
  return <Branch name={name} parts={parts} ends={ends} level={level} />;
}

interface BranchProps {
  name: string | null;
  parts: readonly (readonly [string, Json])[];
  ends: string;
  level: number;
}

function Branch({ name, parts, ends, level }: BranchProps) {
  const [open, setOpen] = useState(level < OPEN_LEVELS && (level === 0 || parts.length <= MANY));
  const [shown, setShown] = useState(PAGE);
  return (
    <>
      <div className="json-line">
        <button type="button" className="json-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
          <span className="json-arrow" aria-hidden="true" />
          <Name name={name} />
          <span className="json-mark">
            {ends[0]}
            {!open && (
              <>
                <span className="json-count">
                  {parts.length}{" "}
                  {ends === "[]" ? (parts.length === 1 ? "item" : "items") : parts.length === 1 ? "key" : "keys"}
                </span>
                {ends[1]}
              </>
            )}
          </span>
        </button>
      </div>
      {open && (
        <div className="json-parts">
          {parts.slice(0, shown).map(([key, part]) => (
            <Part key={key} name={key} value={part} level={level + 1} />
          ))}
          {parts.length > shown && (
            <button type="button" className="json-more" onClick={() => setShown(shown + 10 * PAGE)}>
              {parts.length - shown} more
            </button>
          )}
        </div>
      )}
      {open && <div className="json-line json-mark json-end">{ends[1]}</div>}
    </>
  );
}

function Name({ name }: { name: string | null }) {
  return name === null ? null : (
    <>
      <span className="json-name">{name}</span>
      <span className="json-mark">: </span>
    </>
  );
}

function Leaf({ value }: { value: null | boolean | number | string }) {
  const [whole, setWhole] = useState(false);
  if (typeof value !== "string")
    return <span className={`json-${value === null ? "null" : typeof value}`}>{String(value)}</span>;
  const cut = !whole && value.length > LONG;
  return (
    <span className="json-string">
      {value.includes("\n") ? "" : '"'}
      <span className={value.includes("\n") ? "json-block" : ""}>{cut ? `${value.slice(0, LONG)}…` : value}</span>
      {value.includes("\n") ? "" : '"'}
      {cut && (
        <button type="button" className="json-more" onClick={() => setWhole(true)}>
          {(value.length - LONG).toLocaleString("en")} more characters
        </button>
      )}
    </span>
  );
}
