#!/bin/sh
# Builds a Debian package: debian.sh ARCHITECTURE VERSION FOLDER OUT. FOLDER has the program, its completions and man pages; the package, in
# OUT, adds the proxy's settings, units, dashboard and user.
set -eu
cd "$(dirname "$0")/.."
architecture=$1 version=$2 folder=$3 out=$4
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
put() { install -D -m "$1" "$2" "$root/$3"; }

put 755 "$folder/fanin" usr/bin/fanin
put 644 "$folder/completions/fanin.bash" usr/share/bash-completion/completions/fanin
put 644 "$folder/completions/fanin.zsh" usr/share/zsh/vendor-completions/_fanin
put 644 "$folder/completions/fanin.fish" usr/share/fish/vendor_completions.d/fanin.fish
mkdir -p "$root/usr/share/man/man1" "$root/usr/share/doc/fanin" "$root/DEBIAN"
for page in "$folder"/man/*.1; do gzip -9nc "$page" >"$root/usr/share/man/man1/$(basename "$page").gz"; done
cat LICENSE-MIT LICENSE-APACHE >"$root/usr/share/doc/fanin/copyright"
cp -r scenarios "$root/usr/share/doc/fanin/scenarios"
for page in front operate failover; do put 644 "docs/$page.md" "usr/share/doc/fanin/$page.md"; done
put 644 packaging/grafana.json usr/share/fanin/grafana.json
put 644 packaging/fanin-front.service lib/systemd/system/fanin-front.service
put 644 packaging/fanin-front.socket lib/systemd/system/fanin-front.socket
put 644 packaging/sysusers.conf usr/lib/sysusers.d/fanin.conf
put 644 packaging/Containerfile usr/share/doc/fanin/Containerfile
put 640 packaging/front.toml etc/fanin/front.toml
echo /etc/fanin/front.toml >"$root/DEBIAN/conffiles"
for script in postinst prerm postrm; do put 755 "packaging/$script" "DEBIAN/$script"; done
cat >"$root/DEBIAN/control" <<CONTROL
Package: fanin
Version: $version
Architecture: $architecture
Maintainer: The fanin authors <fanin@localhost>
Section: net
Priority: optional
Description: predicts, compares and fixes incast
 A packet-level simulator of many-to-one traffic in data centres, its
 laboratory, and a memcached front end that asks by the same laws.
CONTROL
dpkg-deb --root-owner-group --build "$root" "$out/fanin_${version}_$architecture.deb" >/dev/null
