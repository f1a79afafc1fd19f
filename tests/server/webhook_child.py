"""A process that tells webhooks of a data dir until it is killed: `python -m tests.server.webhook_child ROOT URL`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from openskelo.project import Project
from openskelo.server import webhooks
from openskelo.stores.sqlite import data_dir
from openskelo.wire import webhook

SECRET = "${env:HOOK_SECRET}"
PACE = webhooks.Pace(poll=0.02, first_retry=0.05, max_wait=0.2, timeout=2.0)


def project(root: Path, url: str) -> Project:
    """A project with one webhook."""
    hook = webhook.Webhook(url=url, secret=SECRET)
    return Project(root=root, data_dir=root / ".skelo", allow_private_addresses=True, webhooks=(hook,))


async def main(root: Path, url: str) -> None:
    """Send deliveries until this process is ended."""
    store = data_dir.open_store(root / ".skelo")
    async with webhooks.delivering(project(root, url), store, PACE):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
