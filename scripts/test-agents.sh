#!/bin/sh
# Install the locked programs of all agents into a temporary folder, and run the tests that drive them.
# Usage: test-agents.sh BIN [arguments of pytest]
# The folder is not below the system's temporary one: Codex does not start its helper programs from there.
set -eu
bin=$(cd "$1" && pwd)
shift
cache=${XDG_CACHE_HOME:-$HOME/.cache}
mkdir -p "$cache"
folder=$(mktemp -d "$cache/skelo-agents.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
for name in claude codex gemini; do
	"$bin/skelo" agents install "$name" --data-dir "$folder/data"
done
SKELO_TEST_AGENTS=$folder/data "$bin/pytest" tests/agents/vendors --basetemp "$folder/tests" -n 2 "$@"
