"""Prints the document of a run for people: its ending, outputs, nodes, budget and open approvals."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO, TypeAlias

from openskelo.cli import json_fields, output
from openskelo.kernel import commands
from openskelo.kernel.json import Json, JsonObject

if TYPE_CHECKING:
    from openskelo.history.run_document import ApprovalDocument, NodeDocument, RunDocument

#: How much of an output is shown on a terminal.
_CHARACTERS = 2000
_LINES = 40
_COUNTED = ("steps", "tokens")

#: Writes a suggested command as the user has to type it (`project_context.CommandHint`).
WriteCommand: TypeAlias = Callable[[str], str]


def result(document: RunDocument, write_command: WriteCommand) -> None:
    """Print the end of `run`, `resume` and the like: the ending, the error, the outputs and the open approvals."""
    painter = output.Painter(sys.stdout)
    output.say(f"{_ending(document, painter)}  {painter.paint(document['runId'], 'dim')}")
    _error(document)
    _pause(document)
    _outputs(document, painter, write_command)
    _questions(document, write_command)
    _advise(document, write_command)


def full(document: RunDocument, write_command: WriteCommand, *, title: str) -> None:
    """Print what `show` prints: all of the document."""
    painter = output.Painter(sys.stdout)
    output.say(f"{painter.paint(output.one_line(title), 'bold')}  {document['runId']}")
    times = f"started {local_time(document['createdAt'])}, last changed {local_time(document['updatedAt'])}"
    output.say(f"{_ending(document, painter)}  {painter.paint(times, 'dim')}")
    _error(document)
    _pause(document)
    if document["nodes"]:
        output.say()
        _nodes(document["nodes"])
    _outputs(document, painter, write_command)
    _budget(document)
    _questions(document, write_command)
    _advise(document, write_command)


def logs(attempt_logs: Iterable[JsonObject]) -> None:
    """Print the logs of attempts, each under its node, visit, item and attempt."""
    painter = output.Painter(sys.stdout)
    for entry in attempt_logs:
        item = f" item {entry['item']}" if entry.get("item") is not None else ""
        node = painter.paint(output.one_line(str(entry["node"])), "bold")
        output.say()
        output.say(f"{node} visit {entry['visit']}{item} attempt {entry['attempt']}:")
        for line in str(entry["text"]).splitlines():
            output.say(f"  {output.clean(line)}")


def _pause(document: RunDocument) -> None:
    """Print what a person or the engine has paused the run for; a suspended run is only told to be continued."""
    reason = document.get("pauseReason")
    if reason is not None and reason != commands.SUSPENDED:
        output.say(f"  {indented(reason)}")


def _questions(document: RunDocument, write_command: WriteCommand) -> None:
    """Print the open approvals, each with the commands that answer it."""
    approvals = document["approvals"]
    if not approvals:
        return
    output.say()
    output.say(f"waiting for {'a person' if len(approvals) == 1 else f'{len(approvals)} answers'}:")
    for approval in approvals:
        question(approval, write_command)


def _advise(document: RunDocument, write_command: WriteCommand) -> None:
    """Suggest a fork from the node that has failed the run. A live graph cannot be forked, but no node can fail it."""
    error = document.get("error")
    if document["ending"] in ("failed", "escalated") and error is not None and "node" in error:
        node = error["node"]
        command = write_command(f"skelo fork {document['runId']} --from {shlex.quote(output.one_line(node))}")
        output.note(f"after fixing the cause, try again and keep what came before: {command}")


def question(approval: ApprovalDocument, write_command: WriteCommand, *, run: str = "") -> None:
    """Print one open approval with the commands that answer it; `run` names its run if the caller lists several."""
    painter = output.Painter(sys.stdout)
    node, whose = output.one_line(approval["node"]), f" ({output.one_line(run)})" if run else ""
    prompt = indented(approval["prompt"], first=4 + output.width(node + whose))
    output.say(f"  {painter.paint(node, 'bold')}{painter.paint(whose, 'dim') if whose else ''}: {prompt}")
    if "\n\n" in prompt:  # keeps the paragraphs of a prompt apart from what follows
        output.say()
    for line in approval_lines(approval, write_command, painter):
        output.say(f"    {line}")
    if approval["approvers"]:
        names = output.one_line(", ".join(approval["approvers"]))
        output.say(f"    {painter.paint(f'only for {names}', 'dim')}")
    expires = approval["expiresAt"]
    over = expires is not None and datetime.fromisoformat(expires) <= datetime.now(UTC)
    if expires is not None:
        until = f"{'expired at' if over else 'open until'} {local_time(expires)}"
        output.say(f"    {painter.paint(until, 'dim')}")
    late = [(f"skelo resume {approval['runId']}", "goes on as after a timeout")]
    for command, meaning in late if over else _answers(approval):
        output.say(f"    {write_command(command)}{painter.paint(f'   {meaning}', 'dim') if meaning else ''}")


def _answers(approval: ApprovalDocument) -> list[tuple[str, str]]:
    """Return the commands that answer an approval, with their meaning if it is not obvious."""
    approve = f"skelo approve {approval['id']}"
    deny = f"skelo deny {approval['id']} --reason …"
    match approval["kind"]:
        case "uncertain":
            values = _settings(json_fields.object_at(approval.get("work", {}), "outputs"), {})
            command = f"{approve} {values}" if values else f"echo '{{}}' | {approve} --set-file -"
            return [(approve, "do it again"), (command, "it did happen"), (deny, "count it as failed")]
        case "stalled":
            return [(approve, "go on trying"), (deny, "end the run")]
        case "call" if not approval["args"].get("question"):
            remember = (f"{approve} --for run", "allow calls like it until the run ends")
            longer = [remember] if "rule" in approval["args"] else []
            return [(approve, "allow it once"), *longer, (deny, "the agent is told why")]
        case _:
            values = _settings(approval["form"], proposed_values(approval))
            return [(f"{approve} {values}".rstrip(), ""), (deny, "")]


def _settings(form: JsonObject, known: JsonObject) -> str:
    """Return the options that fill in a form; values that are optional or `known` are in brackets."""
    options: list[str] = []
    for name, part in json_fields.object_at(form, "properties").items():
        is_needed = name in json_fields.list_at(form, "required") and name not in known
        option = f"--set {output.one_line(name)}=…"
        options.append(option if is_needed and "default" not in json_fields.as_object(part) else f"[{option}]")
    return " ".join(options)


def local_time(text: str) -> str:
    """Return a recorded time in the local time zone."""
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def indented(text: str, by: int = 4, *, first: int = 2, stream: TextIO | None = None) -> str:
    """Return a text, which begins in column `first`, with its other lines indented.

    Lines that are too long for the terminal behind `stream` (by default stdout) are broken between words.
    """
    columns = shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else None
    lines: list[str] = []
    for line in output.clean(text).strip().splitlines():
        start = by if lines else first
        if columns is None or start + output.width(line) <= columns:
            lines.append(" " * start + line if line else "")
            continue
        lines += textwrap.wrap(
            line,
            columns,
            initial_indent=" " * start,
            subsequent_indent=" " * by,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(lines)[first:]


def _ending(document: RunDocument, painter: output.Painter) -> str:
    return painter.ending(document["ending"] or document["status"])


def _error(document: RunDocument) -> None:
    error = document.get("error")
    if error is not None:
        item = f"[{error['item']}]" if "item" in error else ""
        at = f" in {output.one_line(error['node'])}{item}" if "node" in error else ""
        head = f"  {error['code']}{at}: "
        output.say(f"{head}{indented(error['message'], first=output.width(head))}")


def _outputs(document: RunDocument, painter: output.Painter, write_command: WriteCommand) -> None:
    outputs = document["outputs"]
    if not outputs:
        return
    output.say()
    size = max(map(len, outputs))
    for name, value in outputs.items():
        text, rest = _first_part(value if isinstance(value, str) else output.compact(value))
        output.say(f"  {painter.paint(output.pad(name, size), 'bold')}  {indented(text, size + 4, first=size + 4)}")
        if rest:
            command = write_command(f"skelo output {document['runId']} {output.one_line(name)}")
            whole = f"… {rest} more characters; all of it: {command}"
            output.say(f"  {' ' * size}  {painter.paint(whole, 'dim')}")


def _first_part(text: str) -> tuple[str, int]:
    """Return the first part of a long value, and how many characters are left out; in a pipe the whole value."""
    if not sys.stdout.isatty():
        return text, 0
    cut = "".join(text[:_CHARACTERS].splitlines(keepends=True)[:_LINES])
    return cut, len(text) - len(cut)


def _nodes(nodes: Mapping[str, NodeDocument]) -> None:
    """Print the nodes as a table; the calls of agents have a column if there are any."""
    has_calls = any("calls" in node for node in nodes.values())
    rows = [
        [
            key,
            output.badge(node["mode"]),
            _node_state(node),
            str(node["visits"]),
            str(node["attempts"]),
            *([str(node.get("calls", ""))] if has_calls else []),
            _first_part(output.compact(node["outputs"]))[0] if node["outputs"] is not None else "",
        ]
        for key, node in nodes.items()
    ]
    calls = ["calls"] if has_calls else []
    output.table(["node", "mode", "outcome", "visits", "attempts", *calls, "outputs"], rows)


def _node_state(node: NodeDocument) -> str:
    """Return the outcome of a node or its status; a node that was entered and is idle is waiting."""
    if node["outcome"]:
        items = node.get("items", {})
        counts = {name: items.get(name) for name in ("kept", "failed")}
        remarks = [
            f"{output.count(number, 'item')} {name}" for name, number in counts.items() if isinstance(number, int)
        ]
        if remarks:
            return f"{node['outcome']} ({', '.join(remarks)})"
        return node["outcome"]
    if node["status"] != "idle" or not node["visits"]:
        return node["status"]
    if "retryAt" in node:
        return f"waiting until {local_time(node['retryAt'])}"
    return "waiting"


def _amount(value: float) -> str:
    if isinstance(value, float):
        return output.dollars(value)
    return str(value)


def _used_amount(noun: str, used: float, limit: float | None) -> str:
    amount, last = _amount(used), used
    if limit is not None:
        amount, last = f"{amount} of {_amount(limit)}", limit
    if last == 1 and noun in _COUNTED:
        noun = noun.removesuffix("s")
    return f"{amount} {noun}"


def _budget(document: RunDocument) -> None:
    words: list[str] = []
    budget = document["budget"]
    amounts = {
        "steps": budget["steps"],
        "tokens": budget["tokens"],
        "USD": budget["costUsd"],
        "ms of wall time": budget["wallMs"],
        "USD for tools": budget["toolSpendUsd"],
    }
    for noun, amount in amounts.items():
        if amount["used"] or amount["limit"] is not None:
            words.append(_used_amount(noun, amount["used"], amount["limit"]))
        if amount.get("unknown"):
            words.append("and USD that are not known (an agent with its own log-in)")
    if words:
        output.say()
        output.say(f"used {', '.join(words)}")


#: How many columns of a value are shown.
_VALUE_COLUMNS = 200
#: How much of a text among the details is shown.
_DETAIL_CHARACTERS = 4000
_DETAIL_LINES = 40


def approval_lines(approval: ApprovalDocument, write_command: WriteCommand, painter: output.Painter) -> list[str]:
    """Return the lines to show under the prompt of an approval: the work that it allows, or the details of a plan."""
    if lines := _work_lines(approval, painter):
        return lines
    lines, are_complete = _value_lines(_call_values(approval) or _ask_human_values(approval), painter)
    if not are_complete:
        command = write_command(f"skelo approvals {approval['runId']} --json")
        lines.append(painter.paint(f"not all of it is shown: {command}", "dim"))
    return lines


def proposed_values(approval: ApprovalDocument) -> JsonObject:
    """Return the values that count if a person approves without changing any: what was asked, or a call's arguments.

    They are empty for a question of a plan or of an agent, because its answer consists of new values.
    """
    args = approval["args"]
    if approval["kind"] == "call":
        if args.get("question"):
            return {}
        return json_fields.object_at(args, "arguments")
    return {} if approval["kind"] == "ask_human" else args


def _work_lines(approval: ApprovalDocument, painter: output.Painter) -> list[str]:
    """Return the work that an approval allows: its executor and its inputs; no lines for other questions."""
    work = approval.get("work")
    if not work:
        return []
    inputs = work.get("inputs", approval["args"])
    values: dict[str, Json] = dict(inputs) if isinstance(inputs, Mapping) else {"": inputs}
    if "item" in work:
        values["item"] = work["item"]
    size = max(map(output.width, values), default=0)
    config = json_fields.object_at(work, "config")
    lines = [f"{painter.paint('done by', 'dim')} {output.one_line(str(work.get('by')))}"]
    lines += [f"{painter.paint('config ', 'dim')} {output.compact(config, _VALUE_COLUMNS)}"] if config else []
    for number, (name, value) in enumerate(values.items()):
        head = painter.paint("given  " if not number else "       ", "dim")
        lines.append(
            f"{head} {output.pad(output.one_line(name), size)}  {output.compact(value, _VALUE_COLUMNS)}".rstrip()
        )
    if "items" in work:
        items = json_fields.list_at(work, "items")
        items_text = f"{output.count(len(items), 'item')}  {output.compact(items, _VALUE_COLUMNS)}"
        lines.append(f"{painter.paint('for    ', 'dim')} {items_text}")
    return lines


def _call_values(approval: ApprovalDocument) -> JsonObject:
    """Return an agent's call: its tool, why it is asked about, and its arguments, an edit as a diff."""
    args = approval["args"]
    if approval["kind"] != "call" or args.get("question"):
        return {}
    shown_fields: dict[str, Json] = {"tool": args.get("tool"), "kind": args.get("kind"), "why": args.get("why")}
    if args.get("unreadable"):
        shown_fields["arguments"] = "could not be read"
    elif "diff" in args:
        shown_fields["diff"] = args["diff"]
    else:
        shown_fields |= json_fields.object_at(args, "arguments")
    if "rule" in args:
        shown_fields["like it"] = _rule_words(json_fields.object_at(args, "rule"))
    return shown_fields


def _rule_words(rule: JsonObject) -> str:
    """Return which calls an approval for longer than once would allow."""
    if "command" in rule:
        more = f", with {json.dumps(rule['with'])}" if "with" in rule else ""
        return f"the same command again: {rule['command']}{more}"
    if "paths" in rule:
        return f"changes of {', '.join(map(str, json_fields.list_at(rule, 'paths')))}"
    return f"calls of {rule.get('tool')}, with any arguments"


def _ask_human_values(approval: ApprovalDocument) -> JsonObject:
    """Return the details of an ask_human by their names."""
    args = approval["args"]
    if approval["kind"] != "ask_human" or "details" not in args:
        return {}
    details = args["details"]
    return details if isinstance(details, Mapping) else {"details": details}


def _value_lines(values: JsonObject, painter: output.Painter) -> tuple[list[str], bool]:
    """Return values under their names, texts as they are and others as JSON, and whether nothing was left out."""
    names = {name: output.one_line(name, _VALUE_COLUMNS) for name in values}
    size = max(map(output.width, names.values()), default=0)
    lines: list[str] = []
    complete = True
    for name, value in values.items():
        (first, *more), is_complete = _detail_lines(value)
        if name == "diff":
            first, more = _paint_diff(first, painter), [_paint_diff(line, painter) for line in more]
        lines.append(f"{painter.paint(output.pad(names[name], size), 'dim')}  {first}".rstrip())
        lines += [f"{' ' * size}  {line}".rstrip() for line in more]
        complete = complete and is_complete
    return lines, complete


def _paint_diff(line: str, painter: output.Painter) -> str:
    """Return a line of a diff in green if it is added, in red if it is removed."""
    if line.startswith(("+++", "---", "@@")):
        return painter.paint(line, "dim")
    if line.startswith(("+", "-")):
        return painter.paint(line, "green" if line.startswith("+") else "red")
    return line


def _detail_lines(value: Json) -> tuple[list[str], bool]:
    """Return a value as one or more lines, and whether they are all of it; otherwise the last line is …"""
    if not isinstance(value, str):
        line = output.compact(value, _VALUE_COLUMNS)
        return [line], line == output.compact(value)
    text = value.rstrip("\n")
    shown_lines = text[:_DETAIL_CHARACTERS].split("\n")[:_DETAIL_LINES]
    complete = len("\n".join(shown_lines)) == len(text)
    return [*map(output.clean, shown_lines), *([] if complete else ["…"])], complete
