"""Settings for every test: how hypothesis searches, and an environment in which nothing of the developer's leaks in."""

from __future__ import annotations

import gc
import itertools
import os
import signal

import hypothesis
import pytest

from tests import forked_skelo

# A shared or slow machine is no failure, so no deadlines. In CI the search is the same every time: a change is judged
# by what it changes, and new counterexamples are found on developers' machines, where the search is random.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")

# `skelo` in tests must see the data dir that the test names, and print for a program.
for name in ("SKELO_HOME", "SKELO_DEBUG", "FORCE_COLOR"):
    os.environ.pop(name, None)
os.environ["NO_COLOR"] = "1"

# A shell that starts the tests in the background lets them, and the processes that they start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Asserts in what tests share explain themselves like those in the tests.
pytest.register_assert_rewrite("tests.kernel.stage", "tests.kernel.play")


def pytest_configure(config: pytest.Config) -> None:
    """Start the fork server of this test run; a worker uses that of the process which has started it."""
    gc.disable()  # a third of the time of the collection, in which there is no garbage
    given: dict[str, str] | None = getattr(config, "workerinput", None)
    if given is None:
        forked_skelo.start_server()
    else:
        forked_skelo.use_server(given["fork_server"])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell a worker where the fork server is."""
    given: dict[str, str] = getattr(node, "workerinput")  # noqa: B009 -- xdist has no type for it
    given["fork_server"] = forked_skelo.server_address()


def pytest_unconfigure() -> None:
    """End the fork server."""
    forked_skelo.stop_server()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let each worker begin with its share of the slow tests: one that is begun last would be waited for."""
    workers: int = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        items[:] = slow_tests_first(items, workers)


def slow_tests_first(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Return the tests in another order: each worker's part begins with slow ones, module by module.

    The parts are those with which `--dist worksteal` begins. Tests with a time limit of their own take longest.
    """
    slow = [item for item in items if item.get_closest_marker("slow")]
    quick = iter([item for item in items if not item.get_closest_marker("slow")])
    modules = [list(module) for _, module in itertools.groupby(slow, key=lambda item: item.path)]
    for module in modules:
        module.sort(key=_has_usual_time_limit)
    modules.sort(key=lambda module: _has_usual_time_limit(module[0]))
    ordered: list[pytest.Item] = []
    for worker in range(workers):
        size = (len(items) - len(ordered)) // (workers - worker)
        share = list(itertools.chain.from_iterable(modules[worker::workers]))
        ordered += [*share, *itertools.islice(quick, max(0, size - len(share)))]
    return [*ordered, *quick]


def _has_usual_time_limit(item: pytest.Item) -> bool:
    return item.get_closest_marker("timeout") is None


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of garbage collections: it never becomes garbage, and takes seconds."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)  # also without xdist, when one test has its second chance
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of workers of `-n auto`: two a core, because many tests wait for other processes."""
    return 2 * (os.cpu_count() or 1)
