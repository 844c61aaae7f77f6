#!/bin/sh
# Checks licences, duplicates and sources of every library in Cargo.lock, by deny.toml. Where the checker or the libraries of
# other systems cannot be had, nothing is checked, and that is said.
set -eu
cd "$(dirname "$0")/.."
PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH

skip() { echo "deny: skipped: $*"; exit 0; }

scripts/setup.sh deny || skip "cargo-deny cannot be installed here"
cargo fetch --quiet --locked || skip "the libraries cannot be fetched here"
cargo deny --locked --log-level error check licenses bans sources
