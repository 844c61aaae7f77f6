#!/bin/sh
# Gets what web/ needs: its packages, and with `chromium` the browser of its tests. Says what cannot be had; exit 3.
set -eu
cd "$(dirname "$0")/.."

if ! node --version 2>/dev/null | grep -Eq '^v(2[0-9]|[3-9][0-9])\.'; then
  echo "web: Node 20 or newer is needed and not installed" >&2
  exit 3
fi
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --silent --no-audit --no-fund
fi
if [ "${1:-}" = chromium ] && [ ! -e /usr/bin/chromium ]; then
  echo "web: installing Debian's chromium" >&2
  as_root=$([ "$(id -u)" = 0 ] || echo sudo)
  { $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 ||
    echo "web: chromium cannot be installed here; its tests will be skipped" >&2
fi
