"""A whole run in one call, for scripts and notebooks: `openskelo.run`.

The engine is async. In a script the call has an event loop of its own. In a notebook the thread already runs a loop,
which must not be blocked or entered twice; there the run gets a loop in a second thread, and the call waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent import futures
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from openskelo.engine import api
from openskelo.workflows import load
from openskelo.workflows.project import project_file

if TYPE_CHECKING:
    from openskelo.executors.handlers import invocation
    from openskelo.history.run_document import RunDocument
    from openskelo.kernel.definition import Workflow
    from openskelo.kernel.json import JsonObject
    from openskelo.project import Project
    from openskelo.providers.protocol import Provider

T = TypeVar("T")


def run(
    workflow: str | Path | Workflow,
    inputs: JsonObject | None = None,
    *,
    project: Project | None = None,
    handlers: Mapping[str, invocation.Handler] | None = None,
    provider: Provider | None = None,
    by: str = "python",
) -> RunDocument:
    """Run a workflow until it has ended or only a person can move it, and return its document.

    `workflow` is a file or a loaded workflow. `project` is by default the one around the file, else around the current
    folder. Raise InvalidWorkflow or InvalidInput if nothing was started. It also works where an event loop runs, such
    as in a notebook. An interrupt leaves the run resumable.
    """
    if isinstance(workflow, str | Path):
        project = project or project_file.project_at(Path(workflow))
        loaded_workflow = load.load(workflow, data_dir=project.data_dir)
    else:
        loaded_workflow = workflow
        project = project or project_file.project_at(Path.cwd())

    async def complete() -> RunDocument:
        async with api.open_engine(project, handlers=handlers, provider=provider) as engine:
            return await engine.wait(await engine.start(loaded_workflow, inputs, by=by))

    return _wait_for(complete())


def _wait_for(work: Coroutine[None, None, T]) -> T:
    """Return the result of `work`, whether or not this thread runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    canceller: futures.Future[Callable[[], object]] = futures.Future()

    async def cancellable() -> T:
        task, loop = cast("asyncio.Task[T]", asyncio.current_task()), asyncio.get_running_loop()
        canceller.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        return await work

    with futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix="skelo-run") as pool:
        result = pool.submit(asyncio.run, cancellable())
        try:
            return result.result()
        except BaseException:
            if not result.done():  # the caller was interrupted: the engine closes before the thread ends
                canceller.result()()
            raise
