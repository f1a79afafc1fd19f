/** What a run may take, by mode: what is expected, and below it from the minimum to the worst. */
import type { ReactNode } from "react";
import type { Case, Explanation, Range } from "../api/explanation";
import { count, duration, money } from "../model/amounts";
import { modeOf } from "../model/words";
import { ModeBadge } from "../ui/badge";

/** Everything takes some time: none at all means that nobody has said how much. */
const UNKNOWN = "–";
const MEASURES: readonly (readonly [string, (one: Case) => string])[] = [
  ["Steps", (one) => count(one.steps)],
  ["Tokens", (one) => count(one.tokens)],
  ["Cost", (one) => money(one.costUsd)],
  ["Time", (one) => (one.durationSec === 0 ? UNKNOWN : duration(one.durationSec * 1000))],
];

export function EstimateTable({ totals }: { totals: Explanation["totals"] }) {
  const modes = Object.entries(totals.byMode).filter(([, range]) => range.worst.steps > 0);
  return (
    <>
      <div className="estimate-frame" tabIndex={0} role="group" aria-label="Estimate by mode">
        <table className="estimate">
          <thead>
            <tr>
              <th scope="col">Mode</th>
              {MEASURES.map(([name]) => (
                <th scope="col" key={name}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {modes.map(([mode, range]) => (
              <Row key={mode} name={<ModeBadge mode={modeOf({ mode })} />} range={range} />
            ))}
          </tbody>
          <tfoot>
            <Row name="All" range={totals.all} />
          </tfoot>
        </table>
      </div>
      <p className="muted small">Expected; below it, where it is not certain, from the minimum to the worst case.</p>
      {totals.notes.length > 0 && (
        <ul className="estimate-notes muted small">
          {totals.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </>
  );
}

function Row({ name, range }: { name: ReactNode; range: Range }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      {MEASURES.map(([measure, show]) => {
        const [least, expected, most] = [show(range.minimum), show(range.expected), show(range.worst)];
        return (
          <td key={measure} className="number">
            <strong>{expected}</strong>
            {least !== most && <span className="estimate-range">{span(least, most)}</span>}
          </td>
        );
      })}
    </tr>
  );
}

function span(least: string, most: string): string {
  return least === UNKNOWN ? `up to ${most}` : `${least} – ${most}`;
}
