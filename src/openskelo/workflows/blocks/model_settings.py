"""The model settings of an ai block: expert or provider, parameters, prompt, and the folder with its prompt.

The settings are checked here and kept under the author's names; `workflows.pinning` later replaces an expert's name by
its provider and parameters. The files of `block_dir` (role.md, rules.md, task.md and context/*.md) are read when the
file is loaded and pinned in the workflow, so that a later change of them does not reach a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from openskelo import agent_settings, files, gates
from openskelo.agent_settings import AgentsConfig
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.providers import config
from openskelo.structs import replace
from openskelo.values import suggestions
from openskelo.workflows.blocks import expression_scope, handlers
from openskelo.workflows.project import agents as agent_sections
from openskelo.workflows.text import cursor, positions, problems

#: How often an answer that breaks the contract is asked for again, unless the block says otherwise.
DEFAULT_REPAIRS = 1
MAX_REPAIRS = 3
_MAX_TOKENS = 10_000_000

#: The files of `block_dir` that may hold `{{ CEL }}`; those in `context/` are shown as they are.
PROMPT_PARTS = ("role.md", "rules.md", "task.md")
_CONTEXT = "context"
_MAX_FILE_BYTES = 128 * 1024
_MAX_FOLDER_CHARACTERS = 512 * 1024
_MAX_CONTEXT_FILES = 100

#: Keys that only an ai block may have, beside `prompt`.
KEYS = frozenset(
    {"expert", "agent", "block_dir", "provider", "model", "model_params", "system", "temperature", "top_p"}
    | {"max_tokens", "seed", "stop", "contract_repair_attempts"}
)


def read(
    node: definition.Node, fields: cursor.Fields, folders: handlers.Folders | None, models: config.Config | None
) -> JsonObject:
    """Return the checked model settings of a block by the author's keys; the files of its folder are `pinned`."""
    settings = {key: value for key, value in fields.value.items() if key in KEYS or key == "prompt"}
    _check_values(fields)
    _check_expert(fields, models)
    pins = _read_prompt(node, fields, folders)
    return {**settings, "pinned": pins} if pins else settings


def read_agent(
    node: definition.Node, fields: cursor.Fields, folders: handlers.Folders | None, agents: AgentsConfig | None
) -> JsonObject:
    """Return the checked settings of a block with an agent; the agent and the files of its folder are `pinned`."""
    settings = {key: value for key, value in fields.value.items() if key in KEYS or key == "prompt"}
    pins = _read_prompt(node, fields, folders)
    place = fields.get("agent")
    agent = None if place is None else agent_sections.read_block(place, agents)
    if agent is not None:
        pins["agent"] = agent_settings.encode(agent)
    return {**settings, "pinned": pins} if pins else settings


def _read_prompt(node: definition.Node, fields: cursor.Fields, folders: handlers.Folders | None) -> dict[str, Json]:
    """Check the prompt of a block; return the files of its folder as `files`, nothing without a folder."""
    variables: dict[str, JsonObject | None] = {
        "inputs": expression_scope.of_ports(node.inputs),
        "run": expression_scope.RUN,
    }
    if node.foreach is not None:
        variables[node.foreach.name] = None
    if (prompt := fields.get("prompt")) is not None:
        expression_scope.check_template(prompt, variables)
    folder = fields.get("block_dir")
    contents = {} if folder is None else _read_folder(folder, folders, variables)
    return {"files": contents} if contents else {}


def repairs(fields: cursor.Fields) -> int:
    """Return how often in one visit an answer that breaks the contract is asked for again at once."""
    return fields.integer("contract_repair_attempts", DEFAULT_REPAIRS, 0, MAX_REPAIRS)


def _check_values(fields: cursor.Fields) -> None:
    fields.integer("max_tokens", 1, 1, _MAX_TOKENS)
    fields.number("temperature", 0, 0, 2)
    fields.number("top_p", 1, 0, 1)
    fields.integer("seed", 0, 0, 2**53)
    fields.texts("stop")
    for key in ("model", "system"):
        if (place := fields.get(key)) is not None:
            place.text(blank=False)
    if (extras := fields.get("model_params")) is not None:
        extras.fields()
        names: Mapping[str, Json] = extras.value if isinstance(extras.value, Mapping) else {}
        for name in sorted(names.keys() & config.RESERVED_PARAMETERS):
            message = f"`model_params` cannot set {name!r}"
            extras.at(name, None).key_problem("MODEL_PARAM_RESERVED", message, hint=config.RESERVED_HINT)


def check_reviews(fields: cursor.Fields, models: config.Config | None) -> None:
    """Report review gates that name an expert or a provider which the project does not have."""
    for side in ("pre_gates", "post_gates"):
        section = fields.get(side)
        if section is None or not isinstance(section.value, list):
            continue
        for entry in section.items() or []:
            gate = entry.value
            if isinstance(gate, Mapping) and gates.asks_model(gate.get("type")):
                _check_expert(cursor.Fields(entry, gate), models)


def _check_expert(fields: cursor.Fields, models: config.Config | None) -> None:
    """Report an expert or a provider that the project does not have, or that neither is named."""
    expert, provider = fields.get("expert"), fields.get("provider")
    if expert is not None:
        _check_name(expert, "expert", None if models is None else models.experts)
    if provider is not None:
        _check_name(provider, "provider", None if models is None else models.providers)
    if expert is None and provider is None and models is not None and models.default_expert is None:
        hint = "name an `expert`, or set default_expert in skelo.yaml"
        fields.cursor.problem(
            "EXPERT_MISSING", "this names no expert, and the project has no default expert", hint=hint
        )


def _check_name(place: cursor.Cursor, kind: str, known: Mapping[str, object] | None) -> None:
    """Report an unknown name; without `known` the caller passes its own models, and any name may be right."""
    name = place.text(blank=False)
    if name is None or known is None or name in known:
        return
    known_list = f"known: {', '.join(known)}" if known else f"declare it under `{kind}s` in skelo.yaml"
    hint = problems.did_you_mean(name, known, otherwise=known_list)
    place.problem(f"{kind.upper()}_UNKNOWN", f"there is no {kind} {name[:60]!r}", hint=hint)


def calls_model(node: definition.Node) -> bool:
    """True if a node calls a model: for its own work, or for a gate that reviews."""
    return node.work.calls_model or any(gates.asks_model(gate.type) for gate in (*node.pre_gates, *node.post_gates))


def _read_folder(
    place: cursor.Cursor, folders: handlers.Folders | None, variables: expression_scope.Variables
) -> dict[str, Json]:
    """Return the content of the files of `block_dir` by their names in it; nothing after a Problem."""
    text = place.text(blank=False)
    if text is None:
        return {}
    if folders is None:
        place.problem("BLOCK_DIR_INVALID", "a block folder needs a project", hint="pass `root`")
        return {}
    outside = _reason_against_reading(text, folders)
    if outside is not None:
        place.problem("BLOCK_DIR_INVALID", f"{text[:80]!r} {outside}", hint="name another folder of the project")
        return {}
    folder = folders.root / text
    if not folder.is_dir():
        hint = problems.similar_path(folder, text, accept=Path.is_dir)
        place.problem("BLOCK_DIR_NOT_FOUND", f"there is no folder {text[:80]!r} in the project", hint=hint)
        return {}
    parts = {name: _read_part(place, folders, f"{text.rstrip('/')}/{name}") for name in _list_parts(place, folder)}
    if not parts:
        hint = f"it may hold {', '.join(PROMPT_PARTS)} and {_CONTEXT}/*.md"
        place.problem("BLOCK_DIR_EMPTY", f"the folder {text[:80]!r} holds no part of a prompt", hint=hint)
    if sum(map(len, parts.values())) > _MAX_FOLDER_CHARACTERS:
        place.problem(
            "BLOCK_DIR_TOO_LARGE", f"the files of {text[:80]!r} have more than {_MAX_FOLDER_CHARACTERS} characters"
        )
        return {}
    for name in PROMPT_PARTS:
        if name in parts:
            _check_part(place, str(folder / name), parts[name], variables)
    return {**parts}


def _list_parts(place: cursor.Cursor, folder: Path) -> list[str]:
    """Return the names of the files to read, in order; warn about a file that looks like a part of the prompt."""
    try:
        names = sorted(entry.name for entry in folder.iterdir())
        context = sorted(path.name for path in (folder / _CONTEXT).glob("*.md"))
    except OSError as error:
        place.problem("BLOCK_DIR_INVALID", f"the folder cannot be read: {error.strerror}")
        return []
    for name in names:
        if name.endswith(".md") and name not in (*PROMPT_PARTS, "README.md"):
            hint = suggestions.did_you_mean(
                name, PROMPT_PARTS, otherwise=f"parts are {', '.join(PROMPT_PARTS)} and {_CONTEXT}/*.md"
            )
            place.warn("BLOCK_DIR_UNUSED", f"{name[:60]!r} is not a part of the prompt and is not read", hint=hint)
    if len(context) > _MAX_CONTEXT_FILES:
        place.problem("BLOCK_DIR_TOO_LARGE", f"more than {_MAX_CONTEXT_FILES} files in {_CONTEXT}/")
        return []
    return [*(name for name in PROMPT_PARTS if name in names), *(f"{_CONTEXT}/{name}" for name in context)]


def _reason_against_reading(path: str, folders: handlers.Folders) -> str | None:
    """Return why a file or folder that `block_dir` leads to is not read; None when it is."""
    outside = handlers.outside(path, folders.root)
    return outside or folders.reason_against_reading((folders.root / path).resolve())


def _read_part(place: cursor.Cursor, folders: handlers.Folders, path: str) -> str:
    outside = _reason_against_reading(path, folders)
    if outside is not None:
        place.problem("BLOCK_DIR_INVALID", f"{path[:80]!r} {outside}")
        return ""
    try:
        with files.open_plain(folders.root / path) as file:
            data = file.read(_MAX_FILE_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        place.problem("BLOCK_DIR_INVALID", f"{path[:80]!r} cannot be read: {error.strerror}")
        return ""
    except UnicodeDecodeError:
        place.problem("NOT_UTF8", f"{path[:80]!r} is not UTF-8", hint="save it as UTF-8")
        return ""
    if len(data) > _MAX_FILE_BYTES:
        place.problem("BLOCK_DIR_TOO_LARGE", f"{path[:80]!r} is larger than {_MAX_FILE_BYTES} bytes")
        return ""
    return text


def _check_part(place: cursor.Cursor, file: str, text: str, variables: expression_scope.Variables) -> None:
    """Report what is wrong with a part as Problems of that file."""
    report = problems.Report(file=file, positions=positions.Position(line=1, column=1, text_line=1))
    expression_scope.check_template(cursor.Cursor(text, (), report), variables)
    place.report.include(report.problems())
    place.report.run_reads += [replace(read, path=place.path, position=None) for read in report.run_reads]
