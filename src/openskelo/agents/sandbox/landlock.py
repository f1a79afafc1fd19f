"""The sandbox by Landlock: rules of the kernel on which files a program may open and to which ports it may connect.

It needs no program and no privilege, so it is there where bubblewrap is not. The program keeps the machine's loopback
and sees its processes. `inside_sandbox` applies the rules and then becomes the program.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from openskelo.agents.sandbox import inside_sandbox, program_paths
from openskelo.agents.sandbox.sandbox_access import Access, Confined

#: What programs of all kinds read, beside the system's folders.
_READABLE = (
    "/proc",
    "/sys",
    "/dev/random",
    "/dev/urandom",
    "/dev/fd",
    "/etc/ssl",
    "/etc/ca-certificates",
    "/etc/pki",
    "/etc/alternatives",
)
_READABLE_FILES = (
    *("/etc/ld.so.cache", "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf"),
    *("/etc/localtime", "/etc/gitconfig", "/etc/host.conf", "/etc/protocols", "/etc/services"),
)
#: Devices that a shell and its programs write to.
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts")
_ABI_TCP, _ABI_SIGNALS = 4, 6


def limits(version: int) -> tuple[str, ...]:
    """Return what this version of Landlock does not prevent."""
    always = (
        "it sees names, sizes and owners of all files, and can change their modes and times, but cannot open them",
        "it sees the other processes of the machine and their command lines",
        "it can send UDP, and so ask name servers",
        "it can connect to sockets that are files, such as that of a container engine",
        "it can change its own settings in its home, and read the repository's config and its settings for agents",
    )
    if version >= _ABI_TCP:
        tcp = "the one TCP port that it may use is open to it on every host"
    else:
        tcp = "it can use TCP freely: this kernel is older than 6.7"
    signals = () if version >= _ABI_SIGNALS else ("it can send signals to other processes of this user",)
    return (*always, tcp, *signals)


def encode(read: Sequence[Path], write: Sequence[Path], ports: Sequence[int]) -> str:
    """Return the rules as `inside_sandbox` takes them."""
    return json.dumps({"read": [str(path) for path in read], "write": [str(path) for path in write], "ports": ports})


def confine(access: Access, argv: Sequence[str], environment: Mapping[str, str]) -> Confined:
    """Return how the program is started."""
    search = environment["PATH"]
    programs = [
        *program_paths.needed_by(Path(argv[0]), search, access.private),
        *program_paths.needed_by(Path(sys.executable), search, access.private),
        *program_paths.named_in(argv[1:], access.private),
        Path(inside_sandbox.__file__),  # the agent starts it for the hook, or for our tools
    ]
    read = [
        *program_paths.SYSTEM,
        *map(Path, (*_READABLE, *_READABLE_FILES)),
        *access.readable,
        *access.protected,
        *programs,
    ]
    write = [access.home, access.temporary, *map(Path, _DEVICES)]
    (read if access.is_read_only else write).append(access.tree)
    rules = encode(read=read, write=write, ports=access.ports)
    words = (os.path.realpath(sys.executable), "-I", "-S", inside_sandbox.__file__, "landlock", rules, "--", *argv)
    return Confined(argv=words, environment={**environment, "TMPDIR": str(access.temporary)})
