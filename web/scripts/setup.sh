#!/bin/sh
# Gets what web/ needs: Node, its packages, and with `chromium` the browser of its tests. Says what cannot be had; exit 3.
set -eu
cd "$(dirname "$0")/.."

../scripts/setup.sh node "$@"
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --silent --no-audit --no-fund || {
    echo "web: npm cannot get the packages of web/package-lock.json" >&2
    exit 3
  }
fi
