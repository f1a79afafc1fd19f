"""An ACP program that plays the agent's side of a recording: `python player.py RECORDING PROCESS`.

It waits for each message that the client sent in the recording, and then sends what the agent sent after it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    recording, process = Path(sys.argv[1]), int(sys.argv[2])
    lines = [json.loads(line) for line in recording.read_text().splitlines()]
    ids: dict[Any, Any] = {}  # of our client's requests: from those of the recording to those of now
    waiting: list[dict[str, Any]] = []
    for line in lines:
        if line.get("process") != process:
            continue
        if "sent" in line:
            message = wait_for(line["sent"], waiting)
            ids[line["sent"].get("id")] = message.get("id")
        else:
            message = line["received"]
            if "method" not in message:
                message = {**message, "id": ids[message["id"]]}
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()
    sys.stdin.read()


def wait_for(wanted: dict[str, Any], waiting: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the client's next message of the same method, or its next answer."""
    while True:
        for message in waiting:
            if message.get("method") == wanted.get("method"):
                waiting.remove(message)
                return message
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        waiting.append(json.loads(line))


if __name__ == "__main__":
    main()
