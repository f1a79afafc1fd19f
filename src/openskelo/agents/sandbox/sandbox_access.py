"""The files and addresses that a sandbox lets through (`Access`), and the command that starts in it (`Confined`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from openskelo.structs import field, frozen


@frozen
class Access:
    """The files and addresses that a confined program may reach."""

    #: The whole workspace, which the program may change unless `is_read_only`.
    tree: Path
    #: The part of `tree` in which it works.
    folder: Path
    #: It may write here, but not to the files `kept`.
    home: Path
    #: It may write here.
    temporary: Path
    #: A folder for files that the sandbox itself needs, which the program does not see.
    scratch: Path
    is_read_only: bool = False
    #: Paths below the home that the program cannot change.
    kept: tuple[str, ...] = ()
    #: What else it may read.
    readable: tuple[Path, ...] = ()
    #: Of what it may read or write: what it cannot write.
    protected: tuple[Path, ...] = ()
    #: Of what it may read or write: what is empty for it.
    masked: tuple[Path, ...] = ()
    #: Of what it may read or write: files that have the content of another file.
    replaced: Mapping[Path, Path] = field(default_factory=dict[Path, Path])
    #: Folders of which nothing else is visible, even if one of the others holds them.
    private: tuple[Path, ...] = ()
    #: The unix sockets that it reaches, by the loopback port at which it finds them.
    sockets: Mapping[int, Path] = field(default_factory=dict[int, Path])
    #: The loopback ports that stand for the sockets where the program keeps the machine's own loopback.
    ports: tuple[int, ...] = ()


@frozen
class Confined:
    """The command and the environment that start a program inside its sandbox."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    #: The first process of it must outlive a SIGTERM to its group.
    ignores_sigterm: bool = False
