"""The project: the folder around workflow files, and the permissions in its `skelo.yaml`.

`workflows.project` reads the file and returns this value. Executors, engine, server and command line receive it, so
none of them reads `skelo.yaml` itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from openskelo.agent_settings import AgentsConfig
from openskelo.handlers import project_registry
from openskelo.structs import field, frozen

if TYPE_CHECKING:
    from openskelo.providers import config
    from openskelo.wire import webhook


@frozen
class Project:
    """The permissions of a project: roots and switches from `skelo.yaml`; all paths are real and absolute."""

    root: Path
    data_dir: Path
    #: Without any, data may write below `out/` in the root.
    write_roots: tuple[Path, ...] = ()
    read_roots: tuple[Path, ...] = ()
    allow_commands: bool = False
    allow_private_addresses: bool = False
    secrets: Mapping[str, str] | None = None
    #: Its providers and experts; None when the caller passes a provider, or the project has none.
    models: config.Config | None = None
    #: The tools, checkers, transforms and contexts that its plans may use.
    registry: project_registry.Registry = field(default_factory=project_registry.Registry)
    #: The receivers that a server calls.
    webhooks: tuple[webhook.Webhook, ...] = ()
    #: Its coding agents.
    agents: AgentsConfig = field(default_factory=AgentsConfig)
