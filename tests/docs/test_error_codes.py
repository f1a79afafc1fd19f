"""The page of error codes lists every code in the source, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.docs import page
from tests.repo import tracked

CODE = re.compile(r"[A-Z][A-Z0-9]+(_[A-Z0-9]+)*\Z")
#: Texts in capitals that are names of other things.
NOT_CODES = {
    *("LC_ALL", "LC_CTYPE", "NO_COLOR", "PYTEST_ADDOPTS"),  # environment variables
    *("SKELO_DEBUG", "SKELO_HOME", "SKELO_HOOK_TOKEN", "SKELO_PROGRAM", "SKELO_TOKEN", "SKELO_TOOLS_TOKEN"),
    *("HTTPS_PROXY", "HTTP_PROXY", "NODE_USE_ENV_PROXY", "NO_PROXY"),
    *("GIT_CEILING_DIRECTORIES", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_OBJECT_DIRECTORY"),
    *(
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OPTIONAL_LOCKS",
        "GIT_TERMINAL_PROMPT",
        "GIT_WORK_TREE",
    ),
    *("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
    *("MAX_BYTES", "MAX_VIOLATIONS", "STORE_CHECKS"),  # exported names
    *("SQLITE_IOERR", "BEGIN", "COMMIT", "ROLLBACK", "VACUUM"),  # of SQLite
    "DOCS_SYNC",  # a phase
    *("API_DOCS", "SOURCE_CODE"),  # kinds of sources
    "TYPE_CHECKING",  # a name of Python
    *(
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_MODEL",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "CODEX_CONFIG",
    ),  # variables of agents
    *("DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING", "DISABLE_TELEMETRY", "ENABLE_TOOL_SEARCH"),
    *("GOOGLE_GEMINI_BASE_URL", "OPENAI_BASE_URL", "OPENAI_MODEL"),
    *("DEADLINE_EXCEEDED", "FAILED_PRECONDITION", "INVALID_ARGUMENT", "PERMISSION_DENIED"),  # states of Google's API
}
#: Calls that take a code by its place.
_CALLS = {
    "problem",
    "key_problem",
    "warn",
    "error",
    "error_within",
    "error_at_key",
    "finding",
    "Fault",
    "Finding",
    "TextError",
    "Trouble",
}


def _capitals(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and CODE.match(part.value):
            yield part.value


def _codes(tree: ast.AST) -> Iterator[str]:
    """Texts in capitals with an underscore, wherever they are; single words where a code is expected."""
    yield from (text for text in _capitals(tree) if "_" in text)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
                places = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
                places += node.args[:2] if name in _CALLS or name.startswith("_") else []
                yield from (text for place in places if isinstance(place, ast.Constant) for text in _capitals(place))
            case ast.Dict():
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == "code":
                        yield from _capitals(value)
            case ast.Assign(targets=[ast.Name(id="code" | "default_code")]):
                yield from _capitals(node.value)
            case _:
                pass


def codes_in_source() -> set[str]:
    found: set[str] = set()
    for path in tracked.files("src/openskelo/*.py"):
        found.update(_codes(ast.parse(path.read_text("utf-8"))))
    return {text for text in found - NOT_CODES if not text.endswith("_API_KEY")}


def test_page_lists_every_code_once() -> None:
    listed = page.rows(page.text("error-codes.md"))
    assert sorted(listed) == sorted(set(listed))
    assert set(listed) == codes_in_source()
    assert len(listed) > 150
