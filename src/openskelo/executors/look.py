"""What a gate may look at, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from openskelo import errors
from openskelo.executors import job, task
from openskelo.frozen import field, frozen
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import seam


@frozen
class Look:
    """The values around a node's work; `outputs` is None before it. `wall_ms` is what the work took."""

    job: job.Job
    project: task.Project
    provider: Callable[[], seam.Provider | None]
    inputs: JsonObject
    outputs: JsonObject | None = None
    wall_ms: int = 0

    def port(self, name: str) -> Json:
        """The value of an output of that name, else of an input; None when it was left out."""
        if self.outputs is not None and name in self.outputs:
            return self.outputs[name]
        return self.inputs.get(name)

    def names(self) -> dict[str, Json]:
        """What expressions see."""
        of = self.job.task
        found: dict[str, Json] = {
            "inputs": self.inputs,
            "outputs": self.outputs or {},
            "run": {"id": of.run_id, "name": of.workflow_name, "inputs": of.run_inputs},
        }
        if of.item_index is not None:
            found[item_name(of.node)] = of.item
        return found


@frozen
class Finding:
    """A gate's answer: `reason` says why not, `evidence` what it saw. `took_ms` only where the outside was asked.

    `outage` is why whoever should have judged could not be asked: then there is no verdict, and `passed` is None.
    """

    passed: bool | None
    reason: str = ""
    evidence: Mapping[str, Json] = field(default_factory=dict[str, Json])
    took_ms: int | None = None
    outage: errors.AttemptFailed | None = None


def unasked(who: str, outage: errors.AttemptFailed, took_ms: int) -> Finding:
    """No verdict, because `outage` kept us from asking `who`."""
    reason = f"{who} could not be asked: {outage.message}"
    return Finding(passed=None, reason=reason, evidence={"code": outage.code}, took_ms=took_ms, outage=outage)


def item_name(node: definition.Node) -> str:
    """What the element of a foreach is called in this node's expressions."""
    return node.foreach.name if node.foreach is not None else "item"


def text(params: JsonObject, key: str, default: str = "") -> str:
    """A text parameter; the loader has checked it."""
    value = params.get(key, default)
    return value if isinstance(value, str) else default


def number(params: JsonObject, key: str, default: float) -> float:
    """A number parameter; the loader has checked it."""
    value = params.get(key, default)
    return value if isinstance(value, int | float) else default
