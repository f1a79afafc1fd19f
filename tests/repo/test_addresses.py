"""No committed file names where packages were fetched from, or where on whose machine the work was done."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.repo import tracked

#: Folders that many machines share: naming one says nothing about whose machine it was.
SHARED = {"/", "/tmp", "/var/tmp", "/private/tmp", "/home", "/Users", "/opt", "/srv", "/usr/local", "/usr/src", "/mnt"}

#: Asks pip for the index it uses when nothing is set, since this file may not name it either.
DEFAULT_INDEX = "from pip._internal.models.index import PyPI as i; print(i.url, 'https://' + i.file_storage_domain)"


def _said_by(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL).stdout


def registry_hosts() -> set[str]:
    """The hosts that pip, uv and npm are set up to fetch from, here and now."""
    settings = [
        _said_by(sys.executable, "-m", "pip", "config", "list"),
        _said_by(sys.executable, "-c", DEFAULT_INDEX),
        _said_by("npm", "config", "get", "registry"),
        *(
            value
            for name, value in os.environ.items()
            if re.search(r"index_?url|registry|find_?links", name, re.IGNORECASE)
        ),
    ]
    found = re.findall(r"https?://(?:[^/@\s'\"]*@)?([^/:\s'\"]+)", "\n".join(settings))
    return set(found) - {"127.0.0.1", "localhost"}


def machine_paths() -> set[str]:
    """Paths that exist only on this machine: the checkout, the folder it lies in, and the home of who runs this."""
    places = {tracked.ROOT, tracked.ROOT.parent, Path.home()}
    return {f"{place}/" for place in places if str(place) not in SHARED}


def _naming(words: set[str]) -> list[str]:
    return sorted(
        f"{path.relative_to(tracked.ROOT)} names {word}"
        for path in tracked.files()
        for word in words
        if word in tracked.text(path)
    )


def test_no_file_names_a_registry_host() -> None:
    hosts = registry_hosts()
    assert hosts
    assert _naming(hosts) == []


def test_no_file_names_a_path_of_this_machine() -> None:
    paths = machine_paths()
    assert paths
    assert _naming(paths) == []


def test_the_search_finds_what_it_looks_for() -> None:
    assert "LICENSE names Apache License" in _naming({"Apache License"})
