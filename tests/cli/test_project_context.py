"""Who gives an order at a terminal: the system's name for the user, and never the clock's."""

from __future__ import annotations

import os
import pwd

import pytest

from openskelo.cli import project_context
from tests.cli.conftest import Skelo


@pytest.mark.parametrize(("account", "name"), [("ada", "ada"), ("timer", f"uid:{os.geteuid()}")])
def test_a_user_goes_by_the_name_of_the_account_unless_that_is_the_clocks(
    monkeypatch: pytest.MonkeyPatch, account: str, name: str
) -> None:
    def found(number: int) -> pwd.struct_passwd:
        return pwd.struct_passwd((account, "x", number, 0, "", "/", "/bin/sh"))

    monkeypatch.setattr(pwd, "getpwuid", found)
    assert project_context.current_user() == name


SMALL = """\
name: small
blocks:
  - id: one
    mode: deterministic
    outputs: {n: integer}
    deterministic: {handler: builtin:transform, config: {map: {n: "1"}}}
"""


def test_a_run_outside_a_project_says_where_it_is_kept_and_is_found_from_above(skelo: Skelo) -> None:
    (skelo.folder / "skelo.yaml").unlink()
    skelo.write("sub/small.yaml", SMALL)
    done = skelo("run", "sub/small.yaml")
    assert (done.code, "kept in sub/.skelo" in done.err) == (0, True)
    listed = skelo("runs", "--json")
    assert ([row["name"] for row in listed.document["runs"]], "sub/.skelo" in listed.err) == (["small"], True)
    assert skelo("show", "last", "--json").document["status"] == "completed"
    refused = skelo("resume", "last")
    assert (refused.code, "cd sub" in refused.err) == (2, True)
    skelo.write("other/small.yaml", SMALL)
    assert skelo("run", "other/small.yaml").code == 0
    both = skelo("runs", "--json")
    assert (both.document["runs"], "other/.skelo, sub/.skelo" in both.err) == ([], True)


ASKING = """\
name: asking
blocks:
  - id: ask
    mode: approval
    approval: {prompt: Go?}
"""


def test_a_question_of_a_run_outside_a_project_is_found_from_above_with_the_command_that_answers_it(
    skelo: Skelo,
) -> None:
    (skelo.folder / "skelo.yaml").unlink()
    skelo.write("sub/asking.yaml", ASKING)
    assert skelo("run", "sub/asking.yaml").code == 3
    listed = skelo("approvals")
    answer = next(line.strip() for line in listed.out.splitlines() if "skelo approve" in line)
    assert answer.startswith(f"cd {skelo.folder / 'sub'} && skelo approve ")
    assert answer in skelo("show", "last").out
    assert [approval["node"] for approval in skelo("approvals", "--json").document["approvals"]] == ["ask"]
    skelo.write("other/asking.yaml", ASKING)
    assert skelo("run", "other/asking.yaml").code == 3
    assert "there are runs in other/.skelo, sub/.skelo" in skelo("approvals").err


def test_a_run_in_the_current_project_does_not_say_where_it_is_kept(skelo: Skelo) -> None:
    skelo.write("skelo.yaml", "{}\n")
    skelo.write("sub/small.yaml", SMALL)
    assert "kept in" not in skelo("run", "sub/small.yaml").err
