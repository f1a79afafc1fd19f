"""The built-in tools, on real files, a real HTTP server and real repositories."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openskelo.handlers import project_registry
from openskelo.kernel import definition
from openskelo.kernel.json import Json, JsonObject
from openskelo.ops import functions
from tests.executors import workshop
from tests.executors.ops import bench


def call(
    root: Path,
    name: str,
    args: JsonObject,
    *,
    declared: bool = True,
    config: JsonObject | None = None,
    rules: JsonObject | None = None,
    **project: Any,
) -> bench.Done:
    base = functions.TOOLS[name]
    own = project_registry.Tool(
        name=name,
        kind="builtin",
        target=name,
        args=rules or base.args,
        config=config or {},
        effect=base.effect,
        network=base.network,
    )
    known = project_registry.Registry(tools={name: own} if declared else {})
    mode: definition.PlanMode = project.pop("mode", "normal")
    where = workshop.project(root, registry=known, **project)
    return bench.perform(where, "tool_call", {"tool_id": name, "args": args}, mode=mode)


class TestFiles:
    def test_a_file_of_the_project_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("hello")
        done = call(tmp_path, "read-file", {"path": "a.txt"}, declared=False)
        assert done.value == {"content": "hello", "file_path": str(tmp_path / "a.txt"), "bytes": 5}

    @pytest.mark.parametrize("path", ["../out.txt", "/etc/passwd", ".git/config", "skelo.yaml", "missing.txt"])
    def test_other_files_are_not(self, tmp_path: Path, path: str) -> None:
        (tmp_path / "skelo.yaml").write_text("")
        done = call(tmp_path, "read-file", {"path": path})
        assert done.code in ("DET_PATH_INVALID", "DET_READ_FAILED")

    def test_a_file_is_written_inside_the_write_roots_only(self, tmp_path: Path) -> None:
        done = call(tmp_path, "write-file", {"path": "out/b.txt", "content": "hi"})
        assert isinstance(done.value, dict)
        assert (done.value["bytes_written"], (tmp_path / "out" / "b.txt").read_text()) == (2, "hi")
        assert call(tmp_path, "write-file", {"path": "../b.txt", "content": "hi"}).code == "DET_PATH_INVALID"
        for path in ("skelo.yaml", "flow.yaml", "handlers/x.py", "sitecustomize.py"):
            assert call(tmp_path, "write-file", {"path": path, "content": "hi"}).code == "DET_PATH_INVALID"

    def test_writing_has_to_be_declared(self, tmp_path: Path) -> None:
        done = call(tmp_path, "write-file", {"path": "b.txt", "content": "hi"}, declared=False)
        assert done.failure is not None
        assert (done.code, done.failure.denied) == ("CAPABILITY_DENIED", True)
        assert not (tmp_path / "b.txt").exists()

    def test_a_project_may_fix_or_narrow_the_arguments(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "b.txt").write_text("old")
        over: Json = {"overwrite": True}
        assert call(tmp_path, "write-file", {"path": "out/b.txt", "content": "x"}, config=over).failure is None
        narrow: JsonObject = {"type": "object", "properties": {"path": {"pattern": "^out/notes/"}}}
        refused = call(tmp_path, "write-file", {"path": "out/b.txt", "content": "x"}, rules=narrow)
        assert refused.code == "ARGS_INVALID"


class _Pages(http.server.BaseHTTPRequestHandler):
    seen: list[tuple[str, str, dict[str, str], bytes]]

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.seen.append((self.command, self.path, headers, body))
        if self.path == "/away":
            self.send_response(302)
            self.send_header("location", "/home")
        else:
            self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "11")
        self.end_headers()
        self.wfile.write(b'{"ok":true}')

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name it has there
        pass


@pytest.fixture
def pages() -> Iterator[tuple[str, list[tuple[str, str, dict[str, str], bytes]]]]:
    seen: list[tuple[str, str, dict[str, str], bytes]] = []
    handler = type("Pages", (_Pages,), {"seen": seen})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()
        thread.join()


Pages = tuple[str, list[tuple[str, str, dict[str, str], bytes]]]


class TestHttp:
    def test_a_request_is_sent_with_what_the_plan_says_as_it_is(self, tmp_path: Path, pages: Pages) -> None:
        base, seen = pages
        args: JsonObject = {
            "url": f"{base}/x?q={{{{ 1 }}}}",
            "method": "POST",
            "headers": {"x-own": "${env:HOME}"},
            "json": {"a": 1},
        }
        done = call(tmp_path, "http-request", args, allow_private_addresses=True)
        assert isinstance(done.value, dict)
        assert (done.value["status"], done.value["body"]) == (200, {"ok": True})
        ((method, path, headers, body),) = seen
        assert (method, path, headers["x-own"], body) == ("POST", "/x?q={{%201%20}}", "${env:HOME}", b'{"a":1}')
        assert headers["idempotency-key"] == workshop.key("s1")

    def test_it_has_to_be_declared_and_is_denied_without_network(self, tmp_path: Path, pages: Pages) -> None:
        base, seen = pages
        undeclared = call(tmp_path, "http-request", {"url": base}, declared=False, allow_private_addresses=True)
        degraded = call(tmp_path, "http-request", {"url": base}, mode="degraded", allow_private_addresses=True)
        assert (undeclared.code, degraded.code, seen) == ("CAPABILITY_DENIED", "MODE_DENIED", [])

    def test_private_addresses_are_refused_unless_the_project_allows_them(self, tmp_path: Path, pages: Pages) -> None:
        base, seen = pages
        assert (call(tmp_path, "http-request", {"url": base}).code, seen) == ("HTTP_ADDRESS_REFUSED", [])

    def test_a_secret_goes_only_where_the_project_says(
        self, tmp_path: Path, pages: Pages, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base, seen = pages
        monkeypatch.setenv("PAGES_TOKEN", "hush-hush-hush")
        headers: JsonObject = {"headers": {"x-token": "${secret:TOKEN}"}}
        around: dict[str, Any] = {"allow_private_addresses": True, "secrets": {"TOKEN": "${env:PAGES_TOKEN}"}}
        anywhere = call(tmp_path, "http-request", {"url": base}, config=headers, **around)
        assert (anywhere.code, seen) == ("CAPABILITY_DENIED", [])
        fixed = call(tmp_path, "http-request", {}, config={**headers, "url": f"{base}/fixed"}, **around)
        assert (fixed.failure, seen[0][1], seen[0][2]["x-token"]) == (None, "/fixed", "hush-hush-hush")
        narrow: JsonObject = {"type": "object", "properties": {"url": {"pattern": f"^{base}/"}}, "required": ["url"]}
        narrowed = call(tmp_path, "http-request", {"url": f"{base}/ok"}, config=headers, rules=narrow, **around)
        elsewhere = call(
            tmp_path, "http-request", {"url": "http://other.test/"}, config=headers, rules=narrow, **around
        )
        assert (narrowed.failure, elsewhere.code) == (None, "ARGS_INVALID")
        away = call(tmp_path, "http-request", {"url": f"{base}/away"}, config=headers, rules=narrow, **around)
        assert (away.code, [entry[1] for entry in seen]) == ("HTTP_STATUS", ["/fixed", "/ok", "/away"])


class TestGit:
    def test_diff_log_and_show_read_a_repository(self, tmp_path: Path) -> None:
        bench.repository(tmp_path, file="old\n", other="x\n")
        (tmp_path / "file").write_text("new\n")
        (tmp_path / "other").write_text("y\n")
        diff = call(tmp_path, "git-diff", {"paths": ["file"]}, declared=False).value
        assert isinstance(diff, str)
        assert diff.splitlines()[-2:] == ["-old", "+new"]
        assert "other" not in diff
        (entry,) = _list(call(tmp_path, "git-log", {}).value)
        assert isinstance(entry, dict)
        commit = bench.git(tmp_path, "rev-parse", "HEAD").strip()
        at = "2026-01-02T03:04:05+00:00"
        assert entry == {"commit": commit, "author": "AUTHOR@example.test", "at": at, "subject": "first"}
        assert call(tmp_path, "git-show", {"path": "file"}).value == "old\n"
        assert call(tmp_path, "git-show", {"path": "file", "revision": commit[:8]}).value == "old\n"

    @pytest.mark.parametrize(
        ("name", "args", "code"),
        [
            ("git-diff", {"range": "--output=x"}, "GIT_REVISION"),
            ("git-diff", {"range": "no-such-branch"}, "GIT_FAILED"),
            ("git-show", {"path": "absent"}, "GIT_FAILED"),
            ("git-show", {"path": "file", "revision": "-x"}, "GIT_REVISION"),
            ("git-log", {"repo": "../"}, "DET_PATH_INVALID"),
            ("git-log", {"max": 0}, "ARGS_INVALID"),
        ],
    )
    def test_what_cannot_be_read_is_a_failure(self, tmp_path: Path, name: str, args: JsonObject, code: str) -> None:
        bench.repository(tmp_path, file="old\n")
        assert call(tmp_path, name, args).code == code
        assert sorted(path.name for path in tmp_path.iterdir()) == [".git", "file"]


def _list(value: Json) -> list[Json]:
    assert isinstance(value, list)
    return value
