/** Times on the page: how long ago, and how long something has taken so far. The exact time is in the tip. */
import { useNow } from "../live/use-now";
import { duration, moment, relative } from "../model/amounts";

export function Ago({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={moment(at)}>
      {relative(at, now)}
    </time>
  );
}

/** From one time to another, or to now while there is no other. */
export function Took({ from, to }: { from: string; to: string | null }) {
  return to === null ? <TookSoFar from={from} /> : <span className="number">{span(from, Date.parse(to))}</span>;
}

function TookSoFar({ from }: { from: string }) {
  const now = useNow();
  return <span className="number">{span(from, Math.floor(now / 1000) * 1000)}</span>;
}

function span(from: string, to: number): string {
  return duration(Math.max(0, to - Date.parse(from)));
}
