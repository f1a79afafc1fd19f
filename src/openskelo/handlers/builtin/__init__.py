"""The built-in handlers: each module of this package is one (`docs/extending/handler.md` says how to add one).

A module holds the constant `HANDLER`, and everything else reads it:

    the loader       `config`, `outputs`, `effect`, `check`    workflows/blocks/handlers.py
    the editor       `config`                                  workflows/blocks/editor_schema.py
    the executor     `run`                                     executors/
    the reference    `summary`, `config`, `effect`, `doc`      docs/reference/builtin-handlers.md (`make reference`)

Loading a workflow imports the modules of the handlers that it names. So a module imports what is slow to import
(asyncio, httpx) inside of its function.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeAlias

from openskelo import errors
from openskelo.extensions import Catalog, Position
from openskelo.handlers import context, file_access
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.structs import frozen
from openskelo.values.schema import validator


class Access(file_access.Access, Protocol):
    """The folders and switches that the project allows a handler, and the workspaces of agents.

    The executor implements it (`executors/kinds/deterministic.py`), because workspaces are a layer above. Most handlers
    need only a `file_access.Access` and ask for no more.
    """

    async def apply_changes(self, run_id: str, node: str, message: Json) -> JsonObject | None:
        """Commit what the agent of a node has changed in its workspace (Refused).

        Return the outputs of `builtin:apply-changes`; None if the node has no workspace.
        """
        ...


#: Does the work: returns the outputs, or raises AttemptFailed.
Run: TypeAlias = Callable[[context.Context, Access], Awaitable[JsonObject]]
#: The JSON Schema of each output by name.
Outputs: TypeAlias = Mapping[str, JsonObject]


@frozen
class BlockCheck:
    """The argument of a handler's check at load time: the block, the position of its config, and two compilers.

    Both compilers take the text at a position and the variables that the block's expressions see, and report mistakes.
    """

    node: definition.Node
    config: Position
    #: Compiles a template.
    check_template: Callable[[Position], None]
    #: Compiles an expression; returns the schema of its result, None after a Problem.
    check_expression: Callable[[Position], JsonObject | None]


@frozen
class Handler:
    """A built-in handler."""

    name: str
    summary: str
    #: The JSON Schema of its config, its keys made by `key`. The value of a key `*_from` is the name of an input.
    config: JsonObject
    run: Run
    #: The schemas of its outputs; None if `outputs_by` computes them from the block, or only the config has them.
    outputs: Outputs | None = None
    outputs_by: Callable[[definition.Node], Outputs] | None = None
    #: The outputs must be exactly the declared ones; otherwise undeclared outputs are dropped.
    exact_outputs: bool = False
    #: How careful the engine has to be after a crash; `effect_by` computes it from the config.
    effect: definition.Effect = "idempotent"
    effect_by: Callable[[JsonObject], definition.Effect] | None = None
    #: Reports mistakes that need the config and the ports together.
    check: Callable[[BlockCheck], None] | None = None
    #: Why a block must not set `cache: true`; empty if it may.
    uncacheable: str = ""
    #: The keys of its config whose texts are templates.
    templates: tuple[str, ...] = ()
    #: The keys of its config whose texts may name secrets.
    secret_texts: tuple[str, ...] = ()
    #: Returns the outputs of a node in a live graph whose author declares none, from its config and its inputs;
    #: `outputs` if None.
    config_outputs: Callable[[JsonObject, JsonObject], JsonObject] | None = None
    #: Markdown for the reference, after the table of keys: outputs, codes, and what the table cannot say.
    doc: str = ""
    #: Its work on an item of a foreach can see the item's index.
    sees_item_index: bool = True
    #: It sees only the inputs that its config names.
    reads_named_inputs: bool = False
    #: The author may let it write outside of the roots, so its outputs may name such files.
    writes_anywhere: bool = False

    def effect_of(self, config: JsonObject) -> definition.Effect:
        """Return the effect of a block with this config."""
        if self.effect_by is None:
            return self.effect
        return self.effect_by(config)

    def outputs_of(self, node: definition.Node) -> Outputs | None:
        """Return the schemas of the outputs of this block; None if only its config has them."""
        if self.outputs_by is None:
            return self.outputs
        return self.outputs_by(node)


HANDLERS: Mapping[str, Handler] = Catalog(__name__, "HANDLER", Handler, prefix="builtin:", separator="-")


def of(node: definition.Node) -> Handler | None:
    """Return the built-in handler that does the work of this node; None if something else does."""
    if node.handler is None:
        return None
    return HANDLERS.get(node.handler)


def check_config(handler: Handler, config: JsonObject) -> None:
    """Raise AttemptFailed DET_CONFIG_INVALID, never retried, unless `config` satisfies the handler's schema."""
    violations = validator.compile(handler.config).check(config)
    if violations:
        violation_list = "; ".join(f"{violation.path or '/'}: {violation.message}" for violation in violations)
        raise errors.AttemptFailed(
            f"{handler.name} config: {violation_list}", code="DET_CONFIG_INVALID", retryable=False
        )


# JSON Schemas that configs are made of.
TEXT: JsonObject = {"type": "string", "minLength": 1}
FLAG: JsonObject = {"type": "boolean"}
COUNT: JsonObject = {"type": "integer", "minimum": 1}
TEXTS: JsonObject = {"type": "object", "additionalProperties": {"type": "string"}}


def key(doc: str, schema: JsonObject, *, default: Json = None) -> JsonObject:
    """Return the JSON Schema of one key of a config, with its line of the reference.

    `default` is what the handler takes where the key is absent; the schema only tells readers.
    """
    if default is None:
        return {"description": doc, **schema}
    return {"description": doc, **schema, "default": default}


def config_schema(properties: JsonObject, **more: Json) -> JsonObject:
    """Return the JSON Schema of a config with these keys and no others."""
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def text(config: JsonObject, key: str) -> str | None:
    """Return a string of a checked config; None when it is absent."""
    value = config.get(key)
    return value if isinstance(value, str) else None


def number(config: JsonObject, key: str, default: int) -> int:
    """Return an integer of a checked config."""
    value = config.get(key, default)
    return value if isinstance(value, int) else default
