#!/bin/sh
# Builds the ns-3 comparison programs into bench/build/. Installs Debian's ns-3
# and a compiler if they are missing. Says nothing unless something fails.
# shellcheck disable=SC2086 # lists of words are meant to be split
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=$here/../build
mkdir -p "$out"
log=$out/ns3-build.log

modules="ns3-core ns3-network ns3-internet ns3-point-to-point ns3-traffic-control"
have_all() {
    command -v g++ && command -v pkg-config && pkg-config --exists $modules
}

if ! have_all >/dev/null 2>&1; then
    root=
    [ "$(id -u)" = 0 ] || root=sudo
    if ! {
        $root apt-get update &&
            $root env DEBIAN_FRONTEND=noninteractive \
                apt-get install -y --no-install-recommends ns3 libns3-dev g++ pkg-config
    } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        exit 1
    fi
fi

# Only the -l parts: Debian's .pc files also name a stray "-I/usr;" and libraries
# of other packages by path.
libs=$(pkg-config --libs-only-l $modules)
for name in incast shuffle pair; do
    program=$out/ns3-$name
    if [ "$program" -nt "$here/$name.cc" ] && [ "$program" -nt "$here/build.sh" ]; then
        continue
    fi
    if ! g++ -std=c++17 -O2 -Wall -Wextra -o "$program.new" "$here/$name.cc" $libs >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        exit 1
    fi
    mv "$program.new" "$program"
done
