#!/bin/sh
# Installs Node, the packages of web/, and with `chromium` the browser of its tests. Prints an error and exits with 3 if one is not available.
set -eu
cd "$(dirname "$0")/.."

../scripts/setup.sh node "$@"
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --silent --no-audit --no-fund || {
    echo "web: npm cannot get the packages of web/package-lock.json" >&2
    exit 3
  }
fi
