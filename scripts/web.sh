#!/bin/sh
# Builds the dashboard into the package, when its sources have changed since the last build.
# Usage: web.sh    (from the root of the repository; STAMP names the file that remembers the last build)
set -eu
stamp=${STAMP:-web/node_modules/.built}
built=src/openskelo/server/web/index.html

if [ -f "$stamp" ] && [ -f "$built" ] &&
    [ -z "$(find web -path web/node_modules -prune -o -type f -newer "$stamp" -print | head -n 1)" ]; then
    exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
    echo "The dashboard is built with Node 20 or newer and npm: install nodejs and npm." >&2
    exit 1
fi
echo "building the dashboard"
before=web/node_modules/.package-lock.copy
if ! cmp -s web/package-lock.json "$before" 2>/dev/null; then
    npm ci --prefix web --silent --no-progress
    cp web/package-lock.json "$before"
fi
npm run --prefix web --silent build -- --logLevel warn
touch "$stamp"
