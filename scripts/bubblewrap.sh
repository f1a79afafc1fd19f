#!/bin/sh
# Looks for bubblewrap, in which the tests of coding agents run. As root on Debian it installs it, and says so;
# otherwise it says what is missing and how to get it, and exits with 1.
set -eu
if command -v bwrap >/dev/null 2>&1; then exit 0; fi
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "The tests of coding agents need bubblewrap. About to install the Debian package bubblewrap."
    if ! apt-get install -y --no-install-recommends bubblewrap >/dev/null 2>&1; then
        apt-get update >/dev/null
        apt-get install -y --no-install-recommends bubblewrap >/dev/null
    fi
    exit 0
fi
echo "The tests of coding agents need bubblewrap (the program bwrap), and there is none. How to get it:" >&2
echo "  Debian, Ubuntu: apt install bubblewrap (as root); Fedora: dnf install bubblewrap" >&2
exit 1
