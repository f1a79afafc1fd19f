"""The contract over HTTP: REST, streams, pages and telemetry. Only `skelo serve` loads this package.

    client ──> middleware ──> guard ──> route ──> engine (commands)        POST, PATCH, DELETE
               headers        host      │
               limits         origin    ├──────> views (read from the log)  GET
                              token     └──────> stream/hub (follows the feed of the log)  /ws, /api/stream

One `app` serves one engine. Routes hold no state: a change becomes a command of the engine, and what they read comes
from the log through `views`. Streams follow the store's feed, so they also show runs that other processes drive.

    app, serving, settings    builds the FastAPI application; socket, uvicorn, shutdown; what can be set
    middleware                access log, security headers, limits
    auth/                     tokens, sessions, and the guard before every route
    routes/, rest, models     the REST routes; what they share: parameters, strict bodies, responses; documents
    views                     snapshots and pages of events, read from the log
    stream/                   `/ws` and `/api/stream`
    problems                  errors as problem documents
    idempotency               one answer per `Idempotency-Key`
    sent_documents            workflows that clients send: their paths stay inside the project's roots
    blobs, output_files       the bytes of artifacts, and of files that outputs name
    webhooks                  deliveries to webhooks
    pages                     the login page and the dashboard
    telemetry/                metrics, traces, the server's log
"""
