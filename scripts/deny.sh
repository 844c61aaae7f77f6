#!/bin/sh
# Checks licences, duplicates and sources of every library in Cargo.lock, by deny.toml, and asks the advisory database where it can
# be fetched. Where the checker or the libraries of other systems cannot be had, nothing is checked: that is said, and where
# CI is set it fails.
set -eu
cd "$(dirname "$0")/.."
PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH

cannot() {
    [ -z "${CI:-}" ] || { echo "deny: failed: $*" >&2; exit 1; }
    echo "deny: skipped: $*"
    exit 0
}
deny() { cargo deny --locked --log-level error "$@"; }

scripts/setup.sh deny || cannot "cargo-deny cannot be installed here"
cargo fetch --quiet --locked || cannot "the libraries cannot be fetched here"
deny check licenses bans sources
if why=$(timeout 120 cargo deny --log-level error fetch db 2>&1); then
    deny --offline check advisories
else
    echo "deny: advisories skipped: cannot fetch their database: $(echo "$why" | tail -n 1)"
fi
