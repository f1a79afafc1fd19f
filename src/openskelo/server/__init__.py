"""The contract over HTTP: REST, streams, pages and telemetry. Only `skelo serve` loads this package.

    client ──> middleware ──> guard ──> route ──> engine (commands)        POST, PATCH, DELETE
               headers        host      │
               limits         origin    ├──────> views (read from the log)  GET
                              token     └──────> stream/hub (follows the feed of the log)  /ws, /api/stream

One `app` serves one engine. Routes hold no state: a change becomes a command of the engine, and what they read comes
from the log through `views`. Streams follow the store's feed, so they also show runs that other processes drive.

app          builds the FastAPI application      serving     socket, uvicorn, shutdown      settings  what can be set
rest         context, parameters, bodies         models      REST documents                 views     snapshots, events
connections  how many, and their deadlines       middleware  access log, headers, limits    pages     login, dashboard
problems     errors as problem documents         idempotency one answer per key             blobs     artifact bytes
sent_documents  confined paths                   webhooks    deliveries to webhooks
auth/ stream/ routes/ telemetry/
"""
