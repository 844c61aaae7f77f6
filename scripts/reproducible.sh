#!/bin/sh
# Builds the archive and the Debian package of the last commit twice, in two folders, and compares their bytes.
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for name in first second/deeper; do
    git clone --quiet . "$folder/$name"
    (cd "$folder/$name" && CARGO_TARGET_DIR=$PWD/target scripts/release.sh program >/dev/null)
    cp "$folder/$name/target/release-files/SHA256SUMS" "$folder/${name%/*}.sums"
    rm -rf "${folder:?}/$name"
done
diff "$folder/first.sums" "$folder/second.sums" || {
    echo "reproducible: two builds of the same commit differ" >&2
    exit 1
}
cat "$folder/first.sums"
echo "reproducible: two builds have the same bytes"
