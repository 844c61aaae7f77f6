#!/bin/sh
# Fuzzes the scenario parser for so many seconds (60 unless told), from the scenarios that are here.
set -eu
cd "$(dirname "$0")/.."
PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
mkdir -p fuzz/corpus/scenario
cp scenarios/*.toml bench/scenarios/*.toml fuzz/seeds/* fuzz/corpus/scenario/
unset CARGO_TARGET_DIR
exec cargo +nightly fuzz run scenario -- -max_total_time="${1:-60}" -timeout=5 -rss_limit_mb=2048 -max_len=8192 \
    -dict=fuzz/scenario.dict -print_final_stats=1
