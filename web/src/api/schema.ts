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
     * @description List open approvals, oldest first.
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
     * @description List answered approvals of all runs or of one, the most recently requested first.
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
     * @description Return an open approval; a call of an agent with all of its arguments.
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
     * @description Return an answered approval: what was requested, and the answer.
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
     * @description Answer an approval; its run goes on. Modified arguments must match the form.
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
     * @description Check that the server answers, drives runs, and can read and write its store. Needs no token.
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
     * @description List runs, newest first.
     */
    get: operations["listRuns"];
    put?: never;
    /**
     * Start Run
     * @description Start a run of a workflow with its inputs; without a workflow, a live graph.
     *
     *     The run is stored when the response arrives, and goes on by itself.
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
     * @description Return the run as it is now, with its inputs and outputs.
     */
    get: operations["getRun"];
    put?: never;
    post?: never;
    /**
     * Delete Run
     * @description Delete a run that has ended, with its record.
     */
    delete: operations["deleteRun"];
    options?: never;
    head?: never;
    /**
     * Change Run
     * @description Change the run's modes; or its `status`: pause it, resume it, or complete a live graph.
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
     * @description List the run's artifacts, oldest first.
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
     * @description Return an artifact's document, without its bytes.
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
     * @description Return the artifact's bytes, with the media type they were stored with.
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
     * @description Cancel the run and all work in progress in it.
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
     * @description Send a message to a node, which reads it in its next turn; with `interrupt`, at once.
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
     * @description Compare the run with another one, node by node, as `skelo diff --json` does.
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
     * @description List the run's edges.
     */
    get: operations["listEdges"];
    put?: never;
    /**
     * Add Edge
     * @description Connect two nodes of a live graph.
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
     * @description Remove an edge of a live graph.
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
     * @description List the run's events in order, the same as in its stream; with `facts`, the lines of its log.
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
  "/api/runs/{run_id}/export": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Export Run
     * @description Return the run as one file that `skelo verify` checks anywhere, as `skelo export` writes it.
     */
    get: operations["exportRun"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/files": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Files
     * @description List the files that the run's outputs name, in the folders that data may write to.
     */
    get: operations["listFiles"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/files/content": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get File
     * @description Return the bytes of a file that the run's outputs name.
     */
    get: operations["getFile"];
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
     * @description Start a new run from a node of this one; the results of the nodes before it are kept.
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
     * @description List the run's nodes, in the order of its workflow.
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
     * @description Return a node with its inputs and outputs, and the workspace of its agent.
     */
    get: operations["getNode"];
    put?: never;
    post?: never;
    /**
     * Remove Node
     * @description Remove a node of a live graph, with its edges; its turn is cancelled.
     */
    delete: operations["removeNode"];
    options?: never;
    head?: never;
    /**
     * Change Node
     * @description Change a node of a live graph that is not in a turn; a new `config` replaces the old one.
     */
    patch: operations["changeNode"];
    trace?: never;
  };
  "/api/runs/{run_id}/nodes/{node_id}/changes": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get Changes
     * @description Return what an agent's node has changed in its workspace since its first turn there.
     */
    get: operations["getChanges"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
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
     * @description List items of a foreach node, with the outputs of finished ones.
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
  "/api/runs/{run_id}/nodes/{node_id}/logs": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List Logs
     * @description List what attempts of a node that this server performs now have logged so far; ended ones have an artifact.
     */
    get: operations["listLogs"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/nodes/{node_id}/reset": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Reset Node
     * @description Let a node begin a new conversation with its next turn.
     */
    post: operations["resetNode"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/runs/{run_id}/nodes/{node_id}/restart": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Restart Node
     * @description Let a node take its turn again: the one under way, which is stopped, or the last one, if it failed.
     */
    post: operations["restartNode"];
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
     * @description Pause the run: no new work starts, and work in progress ends; with `now` it is cut.
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
     * @description List the receipts of the run's attempts, in order.
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
     * @description Resume a run that was paused or suspended.
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
     * @description Check that the run's record is complete and unaltered: its events, blobs, event files and signature.
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
     * @description Return the outline of the workflow that the run has pinned, and the estimate for a run of it.
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
     * @description Return the caller's name and role, and the CSRF token that a browser's changes must carry.
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
     * @description Stream the events of a run, or of all runs: `hello`, `snapshot`, then `events`.
     *
     *     `since`, or the `Last-Event-ID` that a browser sends when it reconnects, resumes without a gap.
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
     * @description Return the version of the program and of the contract.
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
     * @description List the workflow files of the project.
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
     * @description Return the outline of a workflow, and the estimate for a run of it.
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
     * @description Check a workflow and list its problems, without running anything.
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
     * AgentWork
     * @description An agent's attempt. One that was stopped has no `tree_after`, `prompt_hash` and `reported`.
     */
    AgentWork: {
      /** Name */
      name: string;
      /** Program */
      program: string;
      /** Prompt Hash */
      prompt_hash?: string | null;
      /** Provider */
      provider: string;
      reported?: components["schemas"]["Reported"] | null;
      /** Session */
      session: string;
      /** Tree After */
      tree_after?: string | null;
      /** Tree Before */
      tree_before: string;
      /** Version */
      version: string;
    };
    /**
     * Answered
     * @description An approval and its answer, as their events have them; `withdrawn`: it was closed without an answer.
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
     * @description Answered approvals, the most recently requested first.
     */
    AnsweredPage: {
      /** Answered */
      answered: components["schemas"]["Answered"][];
      /** Nextcursor */
      nextCursor: string | null;
    };
    /**
     * Approval
     * @description An open approval. `form` is the JSON Schema of `modifiedArgs`; without `approvers`, any person may answer.
     *
     *     `runName` is the name of the run's workflow. `call` is what a person is shown beside the arguments of an agent's
     *     call (`kind` is `call`): its `kind`, `why` it is asked about, the `diff` of an edit, and the `rule` that an approval
     *     for longer would make; `question` if the agent asks on its own.
     */
    Approval: {
      /**
       * Approvalid
       * Format: uuid
       */
      approvalId: string;
      /** Approvers */
      approvers: string[];
      /** Call */
      call?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
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
      kind: "approval" | "ask_human" | "uncertain" | "stalled" | "call";
      /** Node */
      node: string;
      /**
       * Nodeid
       * Format: uuid
       */
      nodeId: string;
      /** Prompt */
      prompt: string;
      /**
       * Requestedat
       * Format: date-time
       * @description ISO-8601 in UTC with milliseconds
       */
      requestedAt: string;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Runname */
      runName: string;
      tool: components["schemas"]["Tool"];
      /** Visit */
      visit: number;
    };
    /**
     * ApprovalPage
     * @description Open approvals, oldest first.
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
     * @description An approval was closed: answered by a person, answered by `timer`, or withdrawn.
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
     * @description A kept file. `path` is absolute, and the file is written when it is first read; null without a local disk.
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
     * @description Facts about an artifact besides its bytes: of a diff what it changes, of a prompt its role template.
     */
    ArtifactMetadata: {
      /** Deletions */
      deletions?: number | null;
      /** Fileschanged */
      filesChanged?: string[] | null;
      /** Insertions */
      insertions?: number | null;
      /** Role */
      role?: string | null;
      /** Rolehash */
      roleHash?: string | null;
      /** Summary */
      summary?: string | null;
    };
    /**
     * ArtifactRef
     * @description A reference to an artifact from another document.
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
     * @description The permissions of a node. A block may do what its mode and effect allow, and never creates nodes.
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
     * @description Capabilities to set; others stay. No node creates nodes, or only delegates.
     */
    CapabilitiesBody: {
      /** Delegateonly */
      delegateOnly?: false | null;
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
     * @description A difference between two values, at a JSON pointer; `before` or `after` is left out if it does not exist.
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
     * Changes
     * @description The changes of a node's agent in its workspace; `diff` is in the unified format.
     */
    Changes: {
      /** Deletions */
      deletions: number;
      /** Diff */
      diff: string;
      /** Fileschanged */
      filesChanged: string[];
      /** Insertions */
      insertions: number;
    };
    /**
     * ChatBody
     * @description A message to a node: queued for its next turn, or, with `interrupt`, instead of the one it is in.
     *
     *     Without a `nodeId` it goes to the first node with the role `orchestrator`, else to the first node. With `steer` the
     *     turn under way reads it, if its agent can take a word during a turn; otherwise it is queued, and the answer says so.
     */
    ChatBody: {
      /** Content */
      content: string;
      /**
       * Interrupt
       * @default false
       */
      interrupt: boolean;
      /** Nodeid */
      nodeId?: string | null;
      /**
       * Steer
       * @default false
       */
      steer: boolean;
    };
    /**
     * Checked
     * @description The problems of a workflow; `hash` is the one that a run of it would pin.
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
     * @description A node in two runs, and how it differs; `inputs` are the inputs that a fork has set.
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
     * @description One of two compared runs, and what it used.
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
     * @description A node in one of two runs; `keptFrom` is the run from which a fork kept its result or items.
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
     * @description Two runs node by node; `sameWork`: their receipts are equal except for times.
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
     * @description The state of the model or handler that works for a node: `connected` while an attempt is in flight.
     *
     *     The event `node.connection` says when text is being streamed, and only the process that drives the run knows it: in
     *     the node's document `streaming` is false.
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
     * @description An edge. `kind`: a value handed over, order only, a jump of a plan, or a channel of a live graph.
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
     * @description An edge to add to a live graph. Its id follows from the nodes it connects and its label.
     *
     *     Without a `type`, an edge from another node to an orchestrator is a `report`, and any other a `handoff`. Without a
     *     `label`, a report is called `report` and a handoff `task`.
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
      /** Type */
      type?: ("handoff" | "report") | null;
    };
    /**
     * EdgeCreated
     * @description An edge was created.
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
     * @description An edge was removed.
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
     * @description A page of a run's events, in order. `nextSeq` is the `since` of the next page; null on the last page.
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
     * @description The evidence that a loop makes no progress.
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
      kind: "output" | "verdict" | "diff" | "gates";
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
     * @description A workflow, and the number of items that a foreach is counted with.
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
     * @description The outline of a workflow (ports, blocks, edges, layers), and the estimate for a run of it.
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
     * @description A line of the run's log: its envelope, and the links of its chain. If pruned, `dataHash` replaces `data`.
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
     * @description A page of a run's log, in order. `nextSeq` is the `since` of the next page; null on the last page.
     */
    FactPage: {
      /** Facts */
      facts: components["schemas"]["Fact"][];
      /** Nextseq */
      nextSeq: number | null;
    };
    /**
     * Fault
     * @description An error: a stable code, and a message for people.
     */
    Fault: {
      /** Code */
      code: string;
      /** Message */
      message: string;
    };
    /**
     * ForkBody
     * @description The node (key or id) from which a new run starts, and changed inputs of the node or the run.
     *
     *     `items` says which items of a foreach are done again: `all`, the unfinished ones, or the unfinished ones and those
     *     with these indexes. Without it: the unfinished ones, or all if there are no unfinished ones.
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
     * @description The server answers, and its store can be read.
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
     * @description One invalid part of a request: a JSON pointer to it, and what is wrong.
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
     * @description One item of a foreach, with the state of its work and its outputs.
     *
     *     `kept`: it was done in the run that this one was forked from. `error`: it has failed, and the foreach went on.
     */
    Item: {
      /** Attempts */
      attempts: number;
      error?: components["schemas"]["Fault"] | null;
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
     * @description The item counts of a foreach; the items themselves are listed elsewhere.
     *
     *     `kept` counts the done items that a fork has taken over from its parent run, `failed` the done items that have
     *     failed in a foreach with `on_fail: keep`.
     */
    Items: {
      /** Done */
      done: number;
      /** Failed */
      failed?: number | null;
      /** Kept */
      kept?: number | null;
      /** Running */
      running: number;
      /** Total */
      total: number;
    };
    JsonValue: Json;
    /**
     * LogList
     * @description The logs of a node's running attempts.
     */
    LogList: {
      /** Logs */
      logs: components["schemas"]["LogSoFar"][];
    };
    /**
     * LogSoFar
     * @description The log of a running attempt so far; only its end if it is long.
     */
    LogSoFar: {
      /** Attempt */
      attempt: number;
      /** Item */
      item: number | null;
      /** Text */
      text: string;
      /** Visit */
      visit: number;
    };
    /**
     * Message
     * @description A message. If the content is too large to be included, it is empty and `stored` refers to it.
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
     * @description The usage of the attempt.
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
     *     A finished node is `idle` (`failed` if it failed) and has an `outcome`; one that waits for a person is `blocked`.
     *     `connection` is null for a node whose work a person does. `workspace` is where the agent of a node works (kind,
     *     path, branch, base, ports), if a client requests this one node.
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
      session: components["schemas"]["openskelo__wire__models__node__Session"];
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
      /** Workspace */
      workspace?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
    };
    /**
     * NodeBody
     * @description A node to add to a live graph. `key` is the author's id; by default it is made from the label.
     *
     *     `config` has the fields of a block of that kind: `handler` and its `config`, or `prompt` and the expert to ask. An
     *     agent is named by `agent` (a name in the project's skelo.yaml), else the first of the `provider` is taken; `model`
     *     replaces the project's, and with the `sessionMode` `plan` it plans and changes nothing.
     */
    NodeBody: {
      /** Agent */
      agent?: string | null;
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
      kind: "model" | "handler" | "agent";
      /** Label */
      label: string;
      /** Model */
      model?: string | null;
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
      /** @default {} */
      session: components["schemas"]["SessionBody"];
      /** Sessionmode */
      sessionMode?: ("default" | "plan") | null;
    };
    /**
     * NodeChange
     * @description Changes of a live graph's node; fields that are left out stay.
     */
    NodeChange: {
      /** Agent */
      agent?: string | null;
      capabilities?: components["schemas"]["CapabilitiesBody"] | null;
      /** Config */
      config?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      /** Label */
      label?: string | null;
      /** Model */
      model?: string | null;
      permissions?: components["schemas"]["PermissionsBody"] | null;
      /** Provider */
      provider?: ("codex" | "claude" | "gemini" | "custom") | null;
      /** Roletemplate */
      roleTemplate?: string | null;
      session?: components["schemas"]["SessionBody"] | null;
      /** Sessionmode */
      sessionMode?: ("default" | "plan") | null;
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
     * @description A node of a live graph was removed, with its edges.
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
     * @description Fields of a node have changed; for a new node, all fields.
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
     * @description The reason, for the record.
     */
    OrderBody: {
      /** Reason */
      reason?: string | null;
    };
    /**
     * OutputFile
     * @description A file that an output names; `path` is the text of the output.
     */
    OutputFile: {
      /** Mediatype */
      mediaType: string;
      /** Name */
      name: string;
      /** Path */
      path: string;
      /** Size */
      size: number;
    };
    /**
     * OutputFiles
     * @description The files that a run's outputs name and that exist.
     */
    OutputFiles: {
      /** Files */
      files: components["schemas"]["OutputFile"][];
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
     * PauseBody
     * @description With `now`, work in progress is cut, and done again when the run is resumed; otherwise it ends first.
     */
    PauseBody: {
      /**
       * Now
       * @default false
       */
      now: boolean;
      /** Reason */
      reason?: string | null;
    };
    /**
     * Payload
     * @description The content of a handoff. If `structured` is too large to be included, `stored` refers to it.
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
     * @description The verdict of the source on what it hands over: `ok`, else the reason.
     */
    PayloadStatus: {
      /** Ok */
      ok: boolean;
      /** Reason */
      reason?: string | null;
    };
    /**
     * Permissions
     * @description The approvals that a node needs: before its effects (`gated`), and before it creates nodes.
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
     * @description Permissions to set; others stay. `gated`: a person is asked before each turn, or about an agent's calls.
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
      agent?: components["schemas"]["AgentWork"] | null;
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
     * Reported
     * @description The usage of an attempt as its agent reports it. Not what budgets count.
     */
    Reported: {
      /** Cost Nanousd */
      cost_nanousd?: number | null;
      /** Tokens In */
      tokens_in: number;
      /** Tokens Out */
      tokens_out: number;
    };
    /**
     * Resolution
     * @description The answer to an approval.
     *
     *     `remember` says for how long calls like the one that was asked about (`rule`) are allowed, if for longer than once.
     */
    Resolution: {
      /** Modifiedargs */
      modifiedArgs?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      /** Reason */
      reason?: string | null;
      /** Remember */
      remember?: ("turn" | "run") | null;
      /** Rule */
      rule?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      /**
       * Status
       * @enum {string}
       */
      status: "approved" | "denied" | "modified";
      stored?: components["schemas"]["StoredRef"] | null;
    };
    /**
     * ResolutionBody
     * @description A person's answer. `remember` allows an agent's calls like this one until its turn or the run ends.
     */
    ResolutionBody: {
      /** Modifiedargs */
      modifiedArgs?: {
        [key: string]: components["schemas"]["JsonValue"];
      } | null;
      /** Reason */
      reason?: string | null;
      /** Remember */
      remember?: ("turn" | "run") | null;
      /**
       * Status
       * @enum {string}
       */
      status: "approved" | "denied" | "modified";
    };
    /**
     * ResolveBody
     * @description An answer to an approval; with `digest`, only to the approval that has it.
     */
    ResolveBody: {
      /** Digest */
      digest?: string | null;
      resolution: components["schemas"]["ResolutionBody"];
    };
    /**
     * Resolved
     * @description The answer was accepted and stored.
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
     * @description A run at `seq`: the state after that many facts. `approvals` are the open ones.
     *
     *     `inputs` and `outputs` are included if the run was requested by itself, and left out of streams.
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
     * @description The changes a client may make to a run: its modes; `status` pauses and resumes it, and completes a live graph.
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
     * @description A loop makes no progress, and a person is asked whether it should go on.
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
     * @description The message is stored, and waits for the node's next turn.
     *
     *     `steered`: the turn under way reads it. `reset`: it was a reset command; the next turn begins a new conversation.
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
      /** Reset */
      reset: boolean;
      /**
       * Runid
       * Format: uuid
       */
      runId: string;
      /** Steered */
      steered: boolean;
    };
    /**
     * SessionBody
     * @description Settings of the conversation to set. A message that is one of `resetCommands` begins a new one.
     */
    SessionBody: {
      /** Resetcommands */
      resetCommands?: string[] | null;
    };
    /**
     * StartBody
     * @description A run to start: a workflow file of the project, or a workflow as a document, with its inputs.
     *
     *     Without a workflow the run is a live graph, with this `name` and these `budgets` (as in a blocks file).
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
     * @description The blob that holds the canonical JSON of a value that is too large to be included.
     */
    StoredRef: {
      /** Blob */
      blob: string;
      /** Bytes */
      bytes: number;
    };
    /**
     * Tool
     * @description The call or question of an approval. `stored` refers to the arguments if they are too large to be included.
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
     * @description A call of a handler or a tool has ended, or was not allowed.
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
     * @description The error of a call that failed.
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
     * @description The result of a call: `ok` says whether it succeeded.
     *
     *     A call of an agent also has what it returned (`output`, or `stored` if it is large), how long it took, and the exit
     *     code of the command it has run, if the agent tells it.
     */
    ToolResult: {
      /** Durationms */
      durationMs?: number | null;
      /** Exitcode */
      exitCode?: number | null;
      /** Ok */
      ok: boolean;
      output?: components["schemas"]["JsonValue"];
      stored?: components["schemas"]["StoredRef"] | null;
    };
    /**
     * ToolStarted
     * @description A call of a handler or a tool has started.
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
     * @description The usage of a node's attempts, from their receipts.
     *
     *     `workMs` is the time that they worked, added up. It leaves out waits for a worker, a model, a retry or a person.
     *     `costUnknown` is true if an agent with its own log-in has worked: what it costs is in no figure.
     */
    Usage: {
      /** Completiontokens */
      completionTokens: number;
      /** Costunknown */
      costUnknown?: boolean | null;
      /** Costusd */
      costUsd: number;
      /** Prompttokens */
      promptTokens: number;
      /** Totaltokens */
      totalTokens: number;
      /** Workms */
      workMs: number;
    };
    /**
     * Used
     * @description The use of one budget. A limit of null means no limit, and 0 allows nothing.
     */
    Used: {
      /** Limit */
      limit: number | null;
      /** Used */
      used: number;
    };
    /**
     * UserMessage
     * @description A person sent a message.
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
     * @description The result of verifying a run's record. `head` is the hash of its last event.
     */
    Verification: {
      /** Ended */
      ended: boolean;
      /** Events */
      events: number;
      /** Head */
      head: string;
      /** Intact */
      intact: boolean;
      /** Receipts */
      receipts: number;
      /** Runid */
      runId: string | null;
      /**
       * Signature
       * @enum {string}
       */
      signature: "ok" | "partial" | "bad" | "none";
    };
    /**
     * Version
     * @description The version of the program, and of the contract.
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
     * @description The caller. `csrfToken` is set for browser sessions, whose changes must carry it as `X-CSRF-Token`.
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
    /**
     * Session
     * @description The provider's session. Blocks have no session: every attempt gets the whole context.
     */
    openskelo__wire__models__node__Session: {
      /** Resetcommands */
      resetCommands: string[];
      /** Sessionid */
      sessionId: string | null;
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
        /** @description only approvals of this run */
        runId?: string | null;
        /** @description the maximum number of entries */
        limit?: number;
        /** @description `nextCursor` of the previous page */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It no longer exists */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description only approvals of this run */
        runId?: string | null;
        /** @description the maximum number of entries */
        limit?: number;
        /** @description `nextCursor` of the previous page */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It no longer exists */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It no longer exists */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description A request repeated with the same key within a day is carried out once */
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
      /** @description The process that drives the run has not taken the command yet; it stays queued and will be carried out */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description the maximum number of entries */
        limit?: number;
        /** @description `nextCursor` of the previous page */
        cursor?: string | null;
        status?: ("queued" | "running" | "paused" | "completed" | "failed") | null;
        /** @description a text in the run's name or id */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It no longer exists */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description A request repeated with the same key within a day is carried out once */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description The process that drives the run has not taken the command yet; it stays queued and will be carried out */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description The requested range of the bytes */
      206: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "*/*": string;
        };
      };
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The range is outside the content */
      416: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description A request repeated with the same key within a day is carried out once */
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
      /** @description The process that drives the run has not taken the command yet; it stays queued and will be carried out */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description A request repeated with the same key within a day is carried out once */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description the run to compare with */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description A request repeated with the same key within a day is carried out once */
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
      /** @description The process that drives the run has not taken the command yet; it stays queued and will be carried out */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description The process that drives the run has not taken the command yet; it stays queued and will be carried out */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description the events of at most this many facts */
        limit?: number;
        /** @description the lines of the log instead of wire events */
        facts?: boolean;
        /** @description only what is about this node */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
  exportRun: {
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
      /** @description The bundle */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/jsonl": unknown;
        };
      };
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
  listFiles: {
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
          "application/json": components["schemas"]["OutputFiles"];
        };
      };
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
  getFile: {
    parameters: {
      query: {
        /** @description a file as the outputs name it */
        path: string;
      };
      header?: never;
      path: {
        run_id: string;
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description A request repeated with the same key within a day is carried out once */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description A request repeated with the same key within a day is carried out once */
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
      /** @description The process that drives the run has not taken the command yet; it stays queued and will be carried out */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description The process that drives the run has not taken the command yet; it stays queued and will be carried out */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description The process that drives the run has not taken the command yet; it stays queued and will be carried out */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
  getChanges: {
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
          "application/json": components["schemas"]["Changes"];
        };
      };
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description the maximum number of entries */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
  listLogs: {
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
          "application/json": components["schemas"]["LogList"];
        };
      };
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
  resetNode: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request repeated with the same key within a day is carried out once */
        "Idempotency-Key"?: string;
      };
      path: {
        run_id: string;
        node_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The process that drives the run has not taken the command yet; it stays queued and will be carried out */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
  restartNode: {
    parameters: {
      query?: never;
      header?: {
        /** @description A request repeated with the same key within a day is carried out once */
        "Idempotency-Key"?: string;
      };
      path: {
        run_id: string;
        node_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The process that drives the run has not taken the command yet; it stays queued and will be carried out */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description A request repeated with the same key within a day is carried out once */
        "Idempotency-Key"?: string;
      };
      path: {
        run_id: string;
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        "application/json": components["schemas"]["PauseBody"] | null;
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
      /** @description The process that drives the run has not taken the command yet; it stays queued and will be carried out */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description A request repeated with the same key within a day is carried out once */
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
      /** @description The process that drives the run has not taken the command yet; it stays queued and will be carried out */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description the number of items that a foreach is counted with */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description A request repeated with the same key within a day is carried out once */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
        /** @description A request repeated with the same key within a day is carried out once */
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
      /** @description A query parameter that this request does not have */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description No token, or an unknown one */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description Not from this site, or not with this role */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description It does not exist */
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
      /** @description The body is not JSON */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          "application/problem+json": components["schemas"]["ProblemDetails"];
        };
      };
      /** @description The request is invalid; nothing was started or changed */
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
      /** @description The store or the server cannot do it now */
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
