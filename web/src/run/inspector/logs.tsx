/** The logs of the node's attempts, newest first: of running ones as far as they are, of ended ones as they are kept. */
import { useCallback, useEffect } from "react";
import { contentPath, getContent, listLogs } from "../../api/client";
import type { Artifact } from "../../api/types";
import { useRequest } from "../../live/use-request";
import { bytes, count } from "../../model/amounts";
import { attemptName } from "../../model/attempts";
import { isRunning } from "../../model/labels";
import { StatusBadge } from "../../ui/badge";
import { Answer, Nothing, type PanelProps, Section } from "./panel";
import { Text } from "./prompt";
import { useArtifacts } from "./use-artifacts";

/** More of a foreach are among the files. */
const SHOWN = 20;

/** How often a log that grows is asked for again. */
const LIVE_MS = 1000;

export const isLog = (artifact: Artifact) => artifact.kind === "log";

export function Logs({ id, node }: PanelProps) {
  const logs = useArtifacts(id, node).filter(isLog).toReversed();
  return (
    <>
      {isRunning(node) && <LiveLogs id={id} node={node} />}
      {logs.length === 0 && !isRunning(node) && <Nothing>This node has no logs.</Nothing>}
      {logs.slice(0, SHOWN).map((log) => (
        <Section key={log.id} title={attemptName(log)} aside={<Download id={id} log={log} />}>
          <Log id={id} log={log} />
        </Section>
      ))}
      {logs.length > SHOWN && <Nothing>{count(logs.length - SHOWN)} earlier ones are among the files.</Nothing>}
    </>
  );
}

/** What running attempts have logged so far. A run of another process is not known here before an attempt has ended. */
function LiveLogs({ id, node }: PanelProps) {
  const asked = useRequest(useCallback((signal: AbortSignal) => listLogs(id, node.id, signal), [id, node.id]));
  const { again } = asked;
  useEffect(() => {
    const timer = setInterval(again, LIVE_MS);
    return () => clearInterval(timer);
  }, [again]);
  const logs = (asked.value?.logs ?? []).filter((log) => log.text !== "").toReversed();
  if (logs.length === 0) return <Nothing>The attempt under way has logged nothing yet.</Nothing>;
  return logs.map((log) => (
    <Section
      key={`${log.visit} ${log.attempt} ${log.item}`}
      title={attemptName(log)}
      aside={<StatusBadge word={LIVE} />}
    >
      <Text text={log.text} what={`the log so far of ${attemptName(log)}`} />
    </Section>
  ));
}

const LIVE = { text: "Live", tone: "busy" } as const;

function Download({ id, log }: { id: string; log: Artifact }) {
  return (
    <a className="text-link small" href={contentPath(id, log.id)} download={log.name}>
      Download {bytes(log.size)}
    </a>
  );
}

function Log({ id, log }: { id: string; log: Artifact }) {
  const content = useRequest(useCallback((signal: AbortSignal) => getContent(id, log.id, signal), [id, log.id]));
  return <Answer asked={content}>{(text) => <Text text={text} what={`the log of ${attemptName(log)}`} />}</Answer>;
}
