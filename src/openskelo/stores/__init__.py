"""Where facts are kept: the log, blobs, and the events.jsonl mirror."""
