#!/bin/sh
# Looks for a C compiler: the tests of failing syncs compile a small library. As root on Debian it installs one.
set -eu
if command -v cc >/dev/null 2>&1; then exit 0; fi
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "The tests of failing syncs need a C compiler. About to install the Debian packages gcc and libc6-dev."
    apt-get update >/dev/null
    apt-get install -y --no-install-recommends gcc libc6-dev >/dev/null
    exit 0
fi
echo "The tests of failing syncs need a C compiler (cc). Debian: apt install gcc libc6-dev (as root)." >&2
exit 1
