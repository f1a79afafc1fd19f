// Made by 'npm run api' from tests/server/openapi.json. Not to be edited.

import type { Json } from "./json";

export interface paths {
  "/api/approvals": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Approvals
     * @description Open approvals, in the order they were asked.
     */
    get: operations["listApprovals"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/approvals/answered": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Answered
     * @description Answered approvals of all runs, the newest question first.
     */
    get: operations["listAnswered"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/approvals/{approval_id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get Approval
     * @description An open approval.
     */
    get: operations["getApproval"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/approvals/{approval_id}/answer": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get Answer
     * @description An answered approval: what was asked, and what was answered.
     */
    get: operations["getAnswer"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/approvals/{approval_id}/resolve": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Resolve Approval
     * @description Answer an approval; its run goes on. Modified arguments must fit the form.
     */
    post: operations["resolveApproval"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/health": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get Health
     * @description Whether the server answers and its data dir can be read. Needs no token.
     */
    get: operations["getHealth"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Runs
     * @description Runs, newest first.
     */
    get: operations["listRuns"];
    put?: never;
    /**
     * Start Run
     * @description Begin a run of a workflow with its inputs, or without one a live graph.
     *
     *     It is durable when this answers, and goes on by itself.
     */
    post: operations["startRun"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get Run
     * @description The run as it is now, with its inputs and outputs.
     */
    get: operations["getRun"];
    put?: never;
    post?: never;
    /**
     * Delete Run
     * @description Remove a run that has ended, with its record: what is left cannot be verified any more.
     */
    delete: operations["deleteRun"];
    options?: never;
    head?: never;
    /**
     * Change Run
     * @description Change the run's modes, or pause, resume and (a live graph) complete it by its `status`.
     */
    patch: operations["changeRun"];
    trace?: never;
  };
  "/api/runs/{run_id}/artifacts": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Artifacts
     * @description What the run has kept, oldest first.
     */
    get: operations["listArtifacts"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/artifacts/{artifact_id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get Artifact
     * @description What is known of an artifact beside its bytes.
     */
    get: operations["getArtifact"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/artifacts/{artifact_id}/content": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get Content
     * @description The artifact's bytes, with the type they were kept with.
     */
    get: operations["getContent"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/cancel": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Cancel Run
     * @description End the run and everything under way in it.
     */
    post: operations["cancelRun"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/chat": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Chat
     * @description Say something to a node: it reads it in its next turn, or, with `interrupt`, at once.
     */
    post: operations["chat"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/diff": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Diff Runs
     * @description The run beside another one, node by node: where they part, and what each took; as `skelo diff --json`.
     */
    get: operations["diffRuns"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/edges": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Edges
     * @description The run's edges.
     */
    get: operations["listEdges"];
    put?: never;
    /**
     * Add Edge
     * @description Tie two nodes of a live graph.
     */
    post: operations["addEdge"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/edges/{edge_id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Remove Edge
     * @description Take an edge out of a live graph.
     */
    delete: operations["removeEdge"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/events": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Events
     * @description The run's events in order, the same as its stream tells; with `facts` the lines of its log, as they are.
     */
    get: operations["listEvents"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/fork": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Fork Run
     * @description Begin a new run from a node of this one; what came before the node is kept.
     */
    post: operations["forkRun"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/nodes": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Nodes
     * @description The run's nodes, in the order of its workflow.
     */
    get: operations["listNodes"];
    put?: never;
    /**
     * Add Node
     * @description Add a node to a live graph.
     */
    post: operations["addNode"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/nodes/{node_id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get Node
     * @description A node with its inputs and outputs.
     */
    get: operations["getNode"];
    put?: never;
    post?: never;
    /**
     * Remove Node
     * @description Take a node out of a live graph, with its edges and what it is doing.
     */
    delete: operations["removeNode"];
    options?: never;
    head?: never;
    /**
     * Change Node
     * @description Change a node of a live graph that is not in a turn; a `config` takes the place of the one it has.
     */
    patch: operations["changeNode"];
    trace?: never;
  };
  "/api/runs/{run_id}/nodes/{node_id}/items": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Items
     * @description Items of a foreach node, with the outputs of those that are done.
     */
    get: operations["listItems"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/pause": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Pause Run
     * @description Let nothing new start; what is under way ends.
     */
    post: operations["pauseRun"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/receipts": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Receipts
     * @description The receipts of the run's attempts, in order.
     */
    get: operations["listReceipts"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/resume": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Resume Run
     * @description Go on with a run that was paused or suspended.
     */
    post: operations["resumeRun"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/verify": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Verify Run
     * @description Whether the run's record is whole and unaltered: its lines, its blobs, its `events.jsonl`, its signature.
     */
    get: operations["verifyRun"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/workflow": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Explain Run
     * @description The workflow that the run has pinned, taken apart, and what a run of it was expected to take.
     */
    get: operations["explainRun"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/session": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get Session
     * @description Who asks, as what, and what a browser's changes must carry along.
     */
    get: operations["getSession"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/stream": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Stream
     * @description The events of a run, or of all: `hello`, `snapshot`, then `events`.
     *
     *     `since`, or the `Last-Event-ID` with which a browser comes back, goes on without a gap.
     */
    get: operations["stream"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/version": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get Version
     * @description The program's version and the contract's.
     */
    get: operations["getVersion"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/workflows": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Workflows
     * @description The workflow files of the project.
     */
    get: operations["listWorkflows"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/workflows/explain": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Explain Workflow
     * @description A workflow taken apart, and what a run of it would take.
     */
    post: operations["explainWorkflow"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/workflows/validate": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Validate Workflow
     * @description Every Problem of a workflow, without running anything.
     */
    post: operations["validateWorkflow"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    /**
     * Answered
     * @description A question and its answer, exactly as they were told; `withdrawn`: nobody answered.
     */
    Answered: {
      /**
       * Answeredat
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      answeredAt: string;
      approval: components["schemas"]["Approval"];
      /** By */
      by: string | null;
      /** Digest */
      digest: string | null;
      resolution: components["schemas"]["Resolution"];
      /** Withdrawn */
      withdrawn: boolean;
    };
    /**
     * AnsweredPage
     * @description Answered approvals, the newest question first.
     */
    AnsweredPage: {
      /** Answered */
      answered: components["schemas"]["Answered"][];
      /** Nextcursor */
      nextCursor: string | null;
    };
    /**
     * Approval
     * @description An open question. `form` is the JSON Schema of `modifiedArgs`; no `approvers` means anybody may answer.
     */
    Approval: {
      /**
       * Approvalid
       * Format: uuid
       */
      approvalId: string;
      /** Approvers */
      approvers: string[];
      /** Context */
      context: string;
      /** Digest */
      digest: string;
      /** Expiresat */
      expiresAt: string | null;
      /** Form */
      form: {
        [key: string]: components["schemas"]["JsonValue"];
      };
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Item */
      item: number | null;
      /**
       * Kind
       * @enum {string}
       */
      kind: "approval" | "ask_human" | "uncertain" | "stalled";
      /** Node */
      node: string;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /** Prompt */
      prompt: string;
      /** Requestedat */
      requestedAt: string | null;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      tool: components["schemas"]["Tool"];
      /** Visit */
      visit: number | null;
    };
    /**
     * ApprovalPage
     * @description Open approvals in the order they were asked.
     */
    ApprovalPage: {
      /** Approvals */
      approvals: components["schemas"]["Approval"][];
      /** Nextcursor */
      nextCursor: string | null;
    };
    /**
     * ApprovalRequested
     * @description A person is asked.
     */
    ApprovalRequested: {
      approval: components["schemas"]["Approval"];
      /**
       * Approvalid
       * Format: uuid
       */
      approvalId: string;
      /** Context */
      context: string;
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      tool: components["schemas"]["Tool"];
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "approval.requested";
    };
    /**
     * ApprovalResolved
     * @description The question is closed: answered by a person, by `timer`, or (`withdrawn`) not to be answered any more.
     */
    ApprovalResolved: {
      /**
       * Approvalid
       * Format: uuid
       */
      approvalId: string;
      /** By */
      by: string | null;
      /** Digest */
      digest: string | null;
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      resolution: components["schemas"]["Resolution"];
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "approval.resolved";
      /** Withdrawn */
      withdrawn: boolean;
    };
    /**
     * Artifact
     * @description A kept file. `path` is absolute and derived on reading; null where the bytes are no file of their own.
     */
    Artifact: {
      /** Attempt */
      attempt: number;
      /**
       * Createdat
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      createdAt: string;
      /** Hash */
      hash: string;
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Item */
      item: number | null;
      /**
       * Kind
       * @enum {string}
       */
      kind: "diff" | "prompt" | "log" | "transcript" | "contextpack" | "report";
      /** Mediatype */
      mediaType: string;
      metadata?: components["schemas"]["ArtifactMetadata"] | null;
      /** Name */
      name: string;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /** Path */
      path: string | null;
      /** Ref */
      ref: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Size */
      size: number;
      /** Visit */
      visit: number;
    };
    /**
     * ArtifactCreated
     * @description A file was kept.
     */
    ArtifactCreated: {
      artifact: components["schemas"]["Artifact"];
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "artifact.created";
    };
    /**
     * ArtifactList
     * @description The artifacts of a run, oldest first.
     */
    ArtifactList: {
      /** Artifacts */
      artifacts: components["schemas"]["Artifact"][];
    };
    /**
     * ArtifactMetadata
     * @description What is known of a diff beside its bytes.
     */
    ArtifactMetadata: {
      /** Fileschanged */
      filesChanged?: string[] | null;
      /** Summary */
      summary?: string | null;
    };
    /**
     * ArtifactRef
     * @description How another document mentions an artifact.
     */
    ArtifactRef: {
      /** Ref */
      ref: string;
      /**
       * Type
       * @enum {string}
       */
      type: "diff" | "prompt" | "log" | "transcript" | "contextpack" | "report";
    };
    /**
     * AssistantDelta
     * @description Overlay: more of an answer that is being written; `offset` is where in it `delta` begins, in UTF-16 units.
     */
    AssistantDelta: {
      /** Attempt */
      attempt: number;
      /** Delta */
      delta: string;
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Item */
      item: number | null;
      /**
       * Messageid
       * Format: uuid
       */
      messageId: string;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /** Offset */
      offset: number;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "message.assistant.delta";
      /** Visit */
      visit: number;
    };
    /**
     * AssistantFinal
     * @description A model's answer is complete; or its attempt ended without one, and `status` says so.
     */
    AssistantFinal: {
      /** Attempt */
      attempt: number;
      /** Cached */
      cached: boolean;
      /** Content */
      content: string;
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /** Item */
      item: number | null;
      /**
       * Messageid
       * Format: uuid
       */
      messageId: string;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      /**
       * Status
       * @enum {string}
       */
      status: "final" | "interrupted" | "failed";
      stored?: components["schemas"]["StoredRef"] | null;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "message.assistant.final";
      /** Visit */
      visit: number;
    };
    /**
     * Budget
     * @description The run's budgets. `wallMs` is the time it was busy, up to its last event.
     */
    Budget: {
      costUsd: components["schemas"]["Money"];
      steps: components["schemas"]["Used"];
      tokens: components["schemas"]["Used"];
      toolSpendUsd: components["schemas"]["Money"];
      wallMs: components["schemas"]["Used"];
    };
    /**
     * Capabilities
     * @description What the node may do. A block may do what its mode and effect say, and never makes nodes.
     */
    Capabilities: {
      /** Delegateonly */
      delegateOnly: boolean;
      /** Runcommands */
      runCommands: boolean;
      /** Spawnnodes */
      spawnNodes: boolean;
      /** Writecode */
      writeCode: boolean;
      /** Writedocs */
      writeDocs: boolean;
    };
    /**
     * CapabilitiesBody
     * @description Capabilities to set; what is left out stays. Models and handlers never make nodes.
     */
    CapabilitiesBody: {
      /** Delegateonly */
      delegateOnly?: boolean | null;
      /** Runcommands */
      runCommands?: boolean | null;
      /** Spawnnodes */
      spawnNodes?: false | null;
      /** Writecode */
      writeCode?: boolean | null;
      /** Writedocs */
      writeDocs?: boolean | null;
    };
    /**
     * Change
     * @description Where two values part, at a JSON pointer; `before` or `after` is left out where there is none.
     */
    Change: {
      after?: components["schemas"]["JsonValue"];
      before?: components["schemas"]["JsonValue"];
      /**
       * Kind
       * @enum {string}
       */
      kind: "added" | "removed" | "changed";
      /** Path */
      path: string;
    };
    /**
     * ChatBody
     * @description A message to a node: queued for its next turn, or, with `interrupt`, instead of the one it is in.
     */
    ChatBody: {
      /** Content */
      content: string;
      /**
       * Interrupt
       * @default false
       */
      interrupt: boolean;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
    };
    /**
     * Checked
     * @description What is wrong with a workflow; `hash` is what a run of it would pin.
     */
    Checked: {
      /** Hash */
      hash: string | null;
      /** Name */
      name: string | null;
      /** Problems */
      problems: components["schemas"]["Problem"][];
      /** Valid */
      valid: boolean;
      /** Warnings */
      warnings: components["schemas"]["Problem"][];
    };
    /**
     * ComparedNode
     * @description A node in two runs, in what it differs, and where its outputs part; `inputs` are those that a fork has set.
     */
    ComparedNode: {
      a: components["schemas"]["ComparedSide"] | null;
      b: components["schemas"]["ComparedSide"] | null;
      /** Differs */
      differs: ("definition" | "inputs" | "outcome" | "error" | "visits" | "outputs")[];
      /** Inputs */
      inputs: components["schemas"]["Change"][];
      /** Node */
      node: string;
      /** Outputs */
      outputs: components["schemas"]["Change"][];
      /** Redefined */
      redefined: boolean;
      /** Same */
      same: boolean;
      /**
       * Verdict
       * @enum {string}
       */
      verdict: "same" | "different" | "unfinished" | "only_a" | "only_b";
    };
    /**
     * ComparedRun
     * @description One of two runs as a whole, and what it took.
     */
    ComparedRun: {
      /** Attempts */
      attempts: number;
      /** Costusd */
      costUsd: number;
      /** Ending */
      ending: ("ok" | "failed" | "cancelled" | "budget_exceeded" | "denied" | "escalated") | null;
      /** Receiptsdigest */
      receiptsDigest: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /**
       * Status
       * @enum {string}
       */
      status: "queued" | "running" | "paused" | "completed" | "failed";
      /** Tokens */
      tokens: number;
      /** Wallms */
      wallMs: number;
      /** Workflow */
      workflow: string;
      /** Workflowhash */
      workflowHash: string;
    };
    /**
     * ComparedSide
     * @description A node in one of two runs; `keptFrom` is the run that a fork has taken its result, or `keptItems`, over from.
     */
    ComparedSide: {
      /** Attempts */
      attempts: number;
      /** Costusd */
      costUsd: number;
      error: components["schemas"]["Fault"] | null;
      /** Keptfrom */
      keptFrom: string | null;
      /** Keptitems */
      keptItems: number;
      /** Outcome */
      outcome: ("succeeded" | "failed" | "skipped" | "cancelled") | null;
      /** Status */
      status: string;
      /** Tokens */
      tokens: number;
      /** Visits */
      visits: number;
      /** Wallms */
      wallMs: number;
    };
    /**
     * Comparison
     * @description Two runs node by node; `sameWork`: their receipts are equal but for what the clock adds.
     */
    Comparison: {
      a: components["schemas"]["ComparedRun"];
      b: components["schemas"]["ComparedRun"];
      /** Inputs */
      inputs: components["schemas"]["Change"][];
      /** Nodes */
      nodes: components["schemas"]["ComparedNode"][];
      /** Outputs */
      outputs: components["schemas"]["Change"][];
      /** Redefined */
      redefined: string[];
      /** Samework */
      sameWork: boolean;
      /** Sameworkflow */
      sameWorkflow: boolean;
    };
    /**
     * Connection
     * @description The live state of a provider: an overlay, known only where this process drives the run.
     */
    Connection: {
      /** Lastheartbeatat */
      lastHeartbeatAt?: string | null;
      /** Lastoutputat */
      lastOutputAt?: string | null;
      /**
       * Status
       * @enum {string}
       */
      status: "connected" | "idle" | "disconnected";
      /** Streaming */
      streaming: boolean;
    };
    /**
     * Edge
     * @description An edge. `kind` is additive: a value handed over, mere order, a plan's jump, or a live graph's channel.
     */
    Edge: {
      /** Bidirectional */
      bidirectional: boolean;
      /**
       * From
       * Format: uuid
       */
      from: string;
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /**
       * Kind
       * @enum {string}
       */
      kind: "data" | "order" | "jump" | "channel";
      /** Label */
      label: string;
      /**
       * To
       * Format: uuid
       */
      to: string;
      /**
       * Type
       * @enum {string}
       */
      type: "handoff" | "report";
    };
    /**
     * EdgeBody
     * @description An edge to be added to a live graph. Its id follows from what it ties and its label.
     */
    EdgeBody: {
      /**
       * Bidirectional
       * @default true
       */
      bidirectional: boolean;
      /**
       * From
       * Format: uuid
       */
      from: string;
      /** Label */
      label?: string | null;
      /**
       * To
       * Format: uuid
       */
      to: string;
      /**
       * Type
       * @default handoff
       * @enum {string}
       */
      type: "handoff" | "report";
    };
    /**
     * EdgeCreated
     * @description There is an edge.
     */
    EdgeCreated: {
      edge: components["schemas"]["Edge"];
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "edge.created";
    };
    /**
     * EdgeDeleted
     * @description There is an edge no longer.
     */
    EdgeDeleted: {
      /**
       * Edgeid
       * Format: uuid
       */
      edgeId: string;
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "edge.deleted";
    };
    /**
     * EdgeList
     * @description The edges of a run.
     */
    EdgeList: {
      /** Edges */
      edges: components["schemas"]["Edge"][];
    };
    /**
     * EventPage
     * @description A page of a run's events, in order. `nextSeq` is the `since` of the next page; null when there is none yet.
     */
    EventPage: {
      /** Events */
      events: (
        | components["schemas"]["RunPatched"]
        | components["schemas"]["RunPhase"]
        | components["schemas"]["RunMode"]
        | components["schemas"]["RunStalled"]
        | components["schemas"]["NodePatched"]
        | components["schemas"]["NodeDeleted"]
        | components["schemas"]["EdgeCreated"]
        | components["schemas"]["EdgeDeleted"]
        | components["schemas"]["HandoffSent"]
        | components["schemas"]["UserMessage"]
        | components["schemas"]["AssistantFinal"]
        | components["schemas"]["ToolProposed"]
        | components["schemas"]["ToolStarted"]
        | components["schemas"]["ToolCompleted"]
        | components["schemas"]["ApprovalRequested"]
        | components["schemas"]["ApprovalResolved"]
        | components["schemas"]["ArtifactCreated"]
        | components["schemas"]["NodeProgress"]
        | components["schemas"]["NodeConnection"]
        | components["schemas"]["AssistantDelta"]
      )[];
      /** Nextseq */
      nextSeq: number | null;
    };
    /**
     * Evidence
     * @description Why a loop is thought to make no progress.
     */
    Evidence: {
      /** Code */
      code: string;
      /** Diffhash */
      diffHash?: string | null;
      /**
       * Kind
       * @enum {string}
       */
      kind: "output" | "verdict";
      /** Outputhash */
      outputHash?: string | null;
      /** Repeats */
      repeats: number;
      /** Summaries */
      summaries: string[];
      /** Verificationfailure */
      verificationFailure?: string | null;
    };
    /**
     * ExplainBody
     * @description A workflow, and how many items a foreach is counted with.
     */
    ExplainBody: {
      /** Document */
      document?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      /**
       * Items
       * @default 10
       */
      items: number;
      /** Workflow */
      workflow?: string | null;
    };
    /**
     * Explanation
     * @description A workflow taken apart: its ports, blocks, edges and layers, and what a run of it would take.
     */
    Explanation: {
      /** Blocks */
      blocks: {
        [key: string]: components["schemas"]["JsonValue"];
      }[];
      /** Description */
      description: string;
      /** Edges */
      edges: {
        [key: string]: components["schemas"]["JsonValue"];
      }[];
      /** Hash */
      hash: string;
      /** Inputs */
      inputs: {
        [key: string]: components["schemas"]["JsonValue"];
      }[];
      /** Layers */
      layers: string[][];
      /** Name */
      name: string;
      /** Outputs */
      outputs: {
        [key: string]: string;
      };
      /** Totals */
      totals: {
        [key: string]: components["schemas"]["JsonValue"];
      };
    };
    /**
     * Fact
     * @description A line of the run's log: its envelope, and the links of its chain. A pruned one has `dataHash` for `data`.
     */
    Fact: {
      /** Data */
      data?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      /** Hash */
      hash: string;
      /** Id */
      id: string;
      /** Nodeid */
      nodeId?: string | null;
      /** Prev */
      prev: string;
      /** Runid */
      runId: string;
      /** Seq */
      seq: number;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /** Type */
      type: string;
    };
    /**
     * FactPage
     * @description A page of a run's log, in order. `nextSeq` is the `since` of the next page; null when there is none yet.
     */
    FactPage: {
      /** Facts */
      facts: components["schemas"]["Fact"][];
      /** Nextseq */
      nextSeq: number | null;
    };
    /**
     * Fault
     * @description Why something failed: a stable code, and a message for people.
     */
    Fault: {
      /** Code */
      code: string;
      /** Message */
      message: string;
    };
    /**
     * ForkBody
     * @description From which node (its key or id) a new run does things again, and what changes: inputs of the node or the run.
     *
     *     `items` says which items of a foreach are done again: `all`, those that are not done, or with those also the ones
     *     with these indexes. Without it: those that are not done, or all where none is left.
     */
    ForkBody: {
      /** Inputs */
      inputs?: {
        [key: string]: components["schemas"]["JsonValue"];
      };
      /** Items */
      items?: ("all" | "unfinished") | number[] | null;
      /** Node */
      node: string;
      /** Workflow */
      workflow?: string | null;
    };
    /**
     * Handoff
     * @description The contract's envelope of a handoff; `edgeId` is the edge it goes along.
     */
    Handoff: {
      /** Contextref */
      contextRef?: string | null;
      /**
       * Createdat
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      createdAt: string;
      /**
       * Edgeid
       * Format: uuid
       */
      edgeId: string;
      /**
       * Fromnodeid
       * Format: uuid
       */
      fromNodeId: string;
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /**
       * Kind
       * @constant
       */
      kind: "handoff";
      payload: components["schemas"]["Payload"];
      /**
       * Tonodeid
       * Format: uuid
       */
      toNodeId: string;
    };
    /**
     * HandoffSent
     * @description Something went along an edge; `nodeId` is the sender.
     */
    HandoffSent: {
      envelope: components["schemas"]["Handoff"];
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "handoff.sent";
    };
    /**
     * Health
     * @description The server answers, and its data dir can be read.
     */
    Health: {
      /**
       * Status
       * @constant
       */
      status: "ok";
    };
    /**
     * InvalidPart
     * @description One thing that is wrong with what was sent: a JSON pointer to it, and why.
     */
    InvalidPart: {
      /** Code */
      code: string;
      /** Message */
      message: string;
      /** Pointer */
      pointer: string;
    };
    /**
     * Item
     * @description One item of a foreach, as it is paged: `state` is that of its work, `outputs` what it gave.
     *
     *     `kept`: it was done in the run that this one was forked from.
     */
    Item: {
      /** Attempts */
      attempts: number;
      /** Index */
      index: number;
      /** Kept */
      kept?: boolean | null;
      /** Outputs */
      outputs?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      /**
       * State
       * @enum {string}
       */
      state: "ready" | "running" | "waiting" | "asking" | "done";
    };
    /**
     * ItemPage
     * @description Items of a foreach. `nextAfter` is the `after` of the next page; null on the last one.
     */
    ItemPage: {
      /** Items */
      items: components["schemas"]["Item"][];
      /** Nextafter */
      nextAfter: number | null;
    };
    /**
     * Items
     * @description The items of a foreach in numbers; the items themselves are paged elsewhere.
     *
     *     `kept` are those of `done` that were taken over from the run that this one was forked from.
     */
    Items: {
      /** Done */
      done: number;
      /** Kept */
      kept?: number | null;
      /** Running */
      running: number;
      /** Total */
      total: number;
    };
    JsonValue: Json;
    /**
     * Message
     * @description A message. `stored` names the content where it is too large to travel along, and is then empty here.
     */
    Message: {
      /** Content */
      content: string;
      /**
       * Createdat
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      createdAt: string;
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Interrupt */
      interrupt: boolean;
      /** Nodeid */
      nodeId: string | null;
      /**
       * Role
       * @enum {string}
       */
      role: "user" | "assistant" | "system";
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Status */
      status?: ("final" | "interrupted" | "failed") | null;
      stored?: components["schemas"]["StoredRef"] | null;
    };
    /**
     * Metrics
     * @description What the attempt used.
     */
    Metrics: {
      /** Tokens In */
      tokens_in: number;
      /** Tokens Out */
      tokens_out: number;
      /** Wall Ms */
      wall_ms: number;
    };
    /**
     * Money
     * @description The same in US dollars.
     */
    Money: {
      /** Limit */
      limit: number | null;
      /** Used */
      used: number;
    };
    /**
     * Node
     * @description A node's state. `parent` is the node of the sub-workflow it belongs to; `phase` the phase it belongs to.
     *
     *     A finished node is `idle` and has an `outcome`; one that waits for a person is `blocked`.
     */
    Node: {
      /** Attempts */
      attempts: number;
      capabilities: components["schemas"]["Capabilities"];
      connection?: components["schemas"]["Connection"] | null;
      /**
       * Effect
       * @enum {string}
       */
      effect: "pure" | "idempotent" | "once";
      /** Endedat */
      endedAt: string | null;
      error: components["schemas"]["Fault"] | null;
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Inboxcount */
      inboxCount: number;
      /** Inputs */
      inputs?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      items: components["schemas"]["Items"] | null;
      /** Key */
      key: string;
      /**
       * Kind
       * @enum {string}
       */
      kind: "model" | "handler" | "approval" | "agent";
      /** Label */
      label: string;
      /**
       * Lastactivityat
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      lastActivityAt: string;
      /** Mode */
      mode: string;
      /** Op */
      op: string | null;
      /** Outcome */
      outcome: ("succeeded" | "failed" | "skipped" | "cancelled") | null;
      /** Outputs */
      outputs?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      /** Parent */
      parent: string | null;
      permissions: components["schemas"]["Permissions"];
      /**
       * Phase
       * @enum {string}
       */
      phase: "EXECUTE" | "VERIFY" | "DOCS_SYNC";
      /**
       * Provider
       * @enum {string}
       */
      provider: "codex" | "claude" | "gemini" | "custom";
      /** Roletemplate */
      roleTemplate: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      session: components["schemas"]["openskelo__contract__wire__node__Session"];
      /** Startedat */
      startedAt: string | null;
      /**
       * Status
       * @enum {string}
       */
      status: "idle" | "running" | "blocked" | "failed";
      /** Summary */
      summary: string;
      usage: components["schemas"]["Usage"];
      /** Verdicts */
      verdicts: {
        [key: string]: components["schemas"]["JsonValue"];
      }[];
      /** Visits */
      visits: number;
    };
    /**
     * NodeBody
     * @description A node to be added to a live graph. `key` is the author's id, made of the label where it is left out.
     *
     *     `config` is what a block of that kind has: `handler` and its `config`, or `prompt` and whom to ask.
     */
    NodeBody: {
      /** @default {} */
      capabilities: components["schemas"]["CapabilitiesBody"];
      /** Config */
      config?: {
        [key: string]: components["schemas"]["JsonValue"];
      };
      /** Key */
      key?: string | null;
      /**
       * Kind
       * @default model
       * @enum {string}
       */
      kind: "model" | "handler";
      /** Label */
      label: string;
      /** @default {} */
      permissions: components["schemas"]["PermissionsBody"];
      /**
       * Provider
       * @default custom
       * @enum {string}
       */
      provider: "codex" | "claude" | "gemini" | "custom";
      /**
       * Roletemplate
       * @default worker
       */
      roleTemplate: string;
    };
    /**
     * NodeChange
     * @description What is to be changed of a live graph's node; what is left out stays.
     */
    NodeChange: {
      capabilities?: components["schemas"]["CapabilitiesBody"] | null;
      /** Config */
      config?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      /** Label */
      label?: string | null;
      permissions?: components["schemas"]["PermissionsBody"] | null;
      /** Provider */
      provider?: ("codex" | "claude" | "gemini" | "custom") | null;
      /** Roletemplate */
      roleTemplate?: string | null;
    };
    /**
     * NodeConnection
     * @description Overlay: the live state of a node's provider.
     */
    NodeConnection: {
      connection: components["schemas"]["Connection"];
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "node.connection";
    };
    /**
     * NodeDeleted
     * @description A node of a live graph is gone, and its edges with it.
     */
    NodeDeleted: {
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "node.deleted";
    };
    /**
     * NodeList
     * @description The nodes of a run.
     */
    NodeList: {
      /** Nodes */
      nodes: components["schemas"]["Node"][];
    };
    /**
     * NodePatched
     * @description Fields of a node have changed; a node that nobody knows yet has all of them.
     */
    NodePatched: {
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /** Patch */
      patch: {
        [key: string]: components["schemas"]["JsonValue"];
      };
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "node.patch";
    };
    /**
     * NodeProgress
     * @description Overlay: what a node is doing.
     */
    NodeProgress: {
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /**
       * Status
       * @enum {string}
       */
      status: "idle" | "running" | "blocked" | "failed";
      /** Summary */
      summary?: string | null;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "node.progress";
    };
    /**
     * OrderBody
     * @description Why, for the record.
     */
    OrderBody: {
      /** Reason */
      reason?: string | null;
    };
    /**
     * Parent
     * @description The run that this one was forked from, and the key of the node it starts at.
     */
    Parent: {
      /** Node */
      node: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
    };
    /**
     * Payload
     * @description What is handed over. `structured` is left out where it is too large to travel along; `stored` then names it.
     */
    Payload: {
      /** Artifacts */
      artifacts: components["schemas"]["ArtifactRef"][];
      /** Message */
      message: string;
      status: components["schemas"]["PayloadStatus"];
      stored?: components["schemas"]["StoredRef"] | null;
      /** Structured */
      structured?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
    };
    /**
     * PayloadStatus
     * @description Whether the source is content with what it hands over.
     */
    PayloadStatus: {
      /** Ok */
      ok: boolean;
      /** Reason */
      reason?: string | null;
    };
    /**
     * Permissions
     * @description Whether a person is asked before the node's effects (`gated`), and before it makes nodes.
     */
    Permissions: {
      /**
       * Clipermissionsmode
       * @enum {string}
       */
      cliPermissionsMode: "skip" | "gated";
      /** Spawnrequiresapproval */
      spawnRequiresApproval: boolean;
    };
    /**
     * PermissionsBody
     * @description Permissions to set; what is left out stays. `gated`: a person is asked before each turn.
     */
    PermissionsBody: {
      /** Clipermissionsmode */
      cliPermissionsMode?: ("skip" | "gated") | null;
      /** Spawnrequiresapproval */
      spawnRequiresApproval?: true | null;
    };
    /**
     * Problem
     * @description Something wrong with a workflow file, and where.
     */
    Problem: {
      /** Code */
      code: string;
      /** Column */
      column: number;
      /** File */
      file: string;
      /** Hint */
      hint: string | null;
      /** Line */
      line: number;
      /** Message */
      message: string;
      /** Path */
      path: string;
    };
    /**
     * ProblemDetails
     * @description `application/problem+json`. `code` is one of the error codes; `hint` says what to do next.
     */
    ProblemDetails: {
      /** Code */
      code: string;
      /** Detail */
      detail: string;
      /** Errors */
      errors?: components["schemas"]["InvalidPart"][] | null;
      /** Hint */
      hint?: string | null;
      /** Instance */
      instance?: string | null;
      /** Status */
      status: number;
      /** Title */
      title: string;
      /** Type */
      type: string;
    };
    /**
     * Receipt
     * @description One attempt, chained by `prev` to the one before; `ts` is in milliseconds.
     */
    Receipt: {
      /** Attempt */
      attempt: number;
      /** Inputs Hash */
      inputs_hash: string;
      /** Item */
      item?: number | null;
      metrics: components["schemas"]["Metrics"];
      /** Op */
      op: string;
      /** Output Hash */
      output_hash: string;
      /** Output Ref */
      output_ref: string;
      /** Plan Id */
      plan_id: string;
      /** Prev */
      prev: string;
      /**
       * Status
       * @enum {string}
       */
      status: "succeeded" | "failed" | "interrupted" | "cancelled";
      /** Step Id */
      step_id: string;
      /** Ts */
      ts: number;
      /** Visit */
      visit: number;
      /** Workflow Hash */
      workflow_hash: string;
    };
    /**
     * Receipts
     * @description The receipts of a run, and a digest that is equal for two runs of the same deterministic work.
     */
    Receipts: {
      /** Digest */
      digest: string;
      /** Receipts */
      receipts: components["schemas"]["Receipt"][];
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
    };
    /**
     * Resolution
     * @description How a question ended.
     */
    Resolution: {
      /** Modifiedargs */
      modifiedArgs?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      /** Reason */
      reason?: string | null;
      /**
       * Status
       * @enum {string}
       */
      status: "approved" | "denied" | "modified";
      stored?: components["schemas"]["StoredRef"] | null;
    };
    /**
     * ResolutionBody
     * @description A person's answer.
     */
    ResolutionBody: {
      /** Modifiedargs */
      modifiedArgs?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      /** Reason */
      reason?: string | null;
      /**
       * Status
       * @enum {string}
       */
      status: "approved" | "denied" | "modified";
    };
    /**
     * ResolveBody
     * @description An answer to a question; with `digest`, only to the question that has it.
     */
    ResolveBody: {
      /** Digest */
      digest?: string | null;
      resolution: components["schemas"]["ResolutionBody"];
    };
    /**
     * Resolved
     * @description An answer was taken and is durable.
     */
    Resolved: {
      /**
       * Approvalid
       * Format: uuid
       */
      approvalId: string;
      /** By */
      by: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /**
       * Status
       * @enum {string}
       */
      status: "approved" | "denied" | "modified";
    };
    /**
     * Run
     * @description A run at `seq`: the state after that many facts. `approvals` are those that are open.
     *
     *     `inputs` and `outputs` are there where the run was asked for by itself, and left out of streams.
     */
    Run: {
      /** Approvals */
      approvals: {
        [key: string]: components["schemas"]["Approval"];
      };
      /** Artifacts */
      artifacts: {
        [key: string]: components["schemas"]["Artifact"];
      };
      budget: components["schemas"]["Budget"];
      /** By */
      by: string;
      /**
       * Contractversion
       * @constant
       */
      contractVersion: "1";
      /**
       * Createdat
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      createdAt: string;
      /** Edges */
      edges: {
        [key: string]: components["schemas"]["Edge"];
      };
      /** Ending */
      ending: ("ok" | "failed" | "cancelled" | "budget_exceeded" | "denied" | "escalated") | null;
      error: components["schemas"]["Fault"] | null;
      /**
       * Globalmode
       * @enum {string}
       */
      globalMode: "PLANNING" | "IMPLEMENTATION";
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Inputs */
      inputs?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      /**
       * Kind
       * @enum {string}
       */
      kind: "blocks" | "plan" | "graph";
      /**
       * Mode
       * @enum {string}
       */
      mode: "AUTO" | "INTERACTIVE";
      /** Name */
      name: string;
      /** Nodes */
      nodes: {
        [key: string]: components["schemas"]["Node"];
      };
      /** Outputs */
      outputs?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      parent: components["schemas"]["Parent"] | null;
      /** Pausereason */
      pauseReason: string | null;
      /**
       * Phase
       * @enum {string}
       */
      phase: "BOOT" | "EXECUTE" | "VERIFY" | "DOCS_SYNC" | "DONE";
      /** Seq */
      seq: number;
      /**
       * Status
       * @enum {string}
       */
      status: "queued" | "running" | "paused" | "completed" | "failed";
      /**
       * Updatedat
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      updatedAt: string;
      usage: components["schemas"]["Usage"];
      /** Workflowhash */
      workflowHash: string;
    };
    /**
     * RunMode
     * @description The run's modes.
     */
    RunMode: {
      /**
       * Globalmode
       * @enum {string}
       */
      globalMode: "PLANNING" | "IMPLEMENTATION";
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /**
       * Mode
       * @enum {string}
       */
      mode: "AUTO" | "INTERACTIVE";
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "run.mode";
    };
    /**
     * RunPage
     * @description Runs, newest first. `nextCursor` is the `cursor` of the next page; null on the last one.
     */
    RunPage: {
      /** Nextcursor */
      nextCursor: string | null;
      /** Runs */
      runs: components["schemas"]["RunSummary"][];
    };
    /**
     * RunPatch
     * @description What a client may change of a run: its modes; `status` pauses and resumes it, and completes a live graph.
     */
    RunPatch: {
      /** Globalmode */
      globalMode?: ("PLANNING" | "IMPLEMENTATION") | null;
      /** Mode */
      mode?: ("AUTO" | "INTERACTIVE") | null;
      /** Status */
      status?: ("running" | "paused" | "completed") | null;
    };
    /**
     * RunPatched
     * @description Fields of the run have changed; always `seq` and `updatedAt`. The last event of its fact.
     */
    RunPatched: {
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /** Patch */
      patch: {
        [key: string]: components["schemas"]["JsonValue"];
      };
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "run.patch";
    };
    /**
     * RunPhase
     * @description The run is in another phase.
     */
    RunPhase: {
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /**
       * Phase
       * @enum {string}
       */
      phase: "BOOT" | "EXECUTE" | "VERIFY" | "DOCS_SYNC" | "DONE";
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "run.phase";
    };
    /**
     * RunStalled
     * @description A loop makes no progress, and a person is asked whether it shall go on.
     */
    RunStalled: {
      evidence: components["schemas"]["Evidence"];
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "run.stalled";
    };
    /**
     * RunSummary
     * @description A run as listings show it.
     */
    RunSummary: {
      /**
       * Contractversion
       * @constant
       */
      contractVersion: "1";
      /**
       * Createdat
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      createdAt: string;
      /** Ending */
      ending: ("ok" | "failed" | "cancelled" | "budget_exceeded" | "denied" | "escalated") | null;
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Name */
      name: string;
      /** Parent */
      parent?: string | null;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /**
       * Status
       * @enum {string}
       */
      status: "queued" | "running" | "paused" | "completed" | "failed";
      /**
       * Updatedat
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      updatedAt: string;
      /** Workflowhash */
      workflowHash: string;
    };
    /**
     * Sent
     * @description A message is durable, and waits for the node's next turn.
     */
    Sent: {
      /** Interrupt */
      interrupt: boolean;
      /**
       * Messageid
       * Format: uuid
       */
      messageId: string;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
    };
    /**
     * StartBody
     * @description A run to begin: a workflow file of the project, or a workflow as a document, with its inputs.
     *
     *     Without a workflow it is a live graph: `name` and `budgets` (as in a blocks file) are those of the run then.
     */
    StartBody: {
      /** Budgets */
      budgets?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      /** Document */
      document?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      /**
       * Globalmode
       * @default IMPLEMENTATION
       * @enum {string}
       */
      globalMode: "PLANNING" | "IMPLEMENTATION";
      /** Inputs */
      inputs?: {
        [key: string]: components["schemas"]["JsonValue"];
      };
      /**
       * Mode
       * @default AUTO
       * @enum {string}
       */
      mode: "AUTO" | "INTERACTIVE";
      /** Name */
      name?: string | null;
      /** Workflow */
      workflow?: string | null;
    };
    /**
     * StoredRef
     * @description Where a value is that is too large to travel along: the blob that holds its canonical JSON.
     */
    StoredRef: {
      /** Blob */
      blob: string;
      /** Bytes */
      bytes: number;
    };
    /**
     * Tool
     * @description What is called or asked for. `stored` names the arguments where they are too large to travel along.
     */
    Tool: {
      /** Args */
      args: {
        [key: string]: components["schemas"]["JsonValue"];
      };
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Name */
      name: string;
      stored?: components["schemas"]["StoredRef"] | null;
    };
    /**
     * ToolCompleted
     * @description A handler or a tool is done, or was not let work.
     */
    ToolCompleted: {
      error?: components["schemas"]["ToolError"] | null;
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      result: components["schemas"]["ToolResult"];
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      /**
       * Toolid
       * Format: uuid
       */
      toolId: string;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "tool.completed";
    };
    /**
     * ToolError
     * @description Why it did not.
     */
    ToolError: {
      /** Code */
      code?: string | null;
      /** Message */
      message: string;
    };
    /**
     * ToolProposed
     * @description A person is asked whether this may be called.
     */
    ToolProposed: {
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      tool: components["schemas"]["Tool"];
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "tool.proposed";
    };
    /**
     * ToolResult
     * @description Whether the call succeeded.
     */
    ToolResult: {
      /** Ok */
      ok: boolean;
    };
    /**
     * ToolStarted
     * @description A handler or a tool is at work.
     */
    ToolStarted: {
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      tool: components["schemas"]["Tool"];
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "tool.started";
    };
    /**
     * Usage
     * @description What models have used, by the receipts.
     */
    Usage: {
      /** Completiontokens */
      completionTokens: number;
      /** Costusd */
      costUsd: number;
      /** Prompttokens */
      promptTokens: number;
      /** Totaltokens */
      totalTokens: number;
    };
    /**
     * Used
     * @description What of one budget is used; no limit is null, and 0 allows none.
     */
    Used: {
      /** Limit */
      limit: number | null;
      /** Used */
      used: number;
    };
    /**
     * UserMessage
     * @description A person said something.
     */
    UserMessage: {
      /**
       * Id
       * Format: uuid
       */
      id: string;
      /** Index */
      index: number;
      message: components["schemas"]["Message"];
      /** Nodeid */
      nodeId?: string | null;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Seq */
      seq: number;
      /**
       * Ts
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      ts: string;
      /**
       * @description discriminator enum property added by openapi-typescript
       * @enum {string}
       */
      type: "message.user";
    };
    /**
     * Verification
     * @description Whether a run's record is whole and unaltered.
     */
    Verification: {
      /** Ended */
      ended: boolean;
      /** Intact */
      intact: boolean;
      /** Runid */
      runId: string | null;
    };
    /**
     * Version
     * @description Which program this is, and which contract it speaks.
     */
    Version: {
      /**
       * Contractversion
       * @constant
       */
      contractVersion: "1";
      /** Version */
      version: string;
    };
    /**
     * WorkflowBody
     * @description A workflow: a file of the project, or a document.
     */
    WorkflowBody: {
      /** Document */
      document?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      /** Workflow */
      workflow?: string | null;
    };
    /**
     * WorkflowFile
     * @description A workflow file of the project; `path` is relative to the project's root.
     */
    WorkflowFile: {
      /** Description */
      description: string;
      /**
       * Kind
       * @enum {string}
       */
      kind: "blocks" | "plan" | "pipeline";
      /** Name */
      name: string;
      /** Path */
      path: string;
    };
    /**
     * WorkflowList
     * @description The workflow files of the project, by path.
     */
    WorkflowList: {
      /** Workflows */
      workflows: components["schemas"]["WorkflowFile"][];
    };
    /**
     * Session
     * @description The provider's session. Blocks have none: every attempt is told everything anew.
     */
    openskelo__contract__wire__node__Session: {
      /** Resetcommands */
      resetCommands: string[];
      /** Sessionid */
      sessionId: string | null;
    };
    /**
     * Session
     * @description Who asks. `csrfToken` is there for sessions of browsers: changes carry it as `X-CSRF-Token`.
     */
    openskelo__server__models__Session: {
      /** Csrftoken */
      csrfToken: string | null;
      /** Name */
      name: string;
      /**
       * Role
       * @enum {string}
       */
      role: "viewer" | "approver" | "operator";
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  listApprovals: {
    parameters: {
      query?: {
        /** @description only those of this run */
        runId?: string | null;
        /** @description at most so many */
        limit?: number;
        /** @description `nextCursor` of the page before */
        cursor?: string | null;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ApprovalPage"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It is there no longer */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  listAnswered: {
    parameters: {
      query?: {
        /** @description at most so many */
        limit?: number;
        /** @description `nextCursor` of the page before */
        cursor?: string | null;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["AnsweredPage"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It is there no longer */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  getApproval: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        approval_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Approval"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It is there no longer */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  getAnswer: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        approval_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Answered"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  resolveApproval: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same request with the same key is done once, and answered alike for a day */
        "Idempotency-Key"?: string;
      };
      path: {
        approval_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ResolveBody"];
      };
    };
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Resolved"];
        };
      };
      /** @description The process that drives the run has not taken the order yet: it stays posted, and will be done */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is too large */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is of another type than JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  getHealth: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Health"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  listRuns: {
    parameters: {
      query?: {
        /** @description at most so many */
        limit?: number;
        /** @description `nextCursor` of the page before */
        cursor?: string | null;
        status?: ("queued" | "running" | "paused" | "completed" | "failed") | null;
        /** @description a text in the name or the id */
        q?: string | null;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["RunPage"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It is there no longer */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  startRun: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same request with the same key is done once, and answered alike for a day */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["StartBody"];
      };
    };
    responses: {
      /** @description Successful Response */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Run"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is too large */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is of another type than JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  getRun: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Run"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  deleteRun: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      204: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  changeRun: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["RunPatch"];
      };
    };
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Run"];
        };
      };
      /** @description The process that drives the run has not taken the order yet: it stays posted, and will be done */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is too large */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is of another type than JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  listArtifacts: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ArtifactList"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  getArtifact: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        run_id: string;
        artifact_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Artifact"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  getContent: {
    parameters: {
      query?: never;
      header?: {
        /** @description such as `bytes=0-99` */
        Range?: string | null;
      };
      path: {
        run_id: string;
        artifact_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The bytes */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "*/*": string;
        };
      };
      /** @description The range of them that was asked for */
      206: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "*/*": string;
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The range lies outside of the content */
      416: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  cancelRun: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same request with the same key is done once, and answered alike for a day */
        "Idempotency-Key"?: string;
      };
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["OrderBody"] | null;
      };
    };
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Run"];
        };
      };
      /** @description The process that drives the run has not taken the order yet: it stays posted, and will be done */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is too large */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is of another type than JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  chat: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same request with the same key is done once, and answered alike for a day */
        "Idempotency-Key"?: string;
      };
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ChatBody"];
      };
    };
    responses: {
      /** @description Successful Response */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Sent"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is too large */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is of another type than JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  diffRuns: {
    parameters: {
      query: {
        /** @description the run that this one is compared with */
        other: string;
      };
      header?: never;
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Comparison"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  listEdges: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["EdgeList"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  addEdge: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same request with the same key is done once, and answered alike for a day */
        "Idempotency-Key"?: string;
      };
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["EdgeBody"];
      };
    };
    responses: {
      /** @description Successful Response */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Edge"];
        };
      };
      /** @description The process that drives the run has not taken the order yet: it stays posted, and will be done */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is too large */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is of another type than JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  removeEdge: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        run_id: string;
        edge_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The process that drives the run has not taken the order yet: it stays posted, and will be done */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Successful Response */
      204: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is too large */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is of another type than JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  listEvents: {
    parameters: {
      query?: {
        /** @description only what came after this `seq` */
        since?: number;
        /** @description what at most so many facts tell */
        limit?: number;
        /** @description the log itself instead of the stream */
        facts?: boolean;
        /** @description of those only what is about this node */
        node?: string | null;
      };
      header?: never;
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["EventPage"] | components["schemas"]["FactPage"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  forkRun: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same request with the same key is done once, and answered alike for a day */
        "Idempotency-Key"?: string;
      };
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ForkBody"];
      };
    };
    responses: {
      /** @description Successful Response */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Run"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is too large */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is of another type than JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  listNodes: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["NodeList"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  addNode: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same request with the same key is done once, and answered alike for a day */
        "Idempotency-Key"?: string;
      };
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["NodeBody"];
      };
    };
    responses: {
      /** @description Successful Response */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Node"];
        };
      };
      /** @description The process that drives the run has not taken the order yet: it stays posted, and will be done */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is too large */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is of another type than JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  getNode: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        run_id: string;
        node_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Node"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  removeNode: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        run_id: string;
        node_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The process that drives the run has not taken the order yet: it stays posted, and will be done */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Successful Response */
      204: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is too large */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is of another type than JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  changeNode: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        run_id: string;
        node_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["NodeChange"];
      };
    };
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Node"];
        };
      };
      /** @description The process that drives the run has not taken the order yet: it stays posted, and will be done */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is too large */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is of another type than JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  listItems: {
    parameters: {
      query?: {
        /** @description only items after this index */
        after?: number;
        /** @description at most so many */
        limit?: number;
      };
      header?: never;
      path: {
        run_id: string;
        node_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ItemPage"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  pauseRun: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same request with the same key is done once, and answered alike for a day */
        "Idempotency-Key"?: string;
      };
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["OrderBody"] | null;
      };
    };
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Run"];
        };
      };
      /** @description The process that drives the run has not taken the order yet: it stays posted, and will be done */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is too large */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is of another type than JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  listReceipts: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Receipts"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  resumeRun: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same request with the same key is done once, and answered alike for a day */
        "Idempotency-Key"?: string;
      };
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Run"];
        };
      };
      /** @description The process that drives the run has not taken the order yet: it stays posted, and will be done */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is too large */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is of another type than JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  verifyRun: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Verification"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  explainRun: {
    parameters: {
      query?: {
        /** @description how many items a foreach is counted with */
        items?: number;
      };
      header?: never;
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Explanation"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  getSession: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["openskelo__server__models__Session"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  stream: {
    parameters: {
      query?: {
        runId?: string | null;
        since?: string | null;
      };
      header?: {
        "last-event-id"?: string | null;
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "text/event-stream": unknown;
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  getVersion: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Version"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  listWorkflows: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WorkflowList"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  explainWorkflow: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same request with the same key is done once, and answered alike for a day */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ExplainBody"];
      };
    };
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Explanation"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is too large */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is of another type than JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
  validateWorkflow: {
    parameters: {
      query?: never;
      header?: {
        /** @description The same request with the same key is done once, and answered alike for a day */
        "Idempotency-Key"?: string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["WorkflowBody"];
      };
    };
    responses: {
      /** @description Successful Response */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Checked"];
        };
      };
      /** @description A parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or one that nobody knows */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from here, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No such thing */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not in this state, or not with this Idempotency-Key */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is too large */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The body is of another type than JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description What was sent is invalid; nothing was started or changed */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Too many requests */
      429: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A defect of the server */
      500: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The data dir or the server cannot do it now */
      503: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
    };
  };
}
