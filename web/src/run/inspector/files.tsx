/** The files that the node's attempts have left, to look at and to take along. */
import { useCallback, useState } from "react";
import { contentPath, getContent } from "../../api/client";
import type { Artifact } from "../../api/types";
import { useRequest } from "../../live/use-request";
import { bytes } from "../../model/amounts";
import { attemptName } from "../../model/attempts";
import { languageOf } from "../../model/highlight";
import { Code } from "../../ui/code";
import { DiffView } from "../../ui/diff-view";
import { Icon } from "../../ui/icon";
import { JsonTree } from "../../ui/json-tree";
import { Answer, Nothing, type PanelProps } from "./panel";
import { useArtifacts } from "./use-artifacts";

/** A larger file is only to be taken along. */
const MOST_BYTES = 2_000_000;
const MOST_FILES = 200;

export function Files({ id, node }: PanelProps) {
  const artifacts = useArtifacts(id, node).toReversed();
  if (artifacts.length === 0) return <Nothing>This node has no files.</Nothing>;
  return (
    <ul className="files">
      {artifacts.slice(0, MOST_FILES).map((artifact) => (
        <File key={artifact.id} id={id} artifact={artifact} />
      ))}
    </ul>
  );
}

function File({ id, artifact }: { id: string; artifact: Artifact }) {
  const [open, setOpen] = useState(false);
  const small = artifact.size <= MOST_BYTES;
  return (
    <li className="file">
      <div className="file-head">
        <button
          type="button"
          className="file-name"
          aria-expanded={open}
          disabled={!small}
          onClick={() => setOpen(!open)}
        >
          <Icon name={open ? "down" : "chevron"} size={13} />
          <span>{artifact.name}</span>
        </button>
        <span className="file-kind">{artifact.kind}</span>
        <span className="muted small number">{attemptName(artifact)}</span>
        <span className="muted small number">{bytes(artifact.size)}</span>
        <a
          className="text-link small"
          href={contentPath(id, artifact.id)}
          download={artifact.name}
          aria-label={`Download ${artifact.name}`}
        >
          Download
        </a>
      </div>
      {open && <Preview id={id} artifact={artifact} />}
    </li>
  );
}

function Preview({ id, artifact }: { id: string; artifact: Artifact }) {
  if (artifact.mediaType.startsWith("image/") && artifact.mediaType !== "image/svg+xml") {
    return <img className="file-picture" src={contentPath(id, artifact.id)} alt={artifact.name} />;
  }
  return <TextPreview id={id} artifact={artifact} />;
}

function TextPreview({ id, artifact }: { id: string; artifact: Artifact }) {
  const content = useRequest(
    useCallback((signal: AbortSignal) => getContent(id, artifact.id, signal), [id, artifact.id]),
  );
  return (
    <Answer asked={content}>
      {(text) => {
        if (artifact.kind === "diff") return <DiffView text={text} />;
        const value = artifact.mediaType === "application/json" ? parsed(text) : undefined;
        if (value !== undefined) return <JsonTree value={value} label={artifact.name} />;
        return <Code text={text} language={languageOf(artifact.name)} label={artifact.name} />;
      }}
    </Answer>
  );
}

function parsed(text: string) {
  try {
    return JSON.parse(text) as Parameters<typeof JsonTree>[0]["value"];
  } catch {
    return undefined; // it is shown as the text it is
  }
}
