"""Approvals answered from the command line: in a pipe, from another process, and at a terminal."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from datetime import UTC, datetime

import pytest

import openskelo
from openskelo.engine import api as engine_api
from openskelo.kernel.json import JsonObject
from openskelo.workflows import live_graph
from tests.cli.conftest import Skelo
from tests.cli.terminals import Terminal

REVIEW = """\
name: review
inputs:
  title: string
blocks:
  - id: ask
    mode: approval
    inputs: {title: {type: string, from: inputs.title}}
    outputs: {title: string, approved: boolean, by: string}
    approval:
      prompt: "Publish {{ inputs.title }}?"
      on_deny: continue
      form:
        type: object
        properties:
          title: {type: string, minLength: 3, description: The title as it will be}
          copies: {type: integer, minimum: 1, default: 1}
          loud: {type: boolean}
  - id: say
    mode: deterministic
    inputs:
      title: {type: string, from: ask.title}
      approved: {type: boolean, from: ask.approved}
    outputs: {text: string}
    deterministic:
      handler: builtin:transform
      config: {map: {text: "inputs.approved ? inputs.title : 'nothing'"}}
outputs: {text: say.text}
"""

ADD = """\
blocks:
  - id: add
    mode: deterministic
    inputs: {n: {type: integer, from: inputs.n}, m: {type: integer, from: inputs.m}}
    outputs: {sum: integer}
    deterministic: {handler: builtin:transform, config: {map: {sum: inputs.n + inputs.m}}}
"""


def _pause(skelo: Skelo) -> str:
    """Start the run in a pipe, where it must stop, and give the id of its question."""
    skelo.write("review.yaml", REVIEW)
    paused = skelo("run", "review.yaml", "--input", "title=Bees", "--json")
    assert (paused.code, paused.document["status"], paused.document["ending"]) == (3, "paused", None)
    (approval,) = paused.document["approvals"]
    assert {key: approval[key] for key in ("node", "prompt", "args")} == {
        "node": "ask",
        "prompt": "Publish Bees?",
        "args": {"title": "Bees"},
    }
    return approval["id"]


def test_an_approval_whose_time_is_up_is_not_answered_and_its_run_is_left_as_it_is(skelo: Skelo) -> None:
    skelo.write("review.yaml", REVIEW.replace("on_deny: continue", "timeout_ms: 2000"))
    paused = skelo("run", "review.yaml", "--input", "title=Bees", "--json").document
    (approval,) = paused["approvals"]
    while datetime.fromisoformat(approval["expiresAt"]) >= datetime.now(UTC):
        time.sleep(0.05)
    for shown in (skelo("approvals").out, skelo("show", "last").out):
        assert "open until" not in shown
        assert "    expired at " in shown
        assert f"    skelo resume {paused['runId'][:8]}   goes on as after a timeout\n" in shown
    late = skelo("approve", approval["id"], "--json")
    assert (late.code, late.document["error"]["code"]) == (2, "APPROVAL_EXPIRED")
    assert skelo("show", "last", "--json").document["status"] == "paused"
    assert skelo("resume", "last", "--json").document["ending"] == "denied"
    assert skelo("approvals", "--json").document == {"approvals": []}


def test_a_pipe_stops_at_a_question_and_names_the_commands_that_answer(skelo: Skelo) -> None:
    skelo.write("review.yaml", REVIEW)
    result = skelo("run", "review.yaml", "--input", "title=Bees")
    assert result.code == 3
    assert "  ask: Publish Bees?\n" in result.out
    assert "    skelo approve " in result.out
    assert "[--set title=…] [--set copies=…] [--set loud=…]\n" in result.out
    assert "--reason …\n" in result.out


def test_an_empty_line_ends_a_prompt_of_several_paragraphs(skelo: Skelo) -> None:
    skelo.write(
        "review.yaml", REVIEW.replace('"Publish {{ inputs.title }}?"', '"Publish?\\n\\n- {{ inputs.title }}\\n"')
    )
    result = skelo("run", "review.yaml", "--input", "title=Bees")
    assert "  ask: Publish?\n\n    - Bees\n\n    skelo approve " in result.out


def test_what_must_be_given_to_say_yes_is_not_in_brackets(skelo: Skelo) -> None:
    skelo.write("review.yaml", REVIEW.replace("        type: object\n", "        required: [title, copies, loud]\n"))
    result = skelo("run", "review.yaml", "--input", "title=Bees")
    assert "[--set title=…] [--set copies=…] --set loud=…\n" in result.out


ONCE = """\
name: once
blocks:
  - id: pay
    mode: deterministic
    effect: once
    inputs: {amount: integer, to: string}
    outputs: {paid: integer}
    deterministic:
      handler: builtin:transform
      config: {map: {paid: inputs.amount}}
"""


def test_a_question_before_an_effect_says_who_would_do_what(skelo: Skelo) -> None:
    skelo.write("once.yaml", ONCE)
    words = ("run", "once.yaml", "--mode", "interactive", "--input", "amount=7")
    paused = skelo(*words, "--input", f"to=Grace {'x' * 500}")
    shown = (
        "    done by builtin:transform\n"
        '    config  {"map":{"paid":"inputs.amount"}}\n'
        "    given   amount  7\n"
        f'            to      "Grace {"x" * 192}…\n'
    )
    assert paused.code == 3
    assert f"  pay: Let pay act (builtin:transform)? It cannot be undone.\n{shown}" in paused.out
    assert shown in skelo("approvals").out
    terminal = Terminal(skelo.folder, *words, "--input", "to=Grace")
    terminal.until("done by builtin:transform")
    terminal.until("given   amount  7")
    terminal.until('to      "Grace"')
    terminal.until("Your answer")
    terminal.type("approve")
    assert terminal.end() == 0


DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\x1b[2J\n+new\n"
PLAN = """\
plan_id: round
inputs: {diff: ""}
steps:
  - id: ask
    op: ask_human
    args:
      request: {message: Take it?, details: {diff: "input:diff", round: 2, tests: {failed: [], ran: 7}}}
      answer: {message: string}
    save_as: said
  - {id: end, op: emit, args: {result_ref: "var:said.message"}}
"""


def test_the_details_of_a_question_are_shown_with_it(skelo: Skelo) -> None:
    skelo.write("round.yaml", PLAN)
    skelo.write("x.diff", DIFF)
    words = ("run", "round.yaml", "--input", "diff=@x.diff")
    paused = skelo(*words)
    question = (
        "  ask{whose}: Take it?\n"
        "    diff   --- a/x\n"
        "           +++ b/x\n"
        "           @@ -1 +1 @@\n"
        "           -old\\u001b[2J\n"
        "           +new\n"
        "    round  2\n"
        '    tests  {{"failed":[],"ran":7}}\n'
        "    skelo approve {id} --set message=…\n"
    )
    (approval,) = skelo("approvals", "--json").document["approvals"]
    assert paused.code == 3
    assert question.format(whose="", id=approval["id"][:8]) in paused.out
    assert question.format(whose="", id=approval["id"][:8]) in skelo("show", "last").out
    whose = f" (round, run {approval['runId'][:8]})"
    assert question.format(whose=whose, id=approval["id"][:8]) in skelo("approvals").out
    terminal = Terminal(skelo.folder, *words)
    for shown in ("Take it?", "diff   --- a/x", "-old\\u001b[2J", "round  2", 'tests  {"failed":[]', "Your answer"):
        terminal.until(shown)
    terminal.type("approve")  # what the question says is not an answer to it
    terminal.until("message (string): ")
    terminal.type("yes")
    assert terminal.end() == 0
    assert skelo("output", "last", "result").out == "yes\n"


def test_long_details_are_shortened_and_can_be_had_whole(skelo: Skelo) -> None:
    skelo.write("round.yaml", PLAN)
    diff = "".join(f"+line {number}\n" for number in range(10_000))
    skelo.write("x.diff", diff)
    paused = skelo("run", "round.yaml", "--input", "diff=@x.diff")
    (approval,) = skelo("approvals", "--json").document["approvals"]
    assert (
        "    diff   +line 0\n"
        + "".join(f"           +line {number}\n" for number in range(1, 40))
        + "           …\n"
        + "    round  2\n"
        + '    tests  {"failed":[],"ran":7}\n'
        + f"    not all of it is shown: skelo approvals {approval['runId'][:8]} --json\n"
    ) in paused.out
    assert approval["args"]["details"]["diff"] == diff
    (shown,) = skelo("show", "last", "--json").document["approvals"]
    assert shown["args"] == approval["args"]


def test_work_that_did_happen_is_told_output_by_output(skelo: Skelo) -> None:
    skelo.write("cut.yaml", CUT)
    skelo.write(
        "pay.py", 'import os\ndef handler(ctx):\n    os.kill(os.getppid(), 9)\n    __import__("time").sleep(9)\n'
    )
    skelo("run", "cut.yaml", "--input", "amount=7")
    resumed = Terminal(skelo.folder, "resume", "last")
    resumed.until("done by pay.py")
    resumed.until("given   amount  7")
    resumed.until("Your answer")
    resumed.type("happened")
    resumed.until("reference (string): ")
    resumed.type("A-17")
    resumed.until("fee (integer): ")
    resumed.type("2")
    resumed.until("note (string) [leave out]: ")
    resumed.type("")
    assert resumed.end() == 0
    assert skelo("show", "last", "--json").document["outputs"] == {"reference": "A-17", "fee": 2}


CUT = """\
name: cut
blocks:
  - id: pay
    mode: deterministic
    effect: once
    inputs: {amount: integer}
    outputs: {reference: string, fee: integer, note: {type: string, required: false}}
    deterministic: {handler: pay.py}
"""


def test_cut_work_without_outputs_can_have_happened(skelo: Skelo) -> None:
    skelo.write(
        "cut.yaml", CUT.replace("{reference: string, fee: integer, note: {type: string, required: false}}", "{}")
    )
    skelo.write(
        "pay.py", 'import os\ndef handler(ctx):\n    os.kill(os.getppid(), 9)\n    __import__("time").sleep(9)\n'
    )
    skelo("run", "cut.yaml", "--input", "amount=7")
    paused = skelo("resume", "last")
    (approval,) = skelo("approvals", "last", "--json").document["approvals"]
    assert f"    echo '{{}}' | skelo approve {approval['id'][:8]} --set-file -   it did happen\n" in paused.out
    skelo.write("none.json", "{}")
    happened = skelo("approve", approval["id"], "--set-file", "none.json", "--json")
    assert (happened.code, happened.document["nodes"]["pay"]["attempts"]) == (0, 1)


LONG = """\
name: long
inputs: {text: string, numbers: "integer[]"}
blocks:
  - id: pass
    mode: deterministic
    inputs: {text: {type: string, from: inputs.text}, numbers: {type: "integer[]", from: inputs.numbers}}
    outputs: {text: string, numbers: "integer[]"}
    deterministic: {handler: builtin:pass}
"""


@pytest.mark.parametrize("command", ["run", "show"])
def test_a_terminal_shows_the_beginning_of_large_outputs_and_says_how_to_get_all(skelo: Skelo, command: str) -> None:
    skelo.write("long.yaml", LONG)
    lines = "".join(f"line {number}\n" for number in range(100))
    skelo.write("in.json", json.dumps({"text": lines, "numbers": [7] * 2000}))
    whole = skelo("run", "long.yaml", "--inputs", "in.json")
    assert ("line 99\n" in whole.out, "[" + "7," * 1999 + "7]" in whole.out) == (True, True)  # nothing is cut in a pipe
    words = ("run", "long.yaml", "--inputs", "in.json") if command == "run" else ("show", "last")
    terminal = Terminal(skelo.folder, *words)
    assert terminal.end() == 0
    run_id = skelo("show", "last", "--json").document["runId"]
    seen = terminal.seen.replace("\r\n", "\n")
    assert ("line 39\n" in seen, "line 40\n" in seen) == (True, False)
    assert f"… {len(lines) - 310} more characters; all of it: skelo output {run_id[:8]} text\n" in seen
    assert "[" + "7," * 999 + "7\n" in seen
    assert f"… 2001 more characters; all of it: skelo output {run_id[:8]} numbers\n" in seen
    assert skelo("output", "last", "text").out == lines + "\n"


def test_outputs_are_printed_in_the_order_in_which_they_were_declared(skelo: Skelo) -> None:
    declared = "{who: ask.by, text: say.text, approved: ask.approved, always: inputs.title}"
    skelo.write("review.yaml", REVIEW.replace("{text: say.text}", declared))
    paused = skelo("run", "review.yaml", "--input", "title=Bees", "--json").document
    approved = skelo("approve", paused["approvals"][0]["id"], "--json")
    assert approved.code == 0
    wanted = ["who", "text", "approved", "always"]
    for found in (
        approved.document["outputs"],
        skelo("show", "last", "--json").document["outputs"],
        skelo("output", "last").document,
    ):
        assert list(found) == wanted
    shown = [line.split()[0] for line in skelo("show", "last").out.splitlines() if line.startswith("  ")]
    assert shown == wanted
    assert skelo("verify", "last").code == 0


def test_approve_goes_on_and_exits_with_the_runs_code(skelo: Skelo) -> None:
    approval = _pause(skelo)
    listed = skelo("approvals", "--json").document["approvals"]
    assert [entry["id"] for entry in listed] == [approval]
    answered = skelo("approve", approval[:8], "--json")
    assert (answered.code, answered.document["outputs"]) == (0, {"text": "Bees"})
    assert answered.document["nodes"]["ask"]["outputs"]["approved"] is True
    assert skelo("approvals", "--json").document == {"approvals": []}
    again = skelo("approve", approval, "--json")
    assert (again.code, again.document["error"]["code"]) == (2, "APPROVAL_NOT_FOUND")


def test_last_names_the_only_open_approval(skelo: Skelo) -> None:
    none = skelo("approve", "last", "--json")
    assert (none.code, none.document["error"]["code"]) == (2, "RUN_NOT_FOUND")
    _pause(skelo)
    answered = skelo("approve", "last", "--json")
    assert (answered.code, answered.document["outputs"]) == (0, {"text": "Bees"})
    again = skelo("deny", "last", "--reason", "late", "--json")
    assert (again.code, again.document["error"]["code"]) == (2, "APPROVAL_NOT_FOUND")


def test_last_is_refused_while_several_approvals_are_open(skelo: Skelo) -> None:
    first, second = _pause(skelo), _pause(skelo)
    refused = skelo("deny", "last", "--reason", "which?", "--json")
    error = refused.document["error"]
    assert (refused.code, error["code"]) == (2, "APPROVAL_AMBIGUOUS")
    assert error["hint"] == f"name one by its id: {second[:8]} (ask), {first[:8]} (ask)"
    assert [entry["id"] for entry in skelo("approvals", "--json").document["approvals"]] == [first, second]


def test_approve_does_not_end_the_pause_of_a_person(skelo: Skelo) -> None:
    approval = _pause(skelo)

    async def pause() -> None:
        async with await openskelo.Engine.open(openskelo.project_at(skelo.folder)) as engine:
            (row,) = await engine.store.list_runs()
            await engine.pause(row.run_id, by="ann")

    asyncio.run(pause())
    held = skelo("approve", approval, "--json")
    assert (held.code, held.document["status"], held.document["approvals"]) == (3, "paused", [])
    assert (held.document["nodes"]["ask"]["outcome"], held.document["nodes"]["say"]["attempts"]) == ("succeeded", 0)
    gone_on = skelo("resume", "last", "--json")
    assert (gone_on.code, gone_on.document["outputs"]) == (0, {"text": "Bees"})


def test_changed_values_are_checked_by_the_form(skelo: Skelo) -> None:
    approval = _pause(skelo)
    for pair in ("title=B", "copies=0", "copies=many", "other=1"):
        refused = skelo("approve", approval, "--set", pair, "--json")
        assert (refused.code, list(refused.document)) == (2, ["error"])
    changed = skelo("approve", approval, "--set", "title=Wasps", "--json")
    assert (changed.code, changed.document["outputs"]) == (0, {"text": "Wasps"})


def test_a_run_that_was_suspended_at_its_question_goes_on_when_answered(skelo: Skelo) -> None:
    skelo.write("review.yaml", REVIEW)
    terminal = Terminal(skelo.folder, "run", "review.yaml", "--input", "title=Bees")
    terminal.until("Your answer")
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.end() == 3
    (approval,) = skelo("approvals", "last", "--json").document["approvals"]
    answered = skelo("approve", approval["id"], "--json")
    assert (answered.code, answered.document["ending"]) == (0, "ok")


def test_deny_needs_a_reason_and_lets_the_run_do_what_it_does_then(skelo: Skelo) -> None:
    approval = _pause(skelo)
    assert skelo("deny", approval, "--json").document["error"]["code"] == "USAGE"
    denied = skelo("deny", approval, "--reason", "no bees", "--json")
    assert (denied.code, denied.document["outputs"]) == (0, {"text": "nothing"})


def test_a_terminal_asks_for_inputs_and_answers_by_their_schema(skelo: Skelo) -> None:
    skelo.write("review.yaml", REVIEW)
    terminal = Terminal(skelo.folder, "run", "review.yaml")
    terminal.until("title (string): ")
    terminal.type("Bees")
    terminal.until("Publish Bees?")
    terminal.until("Your answer (approve, deny, modify, later): ")
    terminal.type("what")
    terminal.until("say yes with other values")
    terminal.until("Your answer")
    terminal.type("modify")
    terminal.until("The title as it will be")
    terminal.until('title (string) ["Bees"]: ')
    terminal.type("B")
    terminal.until("title (string)")
    terminal.type("Wasps")
    terminal.until("copies (integer) [1]: ")
    terminal.type("several")
    terminal.until("copies wants integer")
    terminal.until("copies (integer) [1]: ")
    terminal.type("")
    terminal.until("loud (yes or no) [leave out]: ")
    terminal.type("y")
    assert terminal.end() == 0
    assert "HUMAN" in terminal.seen
    assert "2 of 2 done" in terminal.seen
    assert "Traceback" not in terminal.seen
    assert skelo("output", "last", "text").out == "Wasps\n"


def test_a_long_question_is_broken_between_words_at_the_width_of_the_terminal(skelo: Skelo) -> None:
    words = " ".join(["bees"] * 30)
    skelo.write(
        "review.yaml", REVIEW.replace("Publish {{ inputs.title }}?", f"{words}?\\n\\n  Publish {{{{ inputs.title }}}}?")
    )
    terminal = Terminal(skelo.folder, "run", "review.yaml", "--input", "title=Bees", env={"COLUMNS": "42"})
    terminal.until("Your answer (")
    terminal.type("later")
    assert terminal.end() == 3
    lines = terminal.seen.replace("\r\n", "\n").split("\n")
    asked = lines.index("? ask asks:")
    eight, six = " ".join(["bees"] * 8), " ".join(["bees"] * 6)
    assert lines[asked + 1 : asked + 7] == [
        f"  {eight}",
        f"  {eight}",
        f"  {eight}",
        f"  {six}?",
        "",
        "    Publish Bees?",
    ]
    waiting = lines.index("waiting for a person:")
    seven = " ".join(["bees"] * 7)
    assert lines[waiting + 1 : waiting + 3] == [f"  ask: {seven}", f"    {seven}"]


def test_a_terminal_shows_the_titles_of_a_form_and_opens_long_texts_in_the_editor(skelo: Skelo) -> None:
    titled = REVIEW.replace("{type: string, minLength: 3,", "{type: string, title: Headline, minLength: 3,")
    skelo.write("review.yaml", titled)
    editor = skelo.write("editor.sh", '#!/bin/sh\nprintf "%s and wasps\\n" "$(cat "$1")" > "$1"\n')
    editor.chmod(0o755)
    title = "Bees, and everything else that has ever buzzed"
    terminal = Terminal(skelo.folder, "run", "review.yaml", "--input", f"title={title}", env={"EDITOR": str(editor)})
    terminal.until("Your answer")
    terminal.type("modify")
    terminal.until(":edit opens all of it in")
    terminal.until("Headline (string) [")
    terminal.type(":edit")
    terminal.until("copies (integer)")
    terminal.type("")
    terminal.until("loud (yes or no)")
    terminal.type("")
    assert terminal.end() == 0
    assert skelo("output", "last", "text").out == f"{title} and wasps\n"


def test_the_word_that_opens_an_editor_is_never_an_answer(skelo: Skelo) -> None:
    skelo.write("review.yaml", REVIEW)
    env = {"EDITOR": "", "VISUAL": "", "PATH": ""}
    terminal = Terminal(skelo.folder, "run", "review.yaml", "--input", "title=Bees", env=env)
    terminal.until("Your answer")
    terminal.type("modify")
    terminal.until("title (string) [")
    terminal.type(":edit")
    terminal.until("there is no editor: set EDITOR")
    terminal.until("title (string) [")
    terminal.type("Wasps")
    terminal.until("copies (integer)")
    terminal.type("")
    terminal.until("loud (yes or no)")
    terminal.type("")
    assert terminal.end() == 0
    assert skelo("output", "last", "text").out == "Wasps\n"


def test_without_the_variable_the_editor_of_the_system_is_opened(skelo: Skelo) -> None:
    skelo.write("review.yaml", REVIEW)
    editor = skelo.write("editor", '#!/bin/sh\nprintf Wasps > "$1"\n')
    editor.chmod(0o755)
    env = {"EDITOR": "", "VISUAL": "", "PATH": f"{skelo.folder}:{os.environ['PATH']}"}
    terminal = Terminal(skelo.folder, "run", "review.yaml", "--input", "title=Bees", env=env)
    terminal.until("Your answer")
    terminal.type("modify")
    terminal.until("title (string) [")
    terminal.type(":edit")
    terminal.until("copies (integer)")
    terminal.type("")
    terminal.until("loud (yes or no)")
    terminal.type("")
    assert terminal.end() == 0
    assert skelo("output", "last", "text").out == "Wasps\n"


def test_a_file_that_is_not_there_is_asked_for_again(skelo: Skelo) -> None:
    block = "{id: read, mode: deterministic, inputs: {doc: file, n: integer}, outputs: {doc: file}, deterministic: "
    taken = "{handler: builtin:transform, config: {map: {doc: inputs.doc}}}}"
    skelo.write("read.yaml", f"name: read\nblocks: [{block}{taken}]\n")
    terminal = Terminal(skelo.folder, "run", "read.yaml", "--input", "n=1")
    terminal.until("the path of a file")
    terminal.until("doc (string): ")
    terminal.type("nowhere.txt")
    terminal.until("there is no such file")
    terminal.until("doc (string): ")
    terminal.type("read.yaml")
    assert terminal.end() == 0
    assert skelo("output", "last", "doc").out == "read.yaml\n"


@pytest.mark.parametrize(("given", "code"), [("copies=1", "INPUT_UNKNOWN"), ("n=0", "INPUT_INVALID")])
def test_nobody_is_asked_for_inputs_beside_wrong_ones(skelo: Skelo, given: str, code: str) -> None:
    skelo.write("add.yaml", "name: add\ninputs: {n: {type: integer, minimum: 1}, m: integer}\n" + ADD)
    terminal = Terminal(skelo.folder, "run", "add.yaml", "--input", given)
    assert terminal.end() == 2
    assert code in terminal.seen
    assert "m (integer)" not in terminal.seen


def test_a_no_needs_a_reason(skelo: Skelo) -> None:
    approval = _pause(skelo)
    empty = skelo("deny", approval, "--reason", " ", "--json")
    assert (empty.code, empty.document["error"]["code"]) == (2, "USAGE")
    assert skelo("show", "last", "--json").document["status"] == "paused"


def test_a_terminal_can_leave_a_question_for_later(skelo: Skelo) -> None:
    skelo.write("review.yaml", REVIEW)
    terminal = Terminal(skelo.folder, "run", "review.yaml", "--input", "title=Bees")
    terminal.until("Your answer")
    terminal.type("later")
    assert terminal.end() == 3
    resumed = Terminal(skelo.folder, "resume", "last")
    resumed.until("Your answer")
    resumed.type("deny")
    resumed.until("Why: ")
    resumed.type("  ")
    resumed.until("a denial needs a reason")
    resumed.until("Why: ")
    resumed.type("no bees")
    assert resumed.end() == 0
    assert skelo("output", "last", "text").out == "nothing\n"


def test_a_plain_no_at_a_terminal_is_understood(skelo: Skelo) -> None:
    skelo.write("review.yaml", REVIEW)
    terminal = Terminal(skelo.folder, "run", "review.yaml", "--input", "title=Bees")
    terminal.until("Your answer")
    terminal.type("no")
    terminal.until("Why: ")
    terminal.type("no bees")
    assert terminal.end() == 0
    assert skelo("output", "last", "text").out == "nothing\n"


def test_a_plain_yes_at_a_terminal_is_understood(skelo: Skelo) -> None:
    skelo.write("review.yaml", REVIEW)
    terminal = Terminal(skelo.folder, "run", "review.yaml", "--input", "title=Bees", env={"TERM": "dumb"})
    terminal.until("ask              waits for a person")  # a terminal that can only print gets plain lines
    terminal.until("Your answer")
    terminal.type("y")
    assert terminal.end() == 0
    assert skelo("output", "last", "text").out == "Bees\n"


def test_an_interrupt_at_a_question_begins_a_line_of_its_own(skelo: Skelo) -> None:
    skelo.write("review.yaml", REVIEW)
    terminal = Terminal(skelo.folder, "run", "review.yaml", "--input", "title=Bees")
    terminal.until("later): ")
    terminal.interrupt()
    assert terminal.end() == 3
    assert "later): \r\nsuspending the run" in terminal.seen


def test_an_answer_from_another_process_reaches_a_run_that_waits_at_a_terminal(skelo: Skelo) -> None:
    skelo.write("review.yaml", REVIEW)
    terminal = Terminal(skelo.folder, "run", "review.yaml", "--input", "title=Bees")
    terminal.until("Your answer")
    (approval,) = skelo("approvals", "--json").document["approvals"]
    answered = skelo("approve", approval["id"])
    assert answered.code == 0
    assert "the process that drives the run goes on with it" in answered.err
    assert terminal.end() == 0
    assert skelo("output", "last", "text").out == "Bees\n"


def test_what_happens_while_somebody_thinks_is_not_written_into_the_question(skelo: Skelo) -> None:
    skelo.write("review.yaml", REVIEW.replace("on_deny: continue", "timeout_ms: 700"))
    terminal = Terminal(skelo.folder, "run", "review.yaml", "--input", "title=Bees")
    terminal.until("Your answer (")
    assert terminal.end() == 1
    seen = terminal.seen.replace("\r\n", "\n")
    question = seen[seen.index("Your answer (") :].partition("\n")[0]
    assert question.endswith("modify, later): ")
    assert "\nask failed: APPROVAL_DENIED expired; gives up" in seen


def test_a_question_that_is_no_longer_asked_is_not_shown_as_open(skelo: Skelo) -> None:
    skelo.write("review.yaml", REVIEW)
    terminal = Terminal(skelo.folder, "run", "review.yaml", "--input", "title=Bees")
    terminal.until("Your answer (")
    assert skelo("cancel", "last").code == 0
    assert terminal.end() == 130
    after = terminal.seen.replace("\r\n", "\n").partition("Your answer (")[2]
    assert "no longer asked" in after
    assert [line for line in after.splitlines() if line.startswith(("? HUMAN", "?  HUMAN"))] == []


SENDING = """\
name: sending
blocks:
  - id: ask
    mode: approval
    outputs: {approved: boolean}
    approval: {prompt: "Send?"}
  - id: send
    mode: deterministic
    after: [ask]
    outputs: {sent: boolean}
    deterministic: {handler: handlers/send.py}
"""
SENDER = """\
def handler(ctx):
    return {"sent": ctx.secret("MAIL_KEY") == "letter"}
"""


def _sending(skelo: Skelo) -> str:
    """Start a run that needs a handler and a secret after its question; give the question's id."""
    skelo.write("skelo.yaml", "secrets: {MAIL_KEY: '${env:MAIL_KEY}'}\n")
    skelo.write("handlers/send.py", SENDER)
    skelo.write("sending.yaml", SENDING)
    paused = skelo("run", "sending.yaml", "--json")
    return paused.document["approvals"][0]["id"]


def test_an_approval_where_the_secret_is_missing_is_refused_and_stays_open(
    skelo: Skelo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAIL_KEY", raising=False)
    approval = _sending(skelo)
    refused = skelo("approve", approval, "--json")
    assert (refused.code, refused.document["error"]["code"]) == (2, "SECRET_MISSING")
    assert [one["id"] for one in skelo("approvals", "--json").document["approvals"]] == [approval]
    done = skelo("approve", approval, "--json", env={"MAIL_KEY": "letter"})
    assert (done.code, done.document["outputs"]) == (0, {"sent": True})


def test_a_run_whose_handler_is_missing_is_not_resumed_and_loses_nothing(skelo: Skelo) -> None:
    _sending(skelo)
    handler = skelo.folder / "handlers" / "send.py"
    code = handler.read_text()
    handler.unlink()
    before = skelo("show", "last", "--json", env={"MAIL_KEY": "letter"}).document
    refused = skelo("resume", "last", "--json", env={"MAIL_KEY": "letter"})
    assert (refused.code, refused.document["error"]["code"]) == (2, "HANDLER_LOAD")
    assert skelo("show", "last", "--json").document == before
    handler.write_text(code)
    assert skelo("resume", "last", "--json", env={"MAIL_KEY": "letter"}).code == 3


def test_a_secret_that_only_the_handler_itself_asks_for_pauses_the_run_until_it_is_there(skelo: Skelo) -> None:
    """The secret's name is made while the handler runs: no look at the file finds it."""
    skelo.write("skelo.yaml", "secrets: {MAIL_KEY: '${env:MAIL_KEY}'}\n")
    skelo.write("handlers/send.py", SENDER.replace('"MAIL_KEY"', '"MAIL" + "_KEY"'))
    skelo.write("sending.yaml", SENDING)
    approval = skelo("run", "sending.yaml", "--json").document["approvals"][0]["id"]
    paused = skelo("approve", approval)
    assert paused.code == 3
    reason = "SECRET_MISSING send: the environment variable MAIL_KEY is not set (set MAIL_KEY before starting skelo)"
    assert f"  {reason}\n" in paused.out
    assert f"  {reason}\n" in skelo("show", "last").out
    document = skelo("show", "last", "--json").document
    assert (document["status"], document["ending"], document["pauseReason"]) == ("paused", None, reason)
    done = skelo("resume", "last", "--json", env={"MAIL_KEY": "letter"})
    assert (done.code, done.document["outputs"], "pauseReason" in done.document) == (0, {"sent": True}, False)
    assert skelo("verify", "last").code == 0


@pytest.mark.parametrize("gone", ["handlers/send.py", "handlers/letters.py"])
def test_a_file_of_a_handler_that_is_gone_when_its_step_comes_pauses_the_run_until_it_is_back(
    skelo: Skelo, gone: str
) -> None:
    skelo.write("handlers/letters.py", "SENT = True\n")
    skelo.write("handlers/send.py", "import letters\n\n\ndef handler(ctx):\n    return {'sent': letters.SENT}\n")
    code = (skelo.folder / gone).read_text()
    taking_it = f"import os\n\n\ndef handler(ctx):\n    os.unlink({str(skelo.folder / gone)!r})\n    return {{}}\n"
    skelo.write("handlers/take.py", taking_it)
    taking = SENDING.replace("after: [ask]", "after: [take]").replace(
        "  - id: send",
        "  - id: take\n    mode: deterministic\n    after: [ask]\n    outputs: {}\n"
        "    deterministic: {handler: handlers/take.py}\n  - id: send",
    )
    skelo.write("taking.yaml", taking)
    approval = skelo("run", "taking.yaml", "--json").document["approvals"][0]["id"]
    paused = skelo("approve", approval, "--json", "--quiet")
    assert (paused.code, paused.document["ending"]) == (3, None)
    assert paused.document["pauseReason"].startswith("HANDLER_LOAD send: ")
    skelo.write(gone, code)
    done = skelo("resume", "last", "--json")
    assert (done.code, done.document["outputs"]) == (0, {"sent": True})


def test_a_denial_after_which_the_run_goes_on_needs_what_the_rest_of_it_needs(skelo: Skelo) -> None:
    skelo.write("skelo.yaml", "secrets: {MAIL_KEY: '${env:MAIL_KEY}'}\n")
    skelo.write("handlers/send.py", SENDER)
    skelo.write("sending.yaml", SENDING.replace('prompt: "Send?"', 'prompt: "Send?", on_deny: continue'))
    approval = skelo("run", "sending.yaml", "--json").document["approvals"][0]["id"]
    refused = skelo("deny", approval, "--reason", "no", "--json")
    assert (refused.code, refused.document["error"]["code"]) == (2, "SECRET_MISSING")
    assert [one["id"] for one in skelo("approvals", "--json").document["approvals"]] == [approval]
    done = skelo("deny", approval, "--reason", "no", "--json", env={"MAIL_KEY": "letter"})
    assert (done.code, done.document["outputs"]) == (0, {"sent": True})


def test_a_denial_that_ends_the_run_needs_nothing(skelo: Skelo) -> None:
    approval = _sending(skelo)
    (skelo.folder / "handlers" / "send.py").unlink()
    denied = skelo("deny", approval, "--reason", "no", "--json")
    assert (denied.code, denied.document["ending"]) == (1, "denied")


def test_a_secret_of_a_file_that_the_handler_imports_is_needed_too(skelo: Skelo) -> None:
    skelo.write("skelo.yaml", "secrets: {MAIL_KEY: '${env:MAIL_KEY}'}\n")
    skelo.write("handlers/letters.py", SENDER)
    skelo.write("handlers/send.py", "import letters\n\n\ndef handler(ctx):\n    return letters.handler(ctx)\n")
    skelo.write("sending.yaml", SENDING)
    approval = skelo("run", "sending.yaml", "--json").document["approvals"][0]["id"]
    refused = skelo("approve", approval, "--json")
    assert (refused.code, refused.document["error"]["code"]) == (2, "SECRET_MISSING")


STEPS = """\
plan_id: sending
steps:
  - {id: ask, op: ask_human, args: {request: {message: Send?}, answer: {to: string}}, save_as: said}
  - {id: send, op: tool_call, args: {tool_id: send, args: {to: "var:said.to"}}, save_as: sent}
  - {id: good, op: verify, args: {checker_id: good, input_ref: "var:sent"}, save_as: verdict}
  - {id: end, op: emit, args: {result_ref: "var:sent"}}
"""
STEPS_PROJECT = """\
secrets: {MAIL_KEY: "${env:MAIL_KEY}"}
tools: {send: {python: "own/send.py:send", config: {key: "${secret:MAIL_KEY}"}, network: false, effect: pure}}
checkers: {good: "own/checks.py:good"}
"""


def test_what_the_tools_and_checkers_of_a_plan_need_is_looked_at_before_an_answer_is_taken(skelo: Skelo) -> None:
    skelo.write("skelo.yaml", STEPS_PROJECT)
    skelo.write("own/send.py", "def send(ctx):\n    return {'to': ctx.inputs['to']}\n")
    skelo.write("own/checks.py", "def good(ctx):\n    return {'ok': True}\n")
    skelo.write("plan.yaml", STEPS)
    approval = skelo("run", "plan.yaml", "--json").document["approvals"][0]["id"]
    answer = ("approve", approval, "--set", "to=ann", "--json")
    assert skelo(*answer).document["error"]["code"] == "SECRET_MISSING"
    with_key = {"MAIL_KEY": "letter"}
    for file in ("own/send.py", "own/checks.py"):
        code = (skelo.folder / file).read_text()
        (skelo.folder / file).unlink()
        assert skelo(*answer, env=with_key).document["problems"][0]["code"] == "HANDLER_NOT_FOUND"
        skelo.write(file, code)
    done = skelo(*answer, env=with_key)
    assert (done.code, done.document["outputs"]["result"]) == (0, {"to": "ann"})


def test_a_node_of_a_live_graph_that_lacks_a_secret_is_sent_no_message(skelo: Skelo) -> None:
    skelo.write("skelo.yaml", "secrets: {MAIL_KEY: '${env:MAIL_KEY}'}\n")
    skelo.write("handlers/send.py", "def handler(ctx):\n    return {'message': str(len(ctx.secret('MAIL_KEY')))}\n")

    async def story() -> str:
        async with engine_api.open_engine(openskelo.project_at(skelo.folder)) as engine:
            run_id = await engine.start(live_graph.empty("pair"))
            config: JsonObject = {"handler": "handlers/send.py"}
            await engine.graph(run_id).add_node("Ann", kind="handler", key="ann", config=config)
            return run_id

    run_id = asyncio.run(story())
    before = skelo("show", run_id, "--json").document
    refused = skelo("chat", run_id, "ann", "hello")
    assert refused.code == 2
    assert "SECRET_MISSING" in refused.err
    assert skelo("show", run_id, "--json").document == before
    said = skelo("chat", run_id, "ann", "hello", env={"MAIL_KEY": "letter"})
    assert (said.code, said.out.splitlines()[-1]) == (0, "ann: 6")
