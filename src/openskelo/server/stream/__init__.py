"""The live stream: the log's feed, projected once, and sent to every client over WebSocket or server-sent events.

    store's feed ──> hub ──> run_tracks (projection of each run) ──> topic (one run, or all) ──> buffer ──> clients
    models' text ──> partial_text ───────────────────────────────────^

hub           reads the feed, and lets clients start anywhere without a gap
run_tracks    the projections of runs in memory, with their newest events
topic         what clients follow, and the buffer from which each takes messages at its own pace
partial_text  the text that models are writing right now, which is not in the log
messages      the messages of both directions
routes        `/ws` and `/api/stream`
"""
