/** One event in full: its envelope, its data, and a link to it. */
import type { Fact } from "../api/types";
import { Link } from "../navigation/link";
import { paths } from "../navigation/paths";
import { moment } from "../model/amounts";
import { dataOf, text } from "../model/facts";
import { Button, IconButton } from "../ui/button";
import { Icon } from "../ui/icon";
import { copy } from "../ui/clipboard";

export function EventDetail({ fact, link, onClose }: { fact: Fact; link: string; onClose: () => void }) {
  const node = text(dataOf(fact), "node");
  const json = JSON.stringify(fact, null, 2);
  return (
    <section className="event-detail" aria-label={`Event ${fact.seq}`}>
      <header>
        <h2>{fact.type}</h2>
        <IconButton
          label="Copy the link to this event"
          onClick={() => void copy(location.origin + link, "Link copied.")}
        >
          <Icon name="link" />
        </IconButton>
        <IconButton label="Close" onClick={onClose}>
          <Icon name="close" />
        </IconButton>
      </header>
      <p className="muted small">
        Event {fact.seq}, {moment(fact.ts)}
        {node !== "" && (
          <>
            {" "}
            of{" "}
            <Link className="text-link" to={paths.node(fact.runId, node)}>
              {node}
            </Link>
          </>
        )}
      </p>
      <pre className="event-json" tabIndex={0}>
        {json}
      </pre>
      <Button look="quiet" onClick={() => void copy(json, "Copied.")}>
        <Icon name="copy" size={14} /> Copy
      </Button>
    </section>
  );
}
