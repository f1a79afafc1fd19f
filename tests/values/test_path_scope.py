"""Which paths are inside a scope."""

from __future__ import annotations

import pytest

from openskelo import errors
from openskelo.values import path_scope


@pytest.mark.parametrize(
    ("allowed", "forbidden", "outside"),
    [
        ((), (), []),
        (("src/*",), (), ["src/a/b.py", "README.md"]),
        (("src/**",), (), ["README.md"]),
        (("**/*.py",), (), ["README.md"]),
        ((), ("src/*",), ["src/a.py"]),
        (("src/**",), ("**/b.py",), ["src/a/b.py", "README.md"]),
        (("src",), (), ["src/a.py", "src/a/b.py", "README.md"]),
    ],
)
def test_forbidden_paths_win_over_allowed_ones(
    allowed: tuple[str, ...], forbidden: tuple[str, ...], outside: list[str]
) -> None:
    scope = path_scope.PathScope(allowed_paths=allowed, forbidden_paths=forbidden)
    assert path_scope.find_outside(scope, ["src/a.py", "src/a/b.py", "README.md"]) == outside


@pytest.mark.parametrize("path", ["/etc/passwd", "src/../README.md", ".."])
def test_a_path_that_leads_elsewhere_is_in_no_scope(path: str) -> None:
    assert path_scope.find_outside(path_scope.PathScope(allowed_paths=("**",)), [path]) == [path]


def test_a_pattern_that_is_too_long_is_refused() -> None:
    with pytest.raises(errors.InvalidInput) as refused:
        path_scope.find_outside(path_scope.PathScope(allowed_paths=("a" * 5000,)), ["a"])
    assert refused.value.code == "REGEX_INVALID"
