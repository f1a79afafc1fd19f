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
    """The permissions of a project: roots and switches from `skelo.yaml`; all paths are real and absolute.

    Without `write_roots`, data may write below `out/` in the root.

    `models` are its providers and experts; None when the caller passes a provider, or the project has none. `registry`
    holds the tools, checkers, transforms and contexts that its plans may use. `agents` are its coding agents.
    A server calls the `webhooks`.
    """

    root: Path
    data_dir: Path
    write_roots: tuple[Path, ...] = ()
    read_roots: tuple[Path, ...] = ()
    allow_commands: bool = False
    allow_private_addresses: bool = False
    secrets: Mapping[str, str] | None = None
    models: config.Config | None = None
    registry: project_registry.Registry = field(default_factory=project_registry.Registry)
    webhooks: tuple[webhook.Webhook, ...] = ()
    agents: AgentsConfig = field(default_factory=AgentsConfig)
