"""The Shared Contract: what clients see of a run, and the events that keep them up to date.

    log of facts ──> projection ──> snapshot of the run        (REST, first message of a stream)
                         │
                         └────────> wire events for each fact  (stream, GET /api/runs/{id}/events)

A client holds one document per run and follows one rule: a snapshot plus the wire events after it is the later
snapshot. `run.patch` and `node.patch` replace fields, `edge.*`, `artifact.created` and `approval.*` add or remove
entries of the run's maps, and all other events only say what happened. Nothing here is stored: every document and
every id follows from the facts, so the wire can be computed again from the log at any time.

projection      turns facts into snapshots and wire events; with its presenter the only stateful part
presenters      what differs between blocks, plans and live graphs: the phase, and which nodes a fact may change
derived_events  the events that say what happened: messages, tool calls, handoffs, approvals, artifacts
node_document   the document of a node
edges           the documents of edges
run_status      statuses, phases and budget figures, shared with the command line
wire_ids        the ids of nodes, edges, events, messages and calls
webhook         the documents and signatures of webhook deliveries
models/         pydantic models of all documents; `schemas/` holds their published JSON Schemas
"""
