#!/bin/sh
# Sees to it that there is a Chromium for the dashboard's tests: looks for one, installs Debian's where it may.
set -eu
for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
    if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "installing chromium, for the dashboard's tests"
    apt-get install -y --no-install-recommends chromium >/dev/null && exit 0
    apt-get update >/dev/null
    apt-get install -y --no-install-recommends chromium >/dev/null
    exit 0
fi
echo "The dashboard's tests need Chromium (Debian: apt install chromium), or CHROMIUM=/path/to/it." >&2
exit 1
