"""A machine in small for attempts to get out of a sandbox: a user's files, processes and sockets, and an agent's place.

`Scene.try_boxed` and `try_unboxed` make one attempt of `escape_attempts`, as this user or as an ordinary one.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

from openskelo.agents.sandbox import inside_sandbox, sandbox
from openskelo.agents.server import session_server
from openskelo.agents.workspace import workspace, workspace_access
from openskelo.project import Project
from openskelo.structs import replace
from tests.agents import repository

#: Who makes the attempts: root and an ordinary user where the tests run as root, else only their own user.
USERS = {"root": 0, "ordinary": 65_534} if os.getuid() == 0 else {"ordinary": os.getuid()}
_ATTEMPTS = Path(__file__).with_name("escape_attempts.py")
_SECONDS = 60


def python() -> str:
    """Return a Python that every user of this machine may run."""
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        real = Path(candidate).resolve()
        if real.exists() and all(folder.stat().st_mode & 0o001 for folder in real.parents):
            return candidate
    raise AssertionError("the tests of the sandbox need a Python that an ordinary user may run: install python3")


class Scene:
    """The machine. `values` is what the attempts are told about it."""

    def __init__(self, folder: Path, user: int, values: dict[str, Any], place: workspace.Workspace) -> None:
        self.folder = folder
        self.user = user
        self.identity = _identity(user)
        self.values = values
        self.place = place
        self.project = Project(root=Path(values["repository"]), data_dir=Path(values["data_dir"]))

    def run(self, argv: list[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a program as the user of the scene, in the tree."""
        return subprocess.run(
            argv,
            cwd=self.place.tree,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
            **self.identity,
        )

    def try_unboxed(self, name: str) -> subprocess.CompletedProcess[str]:
        """Make an attempt without a sandbox."""
        told = json.dumps({**self.values, "is_unboxed": True})
        home = {"HOME": str(self.place.home), "PATH": os.defpath}
        return self.run([python(), str(self.folder / _ATTEMPTS.name), name, told], home)

    def try_boxed(self, kind: sandbox.Kind, *argv: str, is_read_only: bool = False) -> subprocess.CompletedProcess[str]:
        """Run a program of the sandbox's own in it."""
        box = sandbox.choose_now(kind)
        access = asyncio.run(workspace_access.find(self.project, self.place, self.place.home, (".codex", ".mcp.json")))
        access = replace(
            access,
            kept=(".claude/settings.json",),
            is_read_only=is_read_only,
            sockets={sandbox.relay_port(box) or 0: Path(self.values["server_socket"])},
            ports=(self.values["server_port"],),
            temporary=Path(self.values["temporary"]),
        )
        home = sandbox.inner_home(box, self.place.home)
        # An ordinary user must be able to run what is ours in the sandbox, also if the tests are in a folder of root.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "executable", python())
            patch.setattr(inside_sandbox, "__file__", str(self.folder / Path(inside_sandbox.__file__).name))
            confined = sandbox.confine(box, access, argv, {"HOME": str(home), "PATH": os.defpath})
        return self.run(list(confined.argv), confined.environment)

    def attempt_boxed(self, kind: sandbox.Kind, name: str) -> subprocess.CompletedProcess[str]:
        """Make an attempt in a sandbox."""
        port = sandbox.relay_port(sandbox.choose_now(kind)) or self.values["server_port"]
        told = json.dumps({**self.values, "is_unboxed": False, "server_port": port})
        return self.try_boxed(kind, python(), str(self.folder / _ATTEMPTS.name), name, told)


@contextlib.contextmanager
def make(user: int) -> Generator[Scene]:
    """Yield a scene whose files and processes belong to `user`."""
    folder = Path(tempfile.mkdtemp(prefix="skelo-scene-", dir="/var/tmp"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        for source in (_ATTEMPTS, Path(inside_sandbox.__file__)):
            shutil.copy(source, folder)
        values, place = _make_files(folder)
        values |= stack.enter_context(_sockets(folder))
        values |= stack.enter_context(_server())
        _give(folder, user)
        _give(Path(values["server_socket"]).parent, user)
        values |= stack.enter_context(_victim(folder / "user", user))
        yield Scene(folder, user, values, place)


def _make_files(folder: Path) -> tuple[dict[str, Any], workspace.Workspace]:
    outside = folder / "user"
    outside.mkdir()
    (outside / "secret.txt").write_text("the secret")
    root = repository.make(outside)
    (root / ".env").write_text("KEY=hunter2")
    (root / ".codex").mkdir()
    (root / ".codex" / "config.toml").write_text("evil = true")
    (root / "real.json").write_text('{"evil": true}')
    (root / ".mcp.json").symlink_to("real.json")
    repository.git(root, "add", "--all", "--force", ".codex", ".mcp.json", "real.json")
    repository.git(root, "commit", "--quiet", "-m", "two")
    repository.git(root, "remote", "add", "origin", "https://ada:hunter2@example.org/x.git")
    data_dir = root / ".skelo"
    place = data_dir / "workspaces" / "run" / "work"
    other = data_dir / "workspaces" / "other" / "home"
    for path in (place / "home" / ".claude", other, folder / "temporary"):
        path.mkdir(parents=True)
    (place / "home" / ".claude" / "settings.json").write_text("{}")
    (other / "token").write_text("hunter2")
    (data_dir / "log.db").write_text("hunter2")
    repository.git(root, "worktree", "add", "--quiet", "--detach", str(place / "tree"))
    origin = workspace.Origin(
        run_id="run", node="work", kind="worktree", repository=str(root), folder="", base="HEAD", branch=""
    )
    values = {
        "outside": str(outside),
        "secret": str(outside / "secret.txt"),
        "repository": str(root),
        "data_dir": str(data_dir),
        "tree": str(place / "tree"),
        "temporary": str(folder / "temporary"),
    }
    return values, workspace.Workspace(place, origin)


@contextlib.contextmanager
def _sockets(folder: Path) -> Generator[dict[str, Any]]:
    """Yield listeners of the host, on TCP, UDP, and unix sockets with and without a file, and shared memory."""
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("0.0.0.0", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        threading.Thread(target=_echo, args=(udp,), daemon=True).start()
        name = f"skelo-test-{os.getpid()}-{folder.name}"
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind("\0" + name)
        abstract.listen(64)
        file = stack.enter_context(socket.socket(socket.AF_UNIX))
        file.bind(str(folder / "host.sock"))
        (folder / "host.sock").chmod(0o777)
        file.listen(64)
        shared = Path("/dev/shm") / name
        shared.write_text("hunter2")
        stack.callback(shared.unlink)
        shared.chmod(0o644)
        tmp = Path(tempfile.mkdtemp(prefix="skelo-shared-"))
        tmp.chmod(0o777)
        stack.callback(shutil.rmtree, tmp, ignore_errors=True)
        key = 0x5EED0000 + os.getpid() % 0xFFFF
        libc = ctypes.CDLL(None, use_errno=True)
        memory = libc.shmget(key, 16, 0o1666)
        assert memory >= 0, os.strerror(ctypes.get_errno())
        stack.callback(libc.shmctl, memory, 0, None)
        yield {
            "tcp_port": tcp.getsockname()[1],
            "udp_port": udp.getsockname()[1],
            "abstract_socket": name,
            "file_socket": str(folder / "host.sock"),
            "shared_memory": str(shared),
            "shared_tmp": str(tmp),
            "memory_key": key,
        }


def _echo(udp: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            data, sender = udp.recvfrom(1024)
            udp.sendto(data, sender)


@contextlib.contextmanager
def _server() -> Generator[dict[str, Any]]:
    """Yield our own server with the sessions of two agents."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = session_server.SessionServer()

    async def say_hello(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
        await send({"type": "http.response.body", "body": b"hello"})

    def wait(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(_SECONDS)

    own, other = wait(server.open({"hello": say_hello})), wait(server.open({"hello": say_hello}))
    try:
        yield {
            "server_socket": str(wait(server.socket_path())),
            "server_port": int(own.root.split(":")[2].split("/")[0]),
            "own_path": own.root.rpartition("/")[2],
            "token": own.token,
            "other_path": other.root.rpartition("/")[2],
            "other_token": other.token,
        }
    finally:
        wait(server.close())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextlib.contextmanager
def _victim(folder: Path, user: int) -> Generator[dict[str, Any]]:
    """Yield a process of the same user, with a secret in its environment."""
    mark = f"86{os.getpid()}"
    victim = subprocess.Popen(["sleep", mark], cwd=folder, env={"VICTIM_SECRET": "hunter2"}, **_identity(user))
    try:
        yield {"victim": victim.pid, "victim_mark": mark}
    finally:
        victim.kill()
        victim.wait()


def _identity(user: int) -> dict[str, Any]:
    """Return the arguments of `subprocess` that let a program run as this user."""
    return {} if user == os.getuid() else {"user": user, "group": user, "extra_groups": []}


def _give(folder: Path, user: int) -> None:
    """Make a folder and all that is in it the user's own."""
    if user == os.getuid():
        return
    os.chown(folder, user, user)
    for path in folder.rglob("*"):
        os.chown(path, user, user, follow_symlinks=False)
