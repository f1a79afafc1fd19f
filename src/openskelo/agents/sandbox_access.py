"""What an agent's program may reach (`Access`), and how it is then started (`Confined`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from openskelo.structs import field, frozen


@frozen
class Access:
    """What a confined program may reach.

    It works in `folder`, a part of `tree`, which it may change unless `is_read_only`. It may write to `home` and to
    `temporary`, but not to the files `kept` (paths below the home). It may read `readable`. Of what it may read or
    write, `protected` cannot be written and `masked` is empty; `replaced` files have the content of another file.
    `private` are folders of which nothing else is visible, even if one of the others holds them.

    `sockets` are the unix sockets that it reaches, by the loopback port at which it finds them; `ports` are the
    loopback ports that stand for the same where the program keeps the machine's own loopback. `scratch` is a folder
    for files that the sandbox itself needs, which the program does not see.
    """

    tree: Path
    folder: Path
    home: Path
    temporary: Path
    scratch: Path
    is_read_only: bool = False
    kept: tuple[str, ...] = ()
    readable: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()
    masked: tuple[Path, ...] = ()
    replaced: Mapping[Path, Path] = field(default_factory=dict[Path, Path])
    private: tuple[Path, ...] = ()
    sockets: Mapping[int, Path] = field(default_factory=dict[int, Path])
    ports: tuple[int, ...] = ()


@frozen
class Confined:
    """How a program is started. `ignores_sigterm`: the first process of it must outlive a SIGTERM to its group."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    ignores_sigterm: bool = False
