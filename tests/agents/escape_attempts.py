"""Attempts to get out of a sandbox. `python escape_attempts.py NAME SCENE` makes one; it ends with 0 if it succeeds.

SCENE is JSON: where the things are that a confined program must not reach (see `test_sandbox.Scene`). Standard library
only: this file runs in the sandbox. `unboxed` says where the same attempt is shown to succeed without a sandbox: for
every user, only for root, or nowhere, because it would do harm or needs what this machine may not have.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

ATTEMPTS: dict[str, Callable[[dict[str, Any]], object]] = {}
UNBOXED: dict[str, str] = {}
_SECONDS = 2.0
_libc = ctypes.CDLL(None, use_errno=True)


def attempt(unboxed: str = "any") -> Callable[[Callable[[dict[str, Any]], object]], None]:
    def add(function: Callable[[dict[str, Any]], object]) -> None:
        ATTEMPTS[function.__name__] = function
        UNBOXED[function.__name__] = unboxed

    return add


def check(result: int) -> int:
    """Raise the error of a call of the C library."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


# -- files outside ----------------------------------------------------------------------------------------------------


@attempt()
def write_beside_the_worktree(scene: dict[str, Any]) -> None:
    path = Path(scene["outside"]) / f"new-{os.getpid()}"
    path.write_text("x")
    path.unlink()


@attempt()
def write_by_dots(scene: dict[str, Any]) -> None:
    way = os.path.relpath(str(scene["outside"]), str(scene["tree"]))
    path = Path(scene["tree"], way, f"dots-{os.getpid()}")
    path.write_text("x")
    path.unlink()


@attempt()
def write_through_a_link(scene: dict[str, Any]) -> None:
    link = Path(scene["tree"]) / f"link-{os.getpid()}"
    link.symlink_to(scene["outside"])
    try:
        (link / "linked").write_text("x")
        (link / "linked").unlink()
    finally:
        link.unlink()


@attempt()
def read_a_file_of_the_user(scene: dict[str, Any]) -> None:
    assert Path(scene["secret"]).read_text() == "the secret"


@attempt()
def read_through_a_link(scene: dict[str, Any]) -> None:
    link = Path(scene["tree"]) / f"secret-{os.getpid()}"
    link.symlink_to(scene["secret"])
    try:
        link.read_text()
    finally:
        link.unlink()


@attempt()
def read_through_the_root_of_a_process(scene: dict[str, Any]) -> None:
    for process in ("self", "1", str(os.getppid())):
        path = Path(f"/proc/{process}/root{scene['secret']}")
        try:
            path.read_text()
        except OSError:
            continue
        return
    raise FileNotFoundError(scene["secret"])


@attempt()
def read_through_the_folder_of_a_process(scene: dict[str, Any]) -> None:
    """The victim's current folder is that of the secret."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            (entry / "cwd" / "secret.txt").read_text()
        except OSError:
            continue
        return
    raise FileNotFoundError("secret.txt")


@attempt()
def link_a_file_of_the_user_into_the_worktree(scene: dict[str, Any]) -> None:
    target = Path(scene["tree"]) / f"hard-{os.getpid()}"
    os.link(scene["secret"], target)
    target.unlink()


@attempt()
def list_the_folder_of_the_user(scene: dict[str, Any]) -> None:
    assert "secret.txt" in [path.name for path in Path(scene["outside"]).iterdir()]


@attempt("root")
def list_the_home_of_root(_scene: dict[str, Any]) -> None:
    assert list(Path("/root").iterdir())


@attempt("root")
def read_the_passwords(_scene: dict[str, Any]) -> None:
    Path("/etc/shadow").read_text()


@attempt("root")
def write_to_the_system(_scene: dict[str, Any]) -> None:
    path = Path("/usr") / f"skelo-test-{os.getpid()}"
    path.write_text("x")
    path.unlink()


@attempt("root")
def write_to_the_root(_scene: dict[str, Any]) -> None:
    path = Path("/") / f"skelo-test-{os.getpid()}"
    path.write_text("x")
    path.unlink()


@attempt()
def read_the_log_of_openskelo(scene: dict[str, Any]) -> None:
    Path(scene["data_dir"], "log.db").read_bytes()


@attempt()
def read_the_home_of_another_agent(scene: dict[str, Any]) -> None:
    Path(scene["data_dir"], "workspaces", "other", "home", "token").read_text()


@attempt()
def read_what_git_ignores_in_the_repository(scene: dict[str, Any]) -> None:
    Path(scene["repository"], ".env").read_text()


@attempt()
def write_a_temporary_file_that_others_see(scene: dict[str, Any]) -> None:
    """The test looks for the file outside, and the program that may not make it fails here."""
    path = Path(scene["shared_tmp"])
    assert path.stat()
    (path / f"seen-{os.getpid()}").write_text("x")


@attempt()
def read_the_shared_memory_folder(scene: dict[str, Any]) -> None:
    Path(scene["shared_memory"]).read_text()


# -- the repository ---------------------------------------------------------------------------------------------------


@attempt()
def write_a_file_of_the_repository(scene: dict[str, Any]) -> None:
    with Path(scene["repository"], "hello.txt").open("a") as file:
        file.write("")


@attempt()
def write_the_config_of_the_repository(scene: dict[str, Any]) -> None:
    with Path(scene["repository"], ".git", "config").open("a") as file:
        file.write("")


@attempt()
def read_the_password_of_a_remote(scene: dict[str, Any]) -> None:
    assert "hunter2" in Path(scene["repository"], ".git", "config").read_text()


@attempt()
def add_a_hook_to_the_repository(scene: dict[str, Any]) -> None:
    path = Path(scene["repository"], ".git", "hooks", f"post-{os.getpid()}")
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.unlink()


@attempt()
def add_a_branch_to_the_repository(scene: dict[str, Any]) -> None:
    command = ["git", "update-ref", f"refs/heads/evil-{os.getpid()}", "HEAD"]
    subprocess.run(command, cwd=scene["tree"], check=True, capture_output=True)


@attempt()
def set_the_config_with_git(scene: dict[str, Any]) -> None:
    command = ["git", "config", "alias.evil", "!true"]
    subprocess.run(command, cwd=scene["tree"], check=True, capture_output=True)


@attempt()
def write_an_object_of_the_repository(scene: dict[str, Any]) -> None:
    command = ["git", "hash-object", "-w", "--stdin"]
    subprocess.run(command, cwd=scene["tree"], input=os.urandom(16), check=True, capture_output=True)


@attempt()
def lead_git_somewhere_else(scene: dict[str, Any]) -> None:
    link = Path(scene["tree"], ".git")
    text = link.read_text()
    link.write_text(text)


@attempt()
def move_the_link_to_git_away(scene: dict[str, Any]) -> None:
    link, moved = Path(scene["tree"], ".git"), Path(scene["tree"], "moved")
    link.rename(moved)
    moved.rename(link)


@attempt()
def remove_the_link_to_git(scene: dict[str, Any]) -> None:
    link = Path(scene["tree"], ".git")
    text = link.read_text()
    link.unlink()
    link.write_text(text)


# -- its own settings -------------------------------------------------------------------------------------------------


@attempt()
def write_its_own_settings(_scene: dict[str, Any]) -> None:
    with Path(os.environ["HOME"], ".claude", "settings.json").open("a") as file:
        file.write("")


@attempt()
def replace_its_own_settings(_scene: dict[str, Any]) -> None:
    settings = Path(os.environ["HOME"], ".claude", "settings.json")
    other = settings.with_name("other.json")
    other.write_text(settings.read_text())
    other.replace(settings)


@attempt()
def remove_its_own_settings(_scene: dict[str, Any]) -> None:
    settings = Path(os.environ["HOME"], ".claude", "settings.json")
    text = settings.read_text()
    settings.unlink()
    settings.write_text(text)


@attempt()
def move_the_folder_of_its_settings_away(_scene: dict[str, Any]) -> None:
    folder = Path(os.environ["HOME"], ".claude")
    folder.rename(folder.with_name("moved"))
    folder.with_name("moved").rename(folder)


@attempt()
def obey_the_settings_of_the_repository(scene: dict[str, Any]) -> None:
    assert "evil" in Path(scene["tree"], ".codex", "config.toml").read_text()


@attempt()
def obey_the_settings_that_a_link_leads_to(scene: dict[str, Any]) -> None:
    assert "evil" in Path(scene["tree"], ".mcp.json").read_text()


@attempt("no")
def change_our_program_inside(_scene: dict[str, Any]) -> None:
    Path("/skelo/inside_sandbox.py").write_text("x")


@attempt("no")
def remove_our_socket_inside(_scene: dict[str, Any]) -> None:
    Path("/skelo/server.sock").unlink()


# -- other processes --------------------------------------------------------------------------------------------------


@attempt()
def see_other_processes(scene: dict[str, Any]) -> None:
    lines = [read(entry / "cmdline") for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    assert any(line.startswith(f"sleep\0{scene['victim_mark']}".encode()) for line in lines)


@attempt()
def read_the_environment_of_another_process(scene: dict[str, Any]) -> None:
    texts = [read(entry / "environ") for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    assert any(b"VICTIM_SECRET=hunter2" in text for text in texts)


@attempt()
def signal_another_process(scene: dict[str, Any]) -> None:
    os.kill(scene["victim"], signal.SIGCONT)


@attempt()
def signal_a_process_by_a_handle(scene: dict[str, Any]) -> None:
    handle = os.pidfd_open(scene["victim"])
    signal.pidfd_send_signal(handle, signal.SIGCONT)


@attempt()
def change_the_priority_of_another_process(scene: dict[str, Any]) -> None:
    os.setpriority(os.PRIO_PROCESS, scene["victim"], 1)


@attempt("root")
def attach_to_another_process(scene: dict[str, Any]) -> None:
    attach, detach = 16, 17
    check(_libc.ptrace(attach, scene["victim"], 0, 0))
    os.waitpid(scene["victim"], 0x40000000)
    _libc.ptrace(detach, scene["victim"], 0, 0)


@attempt("root")
def open_the_memory_of_another_process(scene: dict[str, Any]) -> None:
    Path(f"/proc/{scene['victim']}/mem").open("rb").close()


@attempt()
def use_shared_memory_of_the_host(scene: dict[str, Any]) -> None:
    check(_libc.shmget(scene["memory_key"], 16, 0))


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


# -- the network ------------------------------------------------------------------------------------------------------


@attempt()
def connect_to_a_port_of_the_host(scene: dict[str, Any]) -> None:
    socket.create_connection(("127.0.0.1", scene["tcp_port"]), _SECONDS).close()


@attempt()
def connect_to_another_loopback_address(scene: dict[str, Any]) -> None:
    socket.create_connection(("127.0.0.2", scene["tcp_port"]), _SECONDS).close()


@attempt("no")
def connect_to_another_host(_scene: dict[str, Any]) -> None:
    socket.create_connection(("192.0.2.1", 443), _SECONDS).close()


@attempt("no")
def connect_to_another_host_by_ipv6(_scene: dict[str, Any]) -> None:
    socket.create_connection(("2001:db8::1", 443), _SECONDS).close()


@attempt()
def exchange_datagrams_with_the_host(scene: dict[str, Any]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.settimeout(_SECONDS)
        sender.sendto(b"hello", ("127.0.0.1", scene["udp_port"]))
        assert sender.recv(16) == b"hello"


@attempt("no")
def resolve_a_name(_scene: dict[str, Any]) -> None:
    socket.getaddrinfo("example.org", 443)


@attempt()
def connect_to_an_abstract_socket(scene: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + scene["abstract_socket"])


@attempt()
def connect_to_a_socket_in_a_file(scene: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(scene["file_socket"])


@attempt("root")
def send_raw_packets(_scene: dict[str, Any]) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()


@attempt("root")
def listen_to_all_packets(_scene: dict[str, Any]) -> None:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0300).close()


@attempt()
def use_the_session_of_another_agent(scene: dict[str, Any]) -> None:
    """With its path, but not its token: the test shows that the token opens it."""
    _ask(scene, scene["other_path"], scene["other_token"] if scene["is_unboxed"] else scene["token"])


@attempt("no")
def use_our_server_without_a_token(scene: dict[str, Any]) -> None:
    _ask(scene, scene["other_path"], "")


@attempt("no")
def guess_the_path_of_a_session(scene: dict[str, Any]) -> None:
    _ask(scene, "A" * 22, scene["token"])


def _ask(scene: dict[str, Any], path: str, token: str) -> None:
    url = f"http://127.0.0.1:{scene['server_port']}/{path}/hello"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
        assert answer.status == 200


# -- the kernel -------------------------------------------------------------------------------------------------------


@attempt("no")
def mount_a_file_system(scene: dict[str, Any]) -> None:
    check(_libc.mount(b"none", scene["tree"].encode(), b"tmpfs", 0, None))


@attempt("no")
def make_the_root_writable_again(_scene: dict[str, Any]) -> None:
    remount, bind = 32, 4096
    check(_libc.mount(None, b"/", None, remount | bind, None))


@attempt("no")
def unmount_its_settings(_scene: dict[str, Any]) -> None:
    check(_libc.umount2(f"{os.environ['HOME']}/.claude/settings.json".encode(), 2))


@attempt()
def make_a_namespace_of_its_own(_scene: dict[str, Any]) -> None:
    new_user = 0x10000000
    check(_libc.unshare(new_user))


@attempt("no")
def enter_the_namespace_of_another_process(scene: dict[str, Any]) -> None:
    handle = os.open(f"/proc/{scene['victim']}/ns/mnt", os.O_RDONLY)
    check(_libc.setns(handle, 0))


@attempt("root")
def change_the_root_folder(scene: dict[str, Any]) -> None:
    os.chroot(scene["tree"])


@attempt("root")
def become_another_user(_scene: dict[str, Any]) -> None:
    os.setresuid(4242, 4242, 4242)


@attempt("root")
def give_a_file_to_another_user(scene: dict[str, Any]) -> None:
    path = Path(scene["tree"]) / f"given-{os.getpid()}"
    path.write_text("x")
    try:
        shutil.chown(path, 4242)
    finally:
        path.unlink()


@attempt("root")
def make_a_device(scene: dict[str, Any]) -> None:
    path = Path(scene["tree"]) / f"device-{os.getpid()}"
    os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(254, 0))
    path.unlink()


@attempt("root")
def open_the_log_of_the_kernel(_scene: dict[str, Any]) -> None:
    Path("/dev/kmsg").open("rb").close()


@attempt("root")
def open_a_setting_of_the_kernel(_scene: dict[str, Any]) -> None:
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))


@attempt("no")
def open_the_trigger_of_the_kernel(_scene: dict[str, Any]) -> None:
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))


@attempt("no")
def set_the_clock(_scene: dict[str, Any]) -> None:
    import time

    time.clock_settime(time.CLOCK_REALTIME, time.time())


@attempt("no")
def name_the_machine(_scene: dict[str, Any]) -> None:
    socket.sethostname(socket.gethostname())


@attempt("no")
def have_capabilities(_scene: dict[str, Any]) -> None:
    status = Path("/proc/self/status").read_text()
    effective = next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff"))
    assert int(effective, 16) != 0


@attempt("no")
def inherit_an_open_file(_scene: dict[str, Any]) -> None:
    assert [entry for entry in Path("/proc/self/fd").iterdir() if int(entry.name) > 2 and entry.exists()]


if __name__ == "__main__":
    try:
        ATTEMPTS[sys.argv[1]](json.loads(sys.argv[2]))
    except (OSError, AssertionError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.exit(1)
