#!/bin/sh
# Prints the path of the newest memcached release, building it from Debian unstable's source package if needed. If that fails, prints
# the reason and exits with 3.
set -eu
cd "$(dirname "$0")/.."
at=$PWD/target/memcached
log=$(mktemp)
trap 'rm -f "$log"' EXIT

lacks() { tail -n 3 "$log" >&2; echo "setup: no newest memcached: $*" >&2; exit 3; }
quietly() { "$@" >"$log" 2>&1; }

if [ -x "$at/memcached" ]; then
    echo "$at/memcached"
    exit
fi
command -v apt-get >/dev/null || lacks "this system has no apt-get"
scripts/setup.sh memcached-build || lacks "what it is built with cannot be installed"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/$') || lacks "no Debian mirror is configured"
rm -rf "$at"
mkdir -p "$at/lists/partial" "$at/source"
echo "deb-src $mirror unstable main" >"$at/sources.list"
apt="-o Dir::Etc::SourceList=$at/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$at/lists -o APT::Sandbox::User=root"
echo "setup: building the newest memcached" >&2
# shellcheck disable=SC2086
quietly apt-get $apt -o pkgCacheGen::Essential=none update || lacks "its index cannot be fetched"
# shellcheck disable=SC2086
(cd "$at/source" && quietly apt-get $apt source --download-only --tar-only memcached) || lacks "its source cannot be fetched"
tar -xf "$at"/source/memcached_*.orig.tar.* -C "$at/source" || lacks "its source is no archive"
(cd "$at"/source/memcached-*/ && quietly ./configure --disable-docs && quietly make -j2 memcached && mv memcached "$at/memcached.new") ||
    lacks "it cannot be built"
rm -rf "$at/source" "$at/lists" "$at/sources.list"
mv "$at/memcached.new" "$at/memcached"
echo "$at/memcached"
