"""Who gives an order at a terminal: the system's name for the user, and never the clock's."""

from __future__ import annotations

import os
import pwd

import pytest

from openskelo.cli import identity


@pytest.mark.parametrize(("account", "name"), [("ada", "ada"), ("timer", f"uid:{os.geteuid()}")])
def test_a_user_goes_by_the_name_of_the_account_unless_that_is_the_clocks(
    monkeypatch: pytest.MonkeyPatch, account: str, name: str
) -> None:
    def found(number: int) -> pwd.struct_passwd:
        return pwd.struct_passwd((account, "x", number, 0, "", "/", "/bin/sh"))

    monkeypatch.setattr(pwd, "getpwuid", found)
    assert identity.user() == name
