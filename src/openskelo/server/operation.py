"""What a server does beside answering: it counts, tells webhooks and sends traces, for as long as it runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator

from openskelo.engine import local
from openskelo.server import metrics, traces, webhooks


@contextlib.asynccontextmanager
async def operating(engine: local.Engine, counts: metrics.Metrics) -> AsyncGenerator[None]:
    """Count, tell and send while this is open (InvalidInput EXTRA_MISSING before anything has begun)."""
    project, store = engine.project, engine.store
    async with (
        traces.tracing(project, store, os.environ),
        webhooks.telling(project, store) as teller,
        counts.counting(),
    ):
        counts.teller = teller
        try:
            yield
        finally:
            counts.teller = None
