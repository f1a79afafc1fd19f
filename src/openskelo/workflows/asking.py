"""What an ai block says about its model: whom to ask, with which parameters, and in which words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from openskelo.kernel import definition
from openskelo.kernel.json import JsonObject
from openskelo.providers import config
from openskelo.workflows import block_dir, cursor, scope, suggest

#: Answers of a model that break their contract are repaired so often, unless the block says otherwise.
DEFAULT_REPAIRS = 1
MOST_REPAIRS = 3
_MOST_TOKENS = 10_000_000

#: Keys that only an ai block may have, beside `prompt`.
KEYS = frozenset(
    {"expert", "agent", "block_dir", "provider", "model", "model_params", "system", "temperature", "top_p"}
    | {"max_tokens", "seed", "stop", "contract_repair_attempts"}
)


def read(node: definition.Node, fields: cursor.Fields, root: Path | None, models: config.Config | None) -> JsonObject:
    """The block's keys for its model under the author's names, checked; what its folder holds is `pinned`."""
    found = {key: value for key, value in fields.value.items() if key in KEYS or key == "prompt"}
    variables: dict[str, JsonObject | None] = {"inputs": scope.of_ports(node.inputs), "run": scope.RUN}
    if node.foreach is not None:
        variables[node.foreach.name] = None
    if (prompt := fields.get("prompt")) is not None:
        scope.check_template(prompt, variables)
    _check_values(fields)
    for key in ("expert", "provider"):
        if (named := fields.get(key)) is not None:
            check_name(named, models, key)
    folder = fields.get("block_dir")
    if folder is not None and (files := block_dir.read(folder, root, variables)):
        found["pinned"] = {"files": files}
    return found


def repairs(fields: cursor.Fields) -> int:
    """How often in one visit an answer that breaks the contract is asked for again at once."""
    return fields.integer("contract_repair_attempts", DEFAULT_REPAIRS, 0, MOST_REPAIRS)


def _check_values(fields: cursor.Fields) -> None:
    fields.integer("max_tokens", 1, 1, _MOST_TOKENS)
    fields.number("temperature", 0, 0, 2)
    fields.number("top_p", 1, 0, 1)
    fields.integer("seed", 0, 0, 2**53)
    fields.texts("stop")
    for key in ("model", "system"):
        if (found := fields.get(key)) is not None:
            found.text(blank=False)
    if (extras := fields.get("model_params")) is not None:
        extras.fields()


def check_reviews(fields: cursor.Fields, models: config.Config | None) -> None:
    """The experts that review gates name have to be there, too."""
    for side in ("pre_gates", "post_gates"):
        found = fields.get(side)
        if found is None or not isinstance(found.value, list):
            continue
        for entry in found.items() or []:
            gate = entry.value
            if isinstance(gate, Mapping) and gate.get("type") == "llm_review" and "expert" in gate:
                check_name(entry.at("expert", gate["expert"]), models, "expert")


def check_name(found: cursor.Cursor, models: config.Config | None, kind: str) -> None:
    """An expert or a provider that the project does not have is a Problem, where the project says which it has."""
    name = found.text(blank=False)
    known: Mapping[str, object] = {} if models is None else models.experts if kind == "expert" else models.providers
    if name is None or models is None or name in known:
        return
    listed = f"skelo.yaml names {', '.join(known)}" if known else f"skelo.yaml names no {kind}s"
    hint = suggest.near(name, known, otherwise=listed)
    found.problem(f"{kind.upper()}_UNKNOWN", f"there is no {kind} {name[:60]!r}", hint=hint)


def is_asking(node: definition.Node) -> bool:
    """Whether a node has to do with a model at all: by its own work, or by a gate that reviews."""
    return node.mode == "ai" or any(gate.type == "llm_review" for gate in (*node.pre_gates, *node.post_gates))
