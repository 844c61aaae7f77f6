#!/bin/sh
# Two comparisons on the papers' own settings: barrier reads (M21) and web search (GSS).
set -eu
cd "$(dirname "$0")/.."
points=2,4,8,16,32,64,128

compare() {
    echo "\$ fanin compare $*"
    target/release/fanin compare "$@"
    echo
}

compare scenarios/fixed-fragment.toml --schemes newreno,dctcp,newreno+m21 --fan-in $points
compare scenarios/web-search.toml --schemes newreno,dctcp,newreno+gss,dctcp+gss --fan-in $points
