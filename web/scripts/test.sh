#!/bin/sh
# Looks at reports and at scorecards' pages in headless Chromium. With `or-skip` it is content where that cannot be had here, and says why.
set -eu
cd "$(dirname "$0")/../.."
if ! web/scripts/setup.sh chromium; then
  [ "${1:-}" = or-skip ] || exit 3
  echo "skipped: the report's tests in a browser, for the reason above"
  exit 0
fi
# The program as the tests have it, which are built already where they ran before.
cargo test --quiet --locked --workspace --no-run
fanin=${CARGO_TARGET_DIR:-$PWD/target}/debug/fanin
# The tests' cache: runs that they reproduced are not repeated.
XDG_CACHE_HOME=$("$fanin" cache --json | sed 's/.*"folder":"\([^"]*\)\/fanin".*/\1\/fanin-tests/')
export XDG_CACHE_HOME
report=$PWD/target/web-report
rm -rf "$report"
"$fanin" compare scenarios/fixed-fragment.toml \
  --schemes newreno,dctcp,newreno+m21 --fan-in 2,8,16,48 --seeds 2 --out "$report" >/dev/null
cluster=$PWD/target/web-cluster
rm -rf "$cluster"
"$fanin" compare scenarios/mixed-cluster.toml --schemes "drop tail,dctcp" --seeds 1 \
  --set "mapreduce.input=160 MB" --set mapreduce.maps=10 --out "$cluster" >/dev/null
scorecard=$PWD/target/web-scorecard
rm -rf "$scorecard"
"$fanin" reproduce m21 --quick --out "$scorecard" >/dev/null
bars=$PWD/target/web-bars
rm -rf "$bars"
"$fanin" reproduce aqm --figure H-r --quick --out "$bars" >/dev/null ||
  [ -f "$bars/report.html" ]
wide=$PWD/target/web-wide
rm -rf "$wide"
"$fanin" compare scenarios/two-racks.toml --schemes newreno,dctcp --fan-in 64 --seeds 1 \
  --set "switch.buffer=1023 KiB" --set "workload.duration=300 ms" --out "$wide" >/dev/null
loads=$PWD/target/web-loads
rm -rf "$loads"
"$fanin" compare scenarios/poisson-web-search.toml --seeds 1 \
  --sweep "switch.buffer=128 KiB,256 KiB" --set "workload.duration=20 ms" --out "$loads" >/dev/null
swarms=$PWD/target/web-swarms
rm -rf "$swarms"
"$fanin" compare scenarios/web-page.toml --schemes one-all,sicc --seeds 1 \
  --sweep key_value.per_request=200 --set sicc.bound=fixed --set sicc.hubs=2 --out "$swarms" >/dev/null
memory=$PWD/target/web-memory
rm -rf "$memory"
"$fanin" compare scenarios/shared-memory.toml --seeds 1 --out "$memory" >/dev/null
many=$PWD/target/web-many
rm -rf "$many"
"$fanin" compare scenarios/fixed-fragment.toml --schemes newreno,cubic,dctcp,d2tcp,l2dct,vegas,newreno+red,newreno+m21 \
  --fan-in 2,8 --seeds 1 --sweep "tcp.rto_min=5 ms,200 ms" --set "workload.duration=100 ms" --out "$many" >/dev/null
classes=$PWD/target/web-classes
rm -rf "$classes"
"$fanin" compare scenarios/tcp-beside-rdma.toml --fan-in 16 --seeds 1 --set "workload.duration=10 ms" --out "$classes" >/dev/null
pauses=$PWD/target/web-pauses
rm -rf "$pauses"
"$fanin" compare scenarios/roce-incast.toml --schemes dcqcn,hpcc --fan-in 64,255 --seeds 1 --out "$pauses" >/dev/null
remedies=$PWD/target/web-remedies
rm -rf "$remedies"
"$fanin" advise scenarios/fixed-fragment.toml --remedies rto-min,initial-window --budget 5M --out "$remedies" >/dev/null
ranks=$PWD/target/web-ranks
rm -rf "$ranks"
web/scripts/ranks.py "$ranks" 1024
"$fanin" compare "$ranks/ranks.toml" --seeds 1 --out "$ranks/report" >/dev/null
FANIN_REMEDIES=$remedies/report.html FANIN_PAUSES=$pauses/report.html FANIN_RANKS=$ranks/report/report.html FANIN_CLASSES=$classes/report.html FANIN_MANY=$many/report.html FANIN_MEMORY=$memory/report.html FANIN_SWARMS=$swarms/report.html FANIN_LOADS=$loads/report.html FANIN_WIDE=$wide/report.html FANIN_REPORT=$report/report.html FANIN_CLUSTER=$cluster/report.html FANIN_SCORECARD=$scorecard/report.html FANIN_BARS=$bars/report.html npm --prefix web test --silent
