/** What panels of the inspector have in common: sections, values that are asked for, words where there is nothing. */
import type { ReactNode } from "react";
import type { Node } from "../../api/types";
import type { RequestState } from "../../live/use-request";
import { ProblemBox, Waiting } from "../../ui/notice";

export interface PanelProps {
  id: string;
  node: Node;
}

export function Section(props: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="panel-section">
      <header>
        <h3>{props.title}</h3>
        {props.aside}
      </header>
      {props.children}
    </section>
  );
}

/** Draws an answer once there is one, and what went wrong instead of one. */
export function Answer<T>({ asked, children }: { asked: RequestState<T>; children: (value: T) => ReactNode }) {
  if (asked.value !== null) return children(asked.value);
  if (asked.problem !== null) return <ProblemBox problem={asked.problem} again={asked.again} />;
  return <Waiting what="Loading" />;
}

export function Nothing({ children }: { children: ReactNode }) {
  return <p className="panel-nothing">{children}</p>;
}

/** A list of names and values. */
export function Facts({ rows }: { rows: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="panel-facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
