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
    _check_asked(fields, models)
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
    """Whom review gates ask has to be there, too."""
    for side in ("pre_gates", "post_gates"):
        found = fields.get(side)
        if found is None or not isinstance(found.value, list):
            continue
        for entry in found.items() or []:
            gate = entry.value
            if isinstance(gate, Mapping) and gate.get("type") == "llm_review":
                _check_asked(cursor.Fields(entry, gate), models)


def _check_asked(fields: cursor.Fields, models: config.Config | None) -> None:
    """Report an expert or a provider that the project does not have, and a question to nobody."""
    expert, provider = fields.get("expert"), fields.get("provider")
    if expert is not None:
        _check_name(expert, "expert", None if models is None else models.experts)
    if provider is not None:
        _check_name(provider, "provider", None if models is None else models.providers)
    if expert is None and provider is None and models is not None and models.default_expert is None:
        hint = "name an `expert`, or set default_expert in skelo.yaml"
        fields.cursor.problem("EXPERT_MISSING", "no expert is named, and the project has no default", hint=hint)


def _check_name(found: cursor.Cursor, kind: str, known: Mapping[str, object] | None) -> None:
    """`known` None: the caller brings its own, and any name may be one of them."""
    name = found.text(blank=False)
    if name is None or known is None or name in known:
        return
    listed = f"known: {', '.join(known)}" if known else f"declare it under `{kind}s` in skelo.yaml"
    hint = suggest.near(name, known, otherwise=listed)
    found.problem(f"{kind.upper()}_UNKNOWN", f"there is no {kind} {name[:60]!r}", hint=hint)


def is_asking(node: definition.Node) -> bool:
    """Whether a node has to do with a model at all: by its own work, or by a gate that reviews."""
    return node.mode == "ai" or any(gate.type == "llm_review" for gate in (*node.pre_gates, *node.post_gates))
