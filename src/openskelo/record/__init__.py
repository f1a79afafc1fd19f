"""The record of a run: what proves, offline, what happened in it.

Envelope. Each event is one line of canonical JSON (RFC 8785): `id, runId, seq, ts, type, nodeId, data, prev, hash`
(`envelope`). Lines are never edited.

Chain. `hash = SHA-256(prev LF envelope LF SHA-256(data))`, where `prev` is the hash of the line before and `envelope`
the line without `data` and `hash`. So a changed, missing or moved line shows, and data can be pruned (`pruned`): its
hash stays in the line.

Receipts. Every attempt leaves a receipt inside its event, chained to the receipt before; `run.ended` names the last one
(`receipts`).

Verification. `chain.Verifier` takes the lines one by one. `line_check` checks a line by itself, the verifier its place
in the chain, `order_check` whether it can follow the events before it, and `state_check` (with the workflow's
definition) whether the kernel's state allows it.

Bundle. An export holds a header, the blobs and the lines of one run in a file that needs nothing else (`bundle`,
`blobs`).

Signature. An Ed25519 signature over the hash of the last line says who vouches for the record (`signature`).
"""
