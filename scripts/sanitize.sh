#!/bin/sh
# Runs the tests of `ring`, the one crate with `unsafe`, under AddressSanitizer, which needs a nightly compiler; without the kernel's io_uring its
# tests are skipped.
set -eu
cd "$(dirname "$0")/.."
PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
host=$(rustc -vV | sed -n 's/^host: //p')
# The standard library is not instrumented: only this crate has `unsafe`.
RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=detect_leaks=1 CARGO_TARGET_DIR=target/sanitize \
    cargo +nightly test --quiet --locked --package fanin-ring --target "$host"
echo "sanitize: the ring's tests are clean under AddressSanitizer"
