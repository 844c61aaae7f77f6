#!/bin/sh
# Installs each file of `make release` as README.md says, in a fresh Debian root, and runs it there. Needs root; skipped with the reason
# without it. The root is removed at the end.
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "skipped: release-check: a fresh root needs root"; exit 0; }
scripts/setup.sh fresh-root
root=$(mktemp -d)
log=$(mktemp)
# Nothing of the machine is mounted inside, so that it can be removed.
trap 'rm -rf "$root" "$log"' EXIT
mmdebstrap --quiet --variant=apt --include=ca-certificates,python3-venv bookworm "$root" >"$log" 2>&1 || { cat "$log" >&2; exit 3; }
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp target/release-files/* "$root/root"

inside() { # commands
    chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -euc "cd; $1" >"$log" 2>&1 || {
        cat "$log" >&2
        echo "release-check: failed: $1" >&2
        exit 1
    }
}
uses="fanin --version && fanin compare scenarios/fixed-fragment.toml --fan-in 2,32 --schemes newreno --seeds 1 --no-cache"

grep -q '^```sh release$' README.md || { echo "release-check: README.md has no install lines" >&2; exit 1; }
# The lines of README.md, one after another: run each installed program, then remove it.
# shellcheck disable=SC2016 # these are backquotes of Markdown
sed -n '/^```sh release$/,/^```$/p' README.md | sed '1d;$d;s/ *#.*//;s/^sudo //' | while read -r line; do
    case $line in
    tar*) inside "$line; cd fanin-*/; PATH=\$PWD:\$PATH; $uses; fanin reproduce gss --quick --no-cache --figure G-2" ;;
    apt*) inside "$line; cd /usr/share/doc/fanin; $uses; fanin front --config /etc/fanin/front.toml --check; man=\$(dpkg -L fanin | grep man1/fanin.1); test -e \$man; apt-get purge -qy fanin; ! test -e /usr/bin/fanin" ;;
    pip*) inside "python3 -m venv fresh; . fresh/bin/activate; $line; cd fanin-*/; $uses; python3 -c 'import fanin; print(fanin.__version__)'" ;;
    *) echo "release-check: README.md has a line that is not tried: $line" >&2; exit 1 ;;
    esac
    echo "release-check: works in a fresh root: $line"
done
