#!/bin/sh
# Makes the virtual environment DIR when there is none, with a Python that is new enough, or says what is missing.
# Usage: venv.sh DIR    (PYTHON=/path/to/python chooses the interpreter)
set -eu
dir=$1

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ -x "$dir/bin/python" ] && new_enough "$dir/bin/python"; then
    exit 0
fi

found=
for python in ${PYTHON:-python3 python3.11 python3.12 python3.13 python3.14}; do
    if command -v "$python" >/dev/null 2>&1 && new_enough "$python"; then
        found=$python
        break
    fi
done
if [ -z "$found" ]; then
    echo "OpenSkelo needs Python 3.11 or newer; looked for: ${PYTHON:-python3, python3.11 ... python3.14}." >&2
    echo "Install it (Debian: apt install python3 python3-venv; macOS: brew install python@3.11)," >&2
    echo "or name it: make setup PYTHON=/path/to/python" >&2
    exit 1
fi
if ! "$found" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    echo "$found cannot make virtual environments: its venv and ensurepip modules are not installed." >&2
    echo "On Debian and Ubuntu: apt install python3-venv; then run make again." >&2
    exit 1
fi
echo "making $dir with $("$found" --version)"
rm -rf "$dir"
"$found" -m venv "$dir"
