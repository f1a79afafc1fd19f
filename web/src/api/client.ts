/** Every request that the dashboard makes, each one function named like its operation in the OpenAPI document. */
import { request, send, withQuery } from "./request";
import type { Explanation } from "./explanation";
import type {
  Answered,
  AnsweredPage,
  Approval,
  ApprovalPage,
  Changes,
  Checked,
  Comparison,
  EventPage,
  Fact,
  ForkBody,
  ItemPage,
  LogList,
  Node,
  OutputFile,
  Receipts,
  Resolved,
  ResolveBody,
  Run,
  RunPage,
  RunPatch,
  RunStatus,
  StartBody,
  Verification,
  Version,
  WorkflowFile,
} from "./types";

type Signal = AbortSignal | undefined;
const at = (signal: Signal) => (signal === undefined ? {} : { signal });
const once = () => ({ idempotencyKey: randomKey() });
const run = (id: string) => `/api/runs/${encodeURIComponent(id)}`;

export interface RunsQuery {
  limit?: number;
  cursor?: string | null;
  status?: RunStatus | null;
  q?: string;
}

export const getVersion = (signal?: Signal) => request<Version>("GET", "/api/version", at(signal));

export const listRuns = (query: RunsQuery, signal?: Signal) =>
  request<RunPage>("GET", "/api/runs", { query: { ...query }, ...at(signal) });
export const getRun = (id: string, signal?: Signal) => request<Run>("GET", run(id), at(signal));
export const startRun = (body: StartBody) => request<Run>("POST", "/api/runs", { body, ...once() });
export const changeRun = (id: string, body: RunPatch) => request<Run>("PATCH", run(id), { body });
export const deleteRun = (id: string) => request<undefined>("DELETE", run(id));
export const pauseRun = (id: string, reason?: string) =>
  request<Run>("POST", `${run(id)}/pause`, { body: { reason: reason ?? null }, ...once() });
export const resumeRun = (id: string) => request<Run>("POST", `${run(id)}/resume`, once());
export const cancelRun = (id: string, reason?: string) =>
  request<Run>("POST", `${run(id)}/cancel`, { body: { reason: reason ?? null }, ...once() });
export const forkRun = (id: string, body: ForkBody) => request<Run>("POST", `${run(id)}/fork`, { body, ...once() });

export const getNode = (id: string, node: string, signal?: Signal) =>
  request<Node>("GET", `${run(id)}/nodes/${encodeURIComponent(node)}`, at(signal));
export const getChanges = (id: string, node: string, signal?: Signal) =>
  request<Changes>("GET", `${run(id)}/nodes/${encodeURIComponent(node)}/changes`, at(signal));
export const listItems = (id: string, node: string, after: number | null, signal?: Signal) =>
  request<ItemPage>("GET", `${run(id)}/nodes/${encodeURIComponent(node)}/items`, { query: { after }, ...at(signal) });
export const listLogs = (id: string, node: string, signal?: Signal) =>
  request<LogList>("GET", `${run(id)}/nodes/${encodeURIComponent(node)}/logs`, at(signal));
export const listEvents = (id: string, since: number, limit: number, signal?: Signal) =>
  request<EventPage>("GET", `${run(id)}/events`, { query: { since, limit }, ...at(signal) });
export const listFacts = (id: string, since: number, limit: number, signal?: Signal) =>
  request<{ facts: Fact[]; nextSeq: number | null }>("GET", `${run(id)}/events`, {
    query: { since, limit, facts: true },
    ...at(signal),
  });
/** Of a page of facts, or of what they tell, only what is about one node. */
export const listNodeFacts = (id: string, node: string, since: number, signal?: Signal) =>
  request<{ facts: Fact[]; nextSeq: number | null }>("GET", `${run(id)}/events`, {
    query: { since, limit: 2_000, facts: true, node },
    ...at(signal),
  });
export const listNodeEvents = (id: string, node: string, since: number, signal?: Signal) =>
  request<EventPage>("GET", `${run(id)}/events`, { query: { since, limit: 2_000, node }, ...at(signal) });
/** Into a node's inbox, where the run is a live graph. */
export const sayToNode = (id: string, nodeId: string, content: string, interrupt = false) =>
  request<unknown>("POST", `${run(id)}/chat`, { body: { nodeId, content, interrupt }, ...once() });
export const explainRun = (id: string, signal?: Signal) =>
  request<Explanation>("GET", `${run(id)}/workflow`, at(signal));
export const listReceipts = (id: string, signal?: Signal) =>
  request<Receipts>("GET", `${run(id)}/receipts`, at(signal));
export const diffRuns = (id: string, other: string, signal?: Signal) =>
  request<Comparison>("GET", `${run(id)}/diff`, { query: { other }, ...at(signal) });
export const verifyRun = (id: string, signal?: Signal) => request<Verification>("GET", `${run(id)}/verify`, at(signal));

export const exportPath = (id: string) => `${run(id)}/export`;
export const listFiles = async (id: string, signal?: Signal) =>
  (await request<{ files: OutputFile[] }>("GET", `${run(id)}/files`, at(signal))).files;
export const filePath = (id: string, path: string) => withQuery(`${run(id)}/files/content`, { path });
export const getFile = async (id: string, path: string, signal?: Signal) =>
  (await send("GET", filePath(id, path), at(signal))).text();

export const contentPath = (id: string, artifact: string) => `${run(id)}/artifacts/${artifact}/content`;
export const getContent = async (id: string, artifact: string, signal?: Signal) =>
  (await send("GET", contentPath(id, artifact), at(signal))).text();

export const listApprovals = (query: { runId?: string; cursor?: string | null; limit?: number }, signal?: Signal) =>
  request<ApprovalPage>("GET", "/api/approvals", { query: { ...query }, ...at(signal) });
export const getApproval = (id: string, signal?: Signal) =>
  request<Approval>("GET", `/api/approvals/${id}`, at(signal));
export const listAnswered = (query: { runId?: string; cursor?: string | null; limit?: number }, signal?: Signal) =>
  request<AnsweredPage>("GET", "/api/approvals/answered", { query: { ...query }, ...at(signal) });
export const getAnswer = (id: string, signal?: Signal) =>
  request<Answered>("GET", `/api/approvals/${id}/answer`, at(signal));
export const resolveApproval = (id: string, body: ResolveBody) =>
  request<Resolved>("POST", `/api/approvals/${id}/resolve`, { body, ...once() });

export const listWorkflows = async (signal?: Signal) =>
  (await request<{ workflows: WorkflowFile[] }>("GET", "/api/workflows", at(signal))).workflows;
export const explainWorkflow = (workflow: string, items: number, signal?: Signal) =>
  request<Explanation>("POST", "/api/workflows/explain", { body: { workflow, items }, ...at(signal) });
export const validateWorkflow = (workflow: string, signal?: Signal) =>
  request<Checked>("POST", "/api/workflows/validate", { body: { workflow }, ...at(signal) });

export const streamPath = (runId: string | null, since: number | null) => withQuery("/ws", { runId, since });

/** `crypto.randomUUID` is there only over HTTPS and on this machine. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
