#!/bin/sh
# Writes target/release-files: for each target that can be built here an archive with the program, completions, man pages, licences and
# scenarios, a Debian package, and a Python wheel; their checksums last. x86-64 is linked statically; arm64 comes where its compiler can be
# had. `program` builds only the archive and the package for this machine, for `make reproducible`.
set -eu
cd "$(dirname "$0")/.."
PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
scripts/setup.sh rust release
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
# Folders of this machine are in no file.
cargo_home=${CARGO_HOME:-$HOME/.cargo}
RUSTFLAGS="--remap-path-prefix=$PWD=. --remap-path-prefix=$cargo_home=cargo"
CFLAGS="-ffile-prefix-map=$PWD=. -ffile-prefix-map=$cargo_home=cargo"
export SOURCE_DATE_EPOCH RUSTFLAGS CFLAGS
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
out=$PWD/target/release-files
rm -rf "$out"
mkdir -p "$out"
native=$(uname -m)

# Completions and man pages, written by a program that runs on this machine.
tells() { # program, folder
    mkdir -p "$2/completions" "$2/man"
    for shell in bash zsh fish; do "$1" completions "$shell" >"$2/completions/fanin.$shell"; done
    help2man --no-info --name "predicts, compares and fixes incast" "$1" >"$2/man/fanin.1"
    for command in compare run trace plan front list explain reproduce cache new; do
        printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$1" "$command" >"$2/one"
        chmod +x "$2/one"
        help2man --no-info --version-string "$version" --name "fanin $command" "$2/one" |
            sed "s/^\.TH ONE/.TH FANIN-$(echo "$command" | tr '[:lower:]' '[:upper:]')/" >"$2/man/fanin-$command.1"
    done
    rm "$2/one"
}

archive() { # machine, program
    name=fanin-$version-linux-$1
    folder=$out/$name
    mkdir -p "$folder"
    cp "$2" LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md "$folder"
    cp -r scenarios "$folder"
    cp packaging/Containerfile packaging/front.toml packaging/fanin-front.service packaging/fanin-front.socket packaging/grafana.json "$folder"
    cp -r "$out/told/completions" "$out/told/man" "$folder"
    find "$folder" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -9n >"$folder.tar.gz"
}

build() { # target
    rustup target add "$1" >/dev/null 2>&1 || return 1
    cargo build --quiet --profile dist --locked --package fanin-cli --target "$1"
}

build "$native-unknown-linux-musl"
program=target/$native-unknown-linux-musl/dist/fanin
tells "$PWD/$program" "$out/told"
archive "$native" "$program"
scripts/debian.sh "$(dpkg --print-architecture)" "$version" "$out/fanin-$version-linux-$native" "$out"
if [ "$native" = x86_64 ] && [ "${1:-}" != program ]; then
    if command -v aarch64-linux-gnu-gcc >/dev/null && CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc build aarch64-unknown-linux-gnu; then
        archive aarch64 target/aarch64-unknown-linux-gnu/dist/fanin
        scripts/debian.sh arm64 "$version" "$out/fanin-$version-linux-aarch64" "$out"
    else
        echo "release: skipped: arm64: no compiler available"
    fi
fi
if [ "${1:-}" != program ]; then
    # Zig links against an old C library, so that the wheel runs on every Linux of the last ten years.
    scripts/python.sh tools
    tools=$PWD/target/python/tools/bin
    PATH=$tools:$PATH "$tools/maturin" build --quiet --profile dist --locked --zig --compatibility manylinux2014 --manifest-path python/Cargo.toml \
        --target-dir target/python/cargo --out "$out"
fi
rm -r "$out/told"
rm -rf "$out"/fanin-*/
(cd "$out" && sha256sum ./*.* >SHA256SUMS)
echo "release: $(find "$out" -type f -printf '%f ')in target/release-files"
