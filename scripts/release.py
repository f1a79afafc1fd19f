"""What a release contains beside the Python files: the built dashboard and a list of all packages (an SBOM).

`python -m build` (also `make dist`) calls `ReleaseHook` for the source archive and for the wheel. In a checkout it
builds the dashboard first; in a source archive the dashboard is already built, and Node is not needed. An editable
install skips all of this.

The SBOM is a CycloneDX document of what `requirements/runtime.lock` and `web/package-lock.json` lock. It is a function
of these files alone, and names packages by purl only. `python scripts/release.py FILE` writes it (`make sbom`).
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DASHBOARD = "src/openskelo/server/web/index.html"
SBOM = "build/openskelo.cdx.json"
_PIN = re.compile(r"^([a-z0-9._-]+)==([^\s;\\]+)(?:\s*;\s*([^\\\n]+?))?\s*\\?$", re.MULTILINE)


class ReleaseHook(BuildHookInterface):  # pyright: ignore[reportMissingTypeArgument]
    """Adds the dashboard and the SBOM to what hatchling builds."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is missing; raise RuntimeError if the dashboard cannot be built."""
        if version == "editable":
            return
        root = Path(self.root)
        if not (root / "PKG-INFO").exists():  # only a source archive has this file
            built = subprocess.run(["sh", "scripts/web.sh"], cwd=root, check=False)  # noqa: S607
            if built.returncode:
                raise RuntimeError("the dashboard could not be built, and a release contains it")
        if not (root / DASHBOARD).is_file():
            raise RuntimeError(f"{DASHBOARD} is missing, and a release contains the dashboard")
        if self.target_name == "wheel":
            write_sbom(root, root / SBOM)
            build_data["sbom_files"].append(SBOM)


def write_sbom(root: Path, path: Path) -> None:
    """Write the SBOM of the project at `root` to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(sbom(root), indent=2) + "\n", "utf-8")


def sbom(root: Path) -> dict[str, Any]:
    """Return the CycloneDX document of the locked runtime packages and of the packages in the dashboard."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    lock = (root / "requirements" / "runtime.lock").read_text("utf-8")
    packages = json.loads((root / "web" / "package-lock.json").read_text("utf-8"))["packages"]
    components = [*_python_components(lock), *_web_components(packages)]
    own = {
        **_component(f"pkg:pypi/{project['name']}@{project['version']}", project["name"], project["version"]),
        "type": "application",
        "licenses": [{"expression": project["license"]}],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": [component["bom-ref"] for component in components]}],
    }


def _component(purl: str, name: str, version: str) -> dict[str, Any]:
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _python_components(lock: str) -> Iterator[dict[str, Any]]:
    for name, version, marker in _PIN.findall(lock):
        component = _component(f"pkg:pypi/{name}@{version}", name, version)
        if marker:
            component["scope"] = "optional"
            component["properties"] = [{"name": "openskelo:marker", "value": marker}]
        yield component


def _web_components(packages: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for folder, locked in packages.items():
        if not folder or locked.get("dev") or locked.get("devOptional") or folder.startswith("node_modules/@types/"):
            continue
        name = folder.rpartition("node_modules/")[2]
        algorithm, _, digest = locked["integrity"].partition("-")
        yield {
            **_component(f"pkg:npm/{quote(name, safe='/')}@{locked['version']}", name, locked["version"]),
            "hashes": [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": base64.b64decode(digest).hex()}],
            "licenses": [{"expression": locked["license"]}],
        }


if __name__ == "__main__":
    write_sbom(Path(__file__).resolve().parent.parent, Path(sys.argv[1]))
