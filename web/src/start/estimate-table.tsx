/**
 * What a run may take, by mode: what is expected, and below it from the minimum to the worst.
 *
 * The worst time is a bound only where every block has a time limit; elsewhere it is what past runs took.
 */
import type { ReactNode } from "react";
import type { Case, Explanation, Range } from "../api/explanation";
import { count, duration, money } from "../model/amounts";
import { modeOf } from "../model/labels";
import { ModeBadge } from "../ui/badge";

/** A time of zero means that no estimate is known. */
const UNKNOWN = "–";
const TIME = "Time";
const MEASURES: readonly (readonly [string, (one: Case) => string])[] = [
  ["Steps", (one) => count(one.steps)],
  ["Tokens", (one) => count(one.tokens)],
  ["Cost", (one) => money(one.costUsd)],
  [TIME, (one) => (one.durationSec === 0 ? UNKNOWN : duration(one.durationSec * 1000))],
];

export function EstimateTable({ totals, blocks }: Pick<Explanation, "totals" | "blocks">) {
  const unlimited = new Set(
    blocks.filter((block) => (block.timeoutMs ?? block.approvalTimeoutMs ?? null) === null).map((block) => block.mode),
  );
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
              <Row
                key={mode}
                name={<ModeBadge mode={modeOf({ mode })} />}
                range={range}
                limited={!unlimited.has(mode)}
              />
            ))}
          </tbody>
          <tfoot>
            <Row name="All" range={totals.all} limited={unlimited.size === 0} />
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

function Row({ name, range, limited }: { name: ReactNode; range: Range; limited: boolean }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      {MEASURES.map(([measure, show]) => {
        const [least, expected, most] = [show(range.minimum), show(range.expected), show(range.worst)];
        const open = measure === TIME && !limited;
        return (
          <td key={measure} className="number">
            <strong>{expected}</strong>
            {open && <span className="estimate-range">no time limit</span>}
            {!open && least !== most && <span className="estimate-range">{span(least, most)}</span>}
          </td>
        );
      })}
    </tr>
  );
}

function span(least: string, most: string): string {
  return least === UNKNOWN ? `up to ${most}` : `${least} – ${most}`;
}
