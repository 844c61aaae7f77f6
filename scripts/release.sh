#!/bin/sh
# Writes target/release-files: for each target that can be built here an archive with the program, completions, man pages, licences and
# scenarios, and a Debian package; their checksums last. x86-64 is linked statically; arm64 comes where its compiler can be had. What was
# built for this machine is tried from its archive in an empty folder.
set -eu
cd "$(dirname "$0")/.."
PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
scripts/setup.sh rust release
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
out=$PWD/target/release-files
rm -rf "$out"
mkdir -p "$out"
native=$(uname -m)

# What the program itself tells: completions and man pages, from one that runs here.
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
    cp -r "$out/told/completions" "$out/told/man" "$folder"
    tar -C "$out" --sort=name --owner=0 --group=0 -czf "$folder.tar.gz" "$name"
}

package() { # Debian's name of the machine, folder of the archive
    root=$out/deb
    rm -rf "$root"
    install -D -m 755 "$2/fanin" "$root/usr/bin/fanin"
    install -D -m 644 "$2/completions/fanin.bash" "$root/usr/share/bash-completion/completions/fanin"
    install -D -m 644 "$2/completions/fanin.zsh" "$root/usr/share/zsh/vendor-completions/_fanin"
    install -D -m 644 "$2/completions/fanin.fish" "$root/usr/share/fish/vendor_completions.d/fanin.fish"
    mkdir -p "$root/usr/share/man/man1" "$root/usr/share/doc/fanin" "$root/DEBIAN"
    for page in "$2"/man/*.1; do gzip -9nc "$page" >"$root/usr/share/man/man1/$(basename "$page").gz"; done
    cat LICENSE-MIT LICENSE-APACHE >"$root/usr/share/doc/fanin/copyright"
    cp -r scenarios "$root/usr/share/doc/fanin/scenarios"
    cat >"$root/DEBIAN/control" <<CONTROL
Package: fanin
Version: $version
Architecture: $1
Maintainer: The fanin authors <fanin@localhost>
Section: net
Priority: optional
Description: predicts, compares and fixes incast
 A packet-level simulator of many-to-one traffic in data centres, its
 laboratory, and a memcached front end that asks by the same laws.
CONTROL
    dpkg-deb --root-owner-group --build "$root" "$out/fanin_${version}_$1.deb" >/dev/null
    rm -rf "$root"
}

build() { # target
    rustup target add "$1" >/dev/null 2>&1 || return 1
    cargo build --quiet --release --locked --package fanin-cli --target "$1"
}

build "$native-unknown-linux-musl"
program=target/$native-unknown-linux-musl/release/fanin
tells "$PWD/$program" "$out/told"
archive "$native" "$program"
package "$(dpkg --print-architecture)" "$out/fanin-$version-linux-$native"
if [ "$native" = x86_64 ]; then
    if command -v aarch64-linux-gnu-gcc >/dev/null && CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc build aarch64-unknown-linux-gnu; then
        archive aarch64 target/aarch64-unknown-linux-gnu/release/fanin
        package arm64 "$out/fanin-$version-linux-aarch64"
    else
        echo "release: skipped: arm64: no compiler available"
    fi
fi
rm -r "$out/told"
(cd "$out" && sha256sum ./*.tar.gz ./*.deb >SHA256SUMS)

# As a user downloads it.
tried=$(mktemp -d)
trap 'rm -rf "$tried"' EXIT
tar -C "$tried" -xzf "$out/fanin-$version-linux-$native.tar.gz"
cd "$tried/fanin-$version-linux-$native"
./fanin --version
./fanin compare scenarios/fixed-fragment.toml --fan-in 2,32 --schemes newreno --seeds 1 --no-cache >/dev/null
./fanin reproduce gss --quick --no-cache --figure G-2 >/dev/null
echo "release: $(cd "$out" && ls ./*.tar.gz ./*.deb | tr '\n' ' ')in target/release-files, tried from the archive"
