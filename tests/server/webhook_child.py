"""A process that tells webhooks of a data dir until it is killed: `python -m tests.server.webhook_child ROOT URL`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from openskelo.contract import webhook
from openskelo.executors import task
from openskelo.server import webhooks
from openskelo.stores import datadir

SECRET = "${env:HOOK_SECRET}"
PACE = webhooks.Pace(look=0.02, first=0.05, longest=0.2, timeout=2.0)


def project(root: Path, url: str) -> task.Project:
    """A project with one webhook."""
    hook = webhook.Webhook(url=url, secret=SECRET)
    return task.Project(root=root, data_dir=root / ".skelo", allow_private_addresses=True, webhooks=(hook,))


async def main(root: Path, url: str) -> None:
    """Tell until somebody ends this process."""
    store = datadir.open_log(root / ".skelo")
    async with webhooks.telling(project(root, url), store, PACE):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
