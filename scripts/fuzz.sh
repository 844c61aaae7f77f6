#!/bin/sh
# Fuzzes the scenario parser, those of lists of flows, traces and topologies, of roles' messages, of memcached's protocols
# and of captures and counters, each for the given number of seconds (default 60), seeded with the project's files.
set -eu
cd "$(dirname "$0")/.."
PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
unset CARGO_TARGET_DIR
seconds=${1:-60}

mkdir -p fuzz/corpus/scenario fuzz/corpus/flows fuzz/corpus/traces fuzz/corpus/topologies
cp scenarios/traces/* fuzz/corpus/traces/
cp scenarios/topologies/*.topo fuzz/corpus/topologies/
cp scenarios/*.toml bench/scenarios/*.toml fuzz/seeds/* fuzz/corpus/scenario/
for list in scenarios/flows/*.txt scenarios/flows/*.cm scenarios/flows/*.csv; do
    { echo "${list##*.}"; cat "$list"; } >"fuzz/corpus/flows/${list##*/}"
done

for target in scenario flows traces topologies; do
    cargo +nightly fuzz run "$target" -- -max_total_time="$seconds" -timeout=5 -rss_limit_mb=2048 -max_len=8192 \
        -dict="fuzz/$target.dict" -print_final_stats=1
done
for target in requests responses; do
    cargo +nightly fuzz run "$target" -- -max_total_time="$seconds" -timeout=5 -rss_limit_mb=2048 -max_len=4096 \
        -dict=fuzz/memcache.dict -print_final_stats=1
done
mkdir -p fuzz/corpus/recorded
cp docs/diagnosing/* fuzz/corpus/recorded/
cargo +nightly fuzz run recorded -- -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1
cargo +nightly fuzz run wire -- -max_total_time="$seconds" -timeout=5 -rss_limit_mb=2048 -max_len=256 -print_final_stats=1
