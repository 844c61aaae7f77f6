#!/bin/sh
# Checks the spelling of documents, comments and messages with cspell (cspell.json, scripts/dictionary.txt). With `or-skip` it prints why it
# is skipped if npm or its packages are not available; in CI that is a failure.
set -eu
cd "$(dirname "$0")/.."
if ! web/scripts/setup.sh; then
    [ "${1:-}" = or-skip ] && [ -z "${CI:-}" ] || exit 3
    echo "skipped: the spelling check, for the reason above"
    exit 0
fi
web/node_modules/.bin/cspell lint --quiet --no-progress --no-summary --config cspell.json || {
    echo "spelling: fix the words above, or add real terms to scripts/dictionary.txt" >&2
    exit 1
}
echo "spelling: documents, comments and messages are clean"
