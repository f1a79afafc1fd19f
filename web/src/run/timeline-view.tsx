/** The timeline of a run: one line for each node, with waiting, models, code and people apart. */
import { useMemo, useState } from "react";
import type { Run } from "../api/types";
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import { useRunPart } from "../live/hooks";
import { useFacts } from "../live/use-facts";
import { useNow } from "../live/use-now";
import { sameParts } from "../live/use-store";
import { duration } from "../model/amounts";
import type { RunState } from "../model/run-store";
import {
  type Bar,
  type Kind,
  KIND_NAMES,
  KINDS,
  type Row,
  seen,
  type Sources,
  timelineOf,
  totals,
} from "../model/timeline";
import { ModeBadge } from "../ui/badge";
import { IconButton } from "../ui/button";
import { Icon } from "../ui/icon";
import { Empty, ProblemBox, Waiting } from "../ui/notice";
import "./timeline-view.css";

const endedOf = (state: RunState) => state.run?.ending !== null;
const partsOf = ({ run }: RunState) => ({ nodes: run?.nodes ?? {}, edges: run?.edges ?? {} });
const KIND_HELP: Record<Kind, string> = {
  waiting: "The time during which at least one node could have gone on and waited for its turn.",
  model: "The time during which at least one model was at work.",
  tool: "The time during which at least one handler or tool was at work.",
  human: "The time during which at least one person was asked.",
};
const ZOOMS = [1, 2, 4, 8, 16, 32];
/** About so many parts of a track can be told apart. */
const PARTS = 600;

export default function TimelineView({ id }: { id: string; selected: string | null }) {
  const { facts, problem, again } = useFacts(id);
  const ended = useRunPart(id, endedOf);
  const { nodes, edges } = useRunPart(id, partsOf, sameParts);
  const [zoom, setZoom] = useState(0);
  const now = useNow(1_000, !ended);
  const sources = useMemo(() => sourcesOf(nodes, edges), [nodes, edges]);
  const found = useMemo(() => timelineOf(facts, Object.values(nodes), sources), [facts, nodes, sources]);
  if (problem !== null && facts.length === 0) return <ProblemBox problem={problem} again={again} />;
  if (facts.length === 0) return <Waiting what="Loading the timeline" />;
  if (found.rows.length === 0)
    return (
      <Empty icon="clock" title="Nothing has started yet">
        As soon as a node is tried, or a person is asked, it appears here.
      </Empty>
    );
  const to = ended ? Math.max(found.to, found.from + 1) : Math.max(now, found.from + 1);
  const sums = totals(found.rows, to);
  const scale = ZOOMS[zoom] ?? 1;
  return (
    <div className="timeline">
      <div className="timeline-tools">
        <ul className="timeline-sums">
          {KINDS.map((kind) => (
            <li key={kind} title={KIND_HELP[kind]}>
              <span className={`timeline-key timeline-${kind}`} aria-hidden="true" />
              {KIND_NAMES[kind]} <strong className="number">{duration(sums[kind])}</strong>
            </li>
          ))}
        </ul>
        <div className="timeline-zoom">
          <IconButton label="Zoom out" disabled={zoom === 0} onClick={() => setZoom(zoom - 1)}>
            −
          </IconButton>
          <span className="muted small number">{scale}×</span>
          <IconButton label="Zoom in" disabled={zoom === ZOOMS.length - 1} onClick={() => setZoom(zoom + 1)}>
            <Icon name="plus" size={14} />
          </IconButton>
        </div>
      </div>
      <div className="timeline-scroll" tabIndex={0} role="group" aria-label="Timeline">
        <div className="timeline-inside" style={{ width: `calc(14rem + (100% - 14rem) * ${scale})` }}>
          <Axis span={to - found.from} scale={scale} />
          {found.rows.map((row) => (
            <TimelineRow key={row.key} runId={id} row={row} from={found.from} to={to} scale={scale} />
          ))}
        </div>
      </div>
    </div>
  );
}

function sourcesOf(nodes: Run["nodes"], edges: Run["edges"]): Sources {
  const found = new Map<string, string[]>();
  for (const edge of Object.values(edges)) {
    const from = nodes[edge.from]?.key;
    const to = nodes[edge.to]?.key;
    if (from === undefined || to === undefined || edge.kind === "jump" || edge.kind === "channel") continue;
    found.set(to, [...(found.get(to) ?? []), from]);
  }
  return found;
}

function Axis({ span, scale }: { span: number; scale: number }) {
  const parts = 5 * scale;
  return (
    <div className="timeline-axis" aria-hidden="true">
      <span />
      <div className="timeline-ticks">
        {Array.from({ length: parts }, (_, at) => (
          <span key={at} style={{ left: `${(100 * at) / parts}%` }}>
            {duration((span * at) / parts)}
          </span>
        ))}
      </div>
    </div>
  );
}

interface RowProps {
  runId: string;
  row: Row;
  from: number;
  to: number;
  scale: number;
}

function TimelineRow({ runId, row, from, to, scale }: RowProps) {
  const span = to - from;
  const bars = useMemo(() => seen(row.bars, span / (PARTS * scale)), [row.bars, span, scale]);
  const sums = totals([row], to);
  const words = KINDS.filter((kind) => sums[kind] > 0).map((kind) => `${KIND_NAMES[kind]} ${duration(sums[kind])}`);
  return (
    <div className="timeline-row">
      <Link className="timeline-name" to={`${paths.node(runId, row.key)}?tab=timeline`}>
        <ModeBadge mode={row.mode} />
        <span>{row.name}</span>
        <span className="unseen">: {words.join(", ")}</span>
      </Link>
      <div className="timeline-track" aria-hidden="true">
        {bars.map((bar) => (
          <span
            key={`${bar.kind} ${bar.seq} ${bar.from}`}
            className={`timeline-bar timeline-${bar.kind} timeline-end-${bar.end}`}
            style={{
              left: `${(100 * (bar.from - from)) / span}%`,
              width: `${(100 * ((bar.to ?? to) - bar.from)) / span}%`,
            }}
            title={tip(bar, to)}
          />
        ))}
      </div>
    </div>
  );
}

function tip(bar: Bar & { count: number }, now: number): string {
  const what = bar.count > 1 ? `${bar.count} times` : bar.label;
  const end = bar.to === null ? "going on" : bar.end;
  return [KIND_NAMES[bar.kind], what, duration((bar.to ?? now) - bar.from), end].filter(Boolean).join(" · ");
}
