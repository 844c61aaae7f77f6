#!/bin/sh
# Builds the site into target/site: playground, documentation, search. Prints an error and exits with 3 if something cannot be installed.
set -eu
cd "$(dirname "$0")/../.."
PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH

scripts/setup.sh rust
web/scripts/setup.sh
rustup target add wasm32-unknown-unknown >/dev/null 2>&1 || {
  echo "site: rustup cannot install wasm32-unknown-unknown" >&2
  exit 3
}
rm -rf target/site
cargo build --quiet --locked --profile browser --target wasm32-unknown-unknown --package fanin-browser --lib
cd web
npx eleventy --config=site/eleventy.config.mjs --quiet
npx tsc --noEmit
npx vite build --logLevel warn --config vite.play.config.js
npx pagefind --site ../target/site --silent
cp ../target/wasm32-unknown-unknown/browser/fanin_browser.wasm ../target/site/play/fanin.wasm
