#!/bin/sh
# Installs the named tools if they are missing: rust (the pinned toolchain, a linker, Python), valgrind, fuzz (a nightly
# toolchain and cargo-fuzz), deny (cargo-deny), htsim (a compiler for C++, make), memcached (with memccapable),
# memcached-build (tools to build its newest release), nutcracker, prometheus, node, chromium, firefox, release (tools to build archives and
# packages), fresh-root (mmdebstrap), tshark, capture (tcpdump, nftables, ethtool), shellcheck, python (3.10 or newer, with environments). Prints nothing if nothing is missing; may be run again at any time.
set -eu
cd "$(dirname "$0")/.."
PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
log=$(mktemp)
trap 'rm -f "$log"' EXIT

say() { echo "setup: $*" >&2; }

quietly() {
    "$@" >"$log" 2>&1 || { tail -n 20 "$log" >&2; say "failed: $*"; exit 3; }
}

apt_updated=
packages() {
    command -v apt-get >/dev/null || { say "install $* first: this system has no apt-get"; exit 3; }
    root=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || { say "install $* first: that needs root, and there is no sudo"; exit 3; }
        root=sudo
    fi
    say "installing $*"
    [ -n "$apt_updated" ] || quietly $root apt-get update
    apt_updated=yes
    quietly $root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

rust() {
    command -v cc >/dev/null || packages gcc libc6-dev
    command -v python3 >/dev/null || packages python3
    if ! command -v rustup >/dev/null; then
        command -v curl >/dev/null || packages curl ca-certificates
        say "installing rustup"
        if curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs -o "$log.sh" 2>/dev/null; then
            quietly sh "$log.sh" -y --no-modify-path --profile minimal --default-toolchain none
            rm -f "$log.sh"
        else
            say "sh.rustup.rs cannot be reached: trying the system's own rustup"
            packages rustup
        fi
    fi
    channel=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
    # A toolchain may be there without the components that rust-toolchain.toml names.
    if ! rustup run "$channel" cargo-clippy --version >/dev/null 2>&1 ||
        ! rustup run "$channel" rustfmt --version >/dev/null 2>&1; then
        say "installing Rust $channel"
        quietly rustup toolchain install "$channel" --profile minimal --component rustfmt --component clippy
    fi
}

fuzz() {
    rust
    if ! rustup run nightly rustc --version >/dev/null 2>&1; then
        say "installing Rust nightly"
        quietly rustup toolchain install nightly --profile minimal
    fi
    command -v g++ >/dev/null || packages g++
    if ! command -v cargo-fuzz >/dev/null; then
        say "installing cargo-fuzz"
        quietly env -u CARGO_TARGET_DIR cargo +nightly install --locked cargo-fuzz
    fi
}

deny() {
    rust
    if ! command -v cargo-deny >/dev/null; then
        say "installing cargo-deny, which takes minutes"
        # It runs for a second: to optimise it would take longer than it ever saves. The one on PyPI, which is built already, is of 2023
        # and does not know all licences.
        quietly env -u CARGO_TARGET_DIR CARGO_PROFILE_DEV_DEBUG=0 cargo install --locked --debug cargo-deny@0.20.2
    fi
}

node() {
    new_enough='^v(2[0-9]|[3-9][0-9])\.'
    has_node() { command node --version 2>/dev/null | grep -Eq "$new_enough" && command -v npm >/dev/null; }
    has_node || packages nodejs npm
    has_node || { say "Node 20 or newer is needed, and this system offers $(command node --version)"; exit 3; }
}

python() {
    fits() { command python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; }
    fits || packages python3 python3-venv
    fits || { say "Python 3.10 or newer is needed, and this system offers $(command python3 --version)"; exit 3; }
}

for need in "$@"; do
    case $need in
        rust) rust ;;
        valgrind) command -v valgrind >/dev/null || packages valgrind ;;
        shellcheck) command -v shellcheck >/dev/null || packages shellcheck ;;
        tshark) command -v tshark >/dev/null || packages tshark ;;
        fuzz) fuzz ;;
        deny) deny ;;
        htsim) command -v g++ >/dev/null && command -v make >/dev/null || packages g++ make ;;
        memcached) command -v memccapable >/dev/null && command -v memcached >/dev/null || packages memcached libmemcached-tools ;;
        memcached-build) command -v make >/dev/null && [ -e /usr/include/event.h ] || packages gcc libc6-dev make libevent-dev ;;
        prometheus) command -v prometheus >/dev/null || packages prometheus ;;
        nutcracker) command -v nutcracker >/dev/null || packages nutcracker ;;
        # A static program's C parts, man pages, packages, and a compiler for arm64 where there is one.
        release)
            command -v musl-gcc >/dev/null && command -v help2man >/dev/null || packages musl-tools help2man dpkg-dev
            [ "$(uname -m)" != x86_64 ] || command -v aarch64-linux-gnu-gcc >/dev/null || packages gcc-aarch64-linux-gnu libc6-dev-arm64-cross
            ;;
        capture) command -v tcpdump >/dev/null && command -v nft >/dev/null && command -v ethtool >/dev/null || packages tcpdump nftables ethtool iproute2 ;;
        fresh-root) command -v mmdebstrap >/dev/null || packages mmdebstrap debian-archive-keyring ;;
        node) node ;;
        python) python ;;
        # Where the browser's tests look for it.
        chromium) [ -e /usr/bin/chromium ] || packages chromium ;;
        firefox) [ -e /usr/bin/firefox-esr ] || packages firefox-esr ;;
        *) say "unknown: $need"; exit 2 ;;
    esac
done
