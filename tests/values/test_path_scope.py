"""Which paths are inside a scope."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openskelo import errors
from openskelo.values import path_scope
from openskelo.values.path_scope import PathScope


def _outside(scope: PathScope, *paths: str) -> list[str]:
    return [found.path for found in path_scope.find_outside(scope, paths)]


@pytest.mark.parametrize(
    ("allowed", "forbidden", "outside"),
    [
        (None, (), []),
        ((), (), ["src/a.py", "src/a/b.py", "README.md"]),
        (("src/*",), (), ["src/a/b.py", "README.md"]),
        (("src/**",), (), ["README.md"]),
        (("**/*.py",), (), ["README.md"]),
        (None, ("src/*",), ["src/a.py"]),
        (("src/**",), ("**/b.py",), ["src/a/b.py", "README.md"]),
        (("src",), (), ["src/a.py", "src/a/b.py", "README.md"]),
        (None, ("readme.MD", "SRC/A.py"), ["src/a.py", "README.md"]),
        (("SRC/**", "readme.md"), (), ["src/a.py", "src/a/b.py", "README.md"]),
    ],
)
def test_forbidden_paths_win_over_allowed_ones(
    allowed: tuple[str, ...] | None, forbidden: tuple[str, ...], outside: list[str]
) -> None:
    scope = PathScope(allowed_paths=allowed, forbidden_paths=forbidden)
    assert _outside(scope, "src/a.py", "src/a/b.py", "README.md") == outside


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "..",
        "/etc/passwd",
        "//src/a.py",
        "src/../README.md",
        "src/./a.py",
        "./src/a.py",
        "src//a.py",
        "src/",
        "src/a.py/",
        "src/..",
        "src/.../a.py",
        "src/a.py ",
        "src /a.py",
        "src/a.py.",
        "src\\..\\a.py",
        "src/a.py:stream",
        "C:/src/a.py",
        "src/a\n.py",
        "src/a\x00.py",
        "src/a\u200d.py",
        "src/a\u202e.py",
        "src/a\u00a0.py",
        "src/a\udc80.py",
        "src/cafe\u0301.py",
        ".git",
        ".git/hooks/post-commit",
        "src/.git/config",
        ".GIT/config",
        "git~1/config",
        "GIT~2/config",
        "\uff0egit/config",
        ".\uff47it/config",
    ],
)
def test_a_path_in_another_form_or_in_git_is_in_no_scope(path: str) -> None:
    assert _outside(PathScope(allowed_paths=("**",), protected_paths=()), path) == [path]
    assert _outside(PathScope(protected_paths=()), path) == [path]


@pytest.mark.parametrize(
    "path", ["a", "src/a b.py", "src/.hidden", "a..b", "...a", "src/caf\u00e9.py", "git/x", ".gitx", "x/~git", "日本/a"]
)
def test_ordinary_paths_are_in_a_scope(path: str) -> None:
    assert _outside(PathScope(allowed_paths=("**",)), path) == []


@pytest.mark.parametrize(
    "path",
    [
        *("base.py", "src/base.py", "src/Base.PY", "src/__init__.py", "src/__INIT__.py", "pyproject.toml"),
        *("web/package.json", "setup.py", "uv.lock", "web/package-lock.json", "pnpm-lock.yaml", "go.sum"),
        *(".github/workflows/ci.yml", ".GitHub/x", ".gitlab-ci.yml", ".circleci/config.yml", "Jenkinsfile"),
        *("Dockerfile", "dockerfile", "app/Dockerfile.dev", "docker-compose.yml", "compose.yaml"),
        *(".env", ".ENV", "app/.env.local", "prod.env", "app/migrations/0001.py", "alembic/env.py", "alembic.ini"),
        *(".gitmodules", "src/.gitattributes", "skelo.yaml", "requirements-dev.txt", "\uff42ase.py", "ba\u017fe.py"),
    ],
)
def test_files_by_which_a_change_reaches_further_are_protected(path: str) -> None:
    (found,) = path_scope.find_outside(PathScope(allowed_paths=("**", path)), [path])
    assert found.why.startswith("it is protected by ")
    assert _outside(PathScope(allowed_paths=("**", path), protected_paths=()), path) == []


@pytest.mark.parametrize(
    "path", ["src/basement.py", "src/init.py", "src/dead-lock.py", "docs/environment.md", "src/migrate.py", "lock.py"]
)
def test_names_that_only_resemble_protected_ones_are_not(path: str) -> None:
    assert _outside(PathScope(allowed_paths=("**",)), path) == []


def test_a_pattern_that_is_too_long_is_refused() -> None:
    with pytest.raises(errors.InvalidInput) as refused:
        path_scope.find_outside(PathScope(allowed_paths=("a" * 5000,)), ["a"])
    assert refused.value.code == "REGEX_INVALID"


@pytest.mark.parametrize("pattern", ["", "/src/**", "./src/**", "src/../x", "secrets/", "src//x", "src\\**", "."])
def test_a_pattern_that_matches_no_path_is_refused(pattern: str) -> None:
    with pytest.raises(errors.InvalidInput) as refused:
        path_scope.find_outside(PathScope(forbidden_paths=(pattern,)), [])
    assert refused.value.code == "SCOPE_PATTERN"


@given(st.text(alphabet="aA.\u00e9\u0301 /\\:~\u200bgit\u0130\u212a", max_size=12))
def test_the_form_of_a_path_is_the_only_one_of_its_place(path: str) -> None:
    if path_scope.find_fault(path) is None:
        parts = path.split("/")
        assert all(part and part == part.rstrip(" .") and part not in {".", "..", ".git"} for part in parts)
        assert not path.startswith("/")
