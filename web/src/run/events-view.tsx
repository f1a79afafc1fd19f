/** The event log of a run: every fact in order, searched as you type, each with an address of its own. */
import { useDeferredValue, useMemo, useState } from "react";
import type { Fact } from "../api/types";
import { paths } from "../navigation/paths";
import { setSearch, useSearch } from "../navigation/router";
import { useFacts } from "../live/use-facts";
import { clock, count } from "../model/amounts";
import { search, typesOf } from "../model/fact-search";
import { dataOf, factTone, summaryOf, text } from "../model/facts";
import { Empty, ProblemBox, Waiting } from "../ui/notice";
import { VirtualList } from "../ui/virtual-list";
import { EventDetail } from "./event-detail";
import "./events-view.css";

const ROW = 32;

export default function EventsView({ id }: { id: string; selected: string | null }) {
  const { facts, complete, problem, again } = useFacts(id);
  const [query, setQuery] = useState("");
  const [type, setType] = useState<string | null>(null);
  const wanted = useDeferredValue(query);
  const found = useMemo(() => search(facts, wanted, type), [facts, wanted, type]);
  const types = useMemo(() => typesOf(facts), [facts]);
  const seq = Number(useSearch().get("event") ?? Number.NaN);
  const chosen = useMemo(() => found.findIndex((fact) => fact.seq === seq), [found, seq]);
  const shown = chosen >= 0 ? found[chosen] : facts.find((fact) => fact.seq === seq);
  if (facts.length === 0) {
    if (problem !== null) return <ProblemBox problem={problem} again={again} />;
    return <Waiting what="Loading events" />;
  }
  return (
    <div className={shown === undefined ? "events" : "events events-open"}>
      <div className="events-tools">
        <input
          className="input"
          type="search"
          placeholder="Search in all events"
          aria-label="Search in all events"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
        <select
          className="input"
          aria-label="Type of event"
          value={type ?? ""}
          onChange={(event) => setType(event.target.value || null)}
        >
          <option value="">All types</option>
          {types.map(([name, often]) => (
            <option key={name} value={name}>
              {name} ({count(often)})
            </option>
          ))}
        </select>
        <span className="muted small number" role="status">
          {found.length === facts.length ? count(facts.length) : `${count(found.length)} of ${count(facts.length)}`}{" "}
          events
          {complete ? "" : ", loading more"}
        </span>
      </div>
      {found.length === 0 ? (
        <Empty icon="search" title="No event matches">
          Every word must occur in an event: in its type, its node or its data.
        </Empty>
      ) : (
        <VirtualList
          label="Events"
          count={found.length}
          rowHeight={ROW}
          chosen={chosen}
          onChoose={(index) => setSearch({ event: String(found[index]?.seq ?? "") })}
          row={(index) => <EventRow fact={found[index]} />}
        />
      )}
      {shown !== undefined && (
        <EventDetail fact={shown} link={paths.event(id, shown.seq)} onClose={() => setSearch({ event: null })} />
      )}
    </div>
  );
}

function EventRow({ fact }: { fact: Fact | undefined }) {
  if (fact === undefined) return null;
  return (
    <div className="event-row">
      <span className="event-seq number">{fact.seq}</span>
      <time className="event-time number" dateTime={fact.ts}>
        {clock(fact.ts)}
      </time>
      <span className={`event-type event-${factTone(fact)}`}>{fact.type}</span>
      <span className="event-node">{text(dataOf(fact), "node")}</span>
      <span className="event-summary">{summaryOf(fact)}</span>
    </div>
  );
}
