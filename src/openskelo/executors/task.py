"""One attempt as an executor receives it: all values resolved, nothing left to look up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openskelo.frozen import field, frozen, mutable
from openskelo.handlers import registry as registries
from openskelo.kernel import definition, fresh, ids
from openskelo.kernel.json import Json, JsonObject, Stored

if TYPE_CHECKING:
    from openskelo.contract import webhook
    from openskelo.executors import purse
    from openskelo.providers import config


@frozen
class Project:
    """What the project allows its nodes: roots and switches from `skelo.yaml`, all paths real and absolute.

    `models` are its providers and experts; None when the caller brings a provider, or there is none. `registry` is what
    it lets its plans reach. `webhooks` are told by a server.
    """

    root: Path
    data_dir: Path
    write_roots: tuple[Path, ...] = ()
    read_roots: tuple[Path, ...] = ()
    allow_commands: bool = False
    allow_private_addresses: bool = False
    secrets: Mapping[str, str] | None = None
    models: config.Config | None = None
    registry: registries.Registry = field(default_factory=registries.Registry)
    webhooks: tuple[webhook.Webhook, ...] = ()


@mutable
class Shared:
    """What the items of one visit have in common: found out for the first of them, and used for all.

    `item_name` is the input of the work that is the item; empty without one. `of` is what the run held when it was
    found out. `copies` make those of work that may change its inputs. `checked`: all inputs but the item keep the
    contract; `holds` says whether an item does, where that is all there is to ask. `run_inputs` are the run's, as its
    tasks have them.
    """

    inputs: JsonObject
    items: Sequence[Json]
    item_name: str = ""
    of: Stored | None = None
    hash: str = ""
    copies: Mapping[str, Callable[[], Json]] | None = None
    checked: bool = False
    holds: Callable[[Json], bool] | None = None
    run_inputs: JsonObject = field(default_factory=fresh.a_dict)


@frozen
class Task:
    """`inputs` are complete (bindings, transforms and defaults applied), `now` is the recorded start of the visit (ms).

    `feedback` is what the previous attempt or the bounce wants this one to know. `item_index` is set in a foreach.
    `run_inputs` are the run's, for prompts and gates (large ones only where there are any). `plan_mode` is that of the
    plan, which says what its steps may reach. `purse` is there where the run has limits and its node may ask a model.
    `done` are the outputs of the attempt before, when nobody could judge them: all that is left to do is that.
    """

    run_id: str
    workflow_name: str
    node: definition.Node
    visit: int
    attempt: int
    inputs: JsonObject
    now: int
    item_index: int | None = None
    item: Json = None
    shared: Shared | None = None
    feedback: Json = None
    run_inputs: JsonObject = field(default_factory=fresh.a_dict)
    plan_mode: definition.PlanMode = "normal"
    purse: purse.Purse | None = None
    done: JsonObject | None = None

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt at this piece of work."""
        return ids.idempotency_key(self.run_id, self.node.key, self.visit, self.item_index or 0)
