"""The sandbox by bubblewrap: the program gets namespaces of its own, with only what is mounted into them.

    /usr, /bin, /lib, …       the system's programs, read-only; of /etc only what is named below
    TREE                      the workspace, under its own path; read-only for planning
    /skelo/home               the home folder, with the agent's settings mounted read-only over it
    /skelo/inside_sandbox.py      our program inside, which carries loopback ports to the sockets in /skelo
    /tmp, /dev, /proc         its own; there are no other processes
    all other paths           do not exist, and cannot be made: the root is read-only

The program has no capabilities, also as root, and cannot make namespaces of its own: so it can undo no mount. The
environment is inherited by bwrap and not told in its arguments, which other users can read.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from openskelo import errors
from openskelo.agents.sandbox import inside_sandbox, program_paths
from openskelo.agents.sandbox.sandbox_access import Access, Confined

#: What is ours inside.
_OURS = Path("/skelo")
HOME = _OURS / "home"
INSIDE = _OURS / "inside_sandbox.py"
_CONFINED = (
    *("--unshare-all", "--unshare-user", "--die-with-parent", "--cap-drop", "ALL"),
    *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),  # noqa: S108 -- the sandbox's own
)
#: The options that every sandbox has, the best ones first: bwrap before 0.8 does not know the first of them.
OPTIONS = (("--disable-userns", *_CONFINED), _CONFINED)
#: What programs of all kinds need of /etc. Passwords, keys and the machine's own settings are not among it.
_ETC = (
    *("alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "debian_version", "fonts"),
    *("gitconfig", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "magic", "mime.types", "nsswitch.conf"),
    *("os-release", "pki", "protocols", "services", "ssl/certs", "ssl/openssl.cnf", "timezone"),
)


def system_mounts() -> tuple[str, ...]:
    """Return the options that show the system's own folders, read-only."""
    words: list[str] = []
    for path in program_paths.SYSTEM:
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    for path in sorted(_kernel_settings()):
        words += ["--ro-bind", str(path), str(path)]
    return tuple(words)


def _kernel_settings() -> Iterator[Path]:
    """Yield the settings of the whole machine in /proc. Root may write them even without capabilities."""
    for path in Path("/proc").iterdir():
        if path.name.isdecimal() or path.is_symlink():
            continue
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode) or mode & 0o222:
            yield path


def confine(options: Sequence[str], access: Access, argv: Sequence[str], environment: Mapping[str, str]) -> Confined:
    """Return how the program is started; raise AttemptFailed SANDBOX_PROGRAM if it would not be visible inside.

    `options` are bwrap and what every sandbox has.
    """
    mounts = _Mounts(access)
    search = environment["PATH"]
    programs = [
        *program_paths.needed_by(Path(argv[0]), search, access.private),
        *program_paths.needed_by(Path(sys.executable), search, access.private),
        *program_paths.named_in(argv[1:], access.private),
    ]
    for path in (*access.readable, *programs):
        mounts.show(path)
    mounts.show_workspace()
    mounts.show_home()
    mounts.show_ours()
    if not mounts.is_visible(Path(argv[0])):
        raise errors.AttemptFailed(
            f"{argv[0]} is in a folder that the sandbox does not show",
            code="SANDBOX_PROGRAM",
            hint="install it in a folder of its own, or name its folder under `read_roots` in skelo.yaml",
            retryable=False,
        )
    sockets = [f"{port}={_OURS / socket.name}" for port, socket in access.sockets.items()]
    inside = (os.path.realpath(sys.executable), "-I", "-S", str(INSIDE), "relay", *sockets, "--", *argv)
    words = (*options, *mounts.options(), "--chdir", str(access.folder), "--", *inside)
    visible = [folder for folder in search.split(os.pathsep) if folder and mounts.is_visible(Path(folder))]
    return Confined(argv=words, environment={**environment, "PATH": os.pathsep.join(visible)}, ignores_sigterm=True)


class _Mounts:
    """The mounts of one sandbox, by the path inside. What is deeper comes later, and so lies above."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._mounts: dict[Path, tuple[str, ...]] = {}
        self._sealed: list[Path] = [Path("/")]

    def show(self, path: Path, *, source: Path | None = None, is_writable: bool = False) -> None:
        """Show a file or folder, under its own path unless it has another `source`."""
        if (source or path).exists():
            self._mounts[path] = ("--bind" if is_writable else "--ro-bind", str(source or path), str(path))

    def is_visible(self, path: Path) -> bool:
        """True if the path is in what is shown."""
        for folder in (path, *path.parents):
            if folder in self._mounts:
                return self._mounts[folder][0] != "--tmpfs"
        return program_paths.is_below(path, program_paths.SYSTEM)

    def options(self) -> tuple[str, ...]:
        """Return the options of bwrap: the system, then all mounts from the top to the bottom, then the seals."""
        words = list(system_mounts())
        for path in self._access.private:
            if self.is_visible(path):
                self._hide(path)
        for path in sorted(self._mounts, key=lambda path: path.parts):
            words += self._mounts[path]
        for path in self._sealed:
            words += ["--remount-ro", str(path)]
        return tuple(words)

    def show_workspace(self) -> None:
        """Show the tree; parts of it are read-only, or empty."""
        access = self._access
        self.show(access.tree, is_writable=not access.is_read_only)
        for path in access.protected:
            self.show(path)
        for path, source in access.replaced.items():
            self.show(path, source=source)
        for path in access.masked:
            self._mask(path)

    def show_home(self) -> None:
        """Show the home. Each folder around a kept file is a mount, too: a mount cannot be moved away."""
        home = self._access.home
        self.show(HOME, source=home, is_writable=True)
        for name in self._access.kept:
            for folder in PurePosixPath(name).parents:
                if folder.parts:
                    self.show(HOME / folder, source=home / folder, is_writable=True)
            self.show(HOME / name, source=home / name)

    def show_ours(self) -> None:
        """Show our program, the sockets, and what of /etc programs need."""
        for name in _ETC:
            self.show(Path("/etc") / name)
        user, group = os.getuid(), os.getgid()
        self._show_text("/etc/passwd", f"agent:x:{user}:{group}:agent:{HOME}:/bin/sh\n")
        self._show_text("/etc/group", f"agent:x:{group}:\n")
        self._show_text("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n")
        self.show(INSIDE, source=Path(inside_sandbox.__file__))
        for socket in self._access.sockets.values():
            self.show(_OURS / socket.name, source=socket)

    def _show_text(self, path: str, text: str) -> None:
        file = self._access.scratch / Path(path).name
        file.write_text(text)
        self.show(Path(path), source=file)

    def _hide(self, path: Path) -> None:
        """Mount an empty folder over `path`, unless something is mounted exactly there."""
        if path.is_dir() and path not in self._mounts:
            self._mounts[path] = ("--tmpfs", str(path))
            self._sealed.append(path)

    def _mask(self, path: Path) -> None:
        """Mount an empty file or folder over `path`; if it is a link, over the place in the tree that it leads to."""
        tree = self._access.tree.resolve()
        real = path.resolve()
        if not real.is_relative_to(tree) or real == tree or not real.exists():
            return  # nothing is there, or nothing of it is visible
        path = self._access.tree / real.relative_to(tree)
        if stat.S_ISDIR(path.stat().st_mode):
            self._hide(path)
            return
        empty = self._access.scratch / "empty"
        empty.write_bytes(b"")
        self.show(path, source=empty)
