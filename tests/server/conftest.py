"""One house for the tests that share it; those that need another set-up open their own."""

from __future__ import annotations

from collections.abc import Generator

import httpx
import pytest

from tests.server import house

#: What must never be seen in any answer.
PLANTED = "planted-secret-4242"


@pytest.fixture(autouse=True, scope="session")
def _planted() -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("W2_PLANTED_KEY", PLANTED)
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[house.House]:
    with house.open_house(tmp_path_factory.mktemp("house")) as opened:
        yield opened


@pytest.fixture
def client(home: house.House) -> Generator[httpx.Client]:
    with home.client() as opened:
        yield opened
