#!/bin/sh
# Looks for a Chromium for the dashboard's tests. As root on Debian it installs one, and says what it is about to
# install; otherwise it says what is missing and how to get it, and exits with 1.
set -eu
for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
    if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    planned() { apt-get install --simulate --no-install-recommends chromium 2>/dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p'; }
    packages=$(planned)
    if [ -z "$packages" ]; then
        apt-get update >/dev/null
        packages=$(planned)
    fi
    echo "The dashboard's tests need Chromium. About to install these Debian packages:"
    echo "$packages" | tr '\n' ' ' | fold -s -w 100 | sed 's/^/  /'
    echo
    apt-get install -y --no-install-recommends chromium >/dev/null
    exit 0
fi
echo "The dashboard's tests and its benchmark need Chromium, and there is none. How to get it:" >&2
echo "  Debian: apt install chromium (as root); macOS: brew install --cask chromium;" >&2
echo "  or name one that is there: CHROMIUM=/path/to/chromium make test" >&2
exit 1
