#!/bin/sh
# Fetch the kernel of the machine `counted` into BUILD: Debian's own, and an initial file system with the modules that a testbed needs
# and the host's files over 9p. Seconds the first time, nothing after. Installs the tools that are missing, which needs root; QEMU runs without.
set -eu
build=$BUILD
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$build"
log=$build/build.log

say() { echo "linux-counted: $*" >&2; }

quietly() {
    "$@" >"$log" 2>&1 || { tail -n 20 "$log" >&2; say "failed: $*"; exit 3; }
}

missing() {
    for package in "$@"; do
        dpkg -s "$package" >/dev/null 2>&1 || printf '%s ' "$package"
    done
}

lacks=$(missing qemu-system-x86 iproute2 busybox-static cpio kmod)
if [ -n "$lacks" ]; then
    [ "$(id -u)" = 0 ] || { say "install $lacks first: that needs root"; exit 3; }
    say "installing $lacks"
    quietly apt-get -qq update
    quietly env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $lacks
fi
[ ! -e "$build/initrd" ] || [ "$here/counted.sh" -nt "$build/initrd" ] || exit 0

say "fetching Debian's kernel (70 MB)"
rm -rf "$build/fetch" "$build/root"
mkdir "$build/fetch" "$build/root"
cd "$build/fetch"
package=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
[ -n "$package" ] || { say "no package linux-image-amd64"; exit 3; }
quietly apt-get -qq download "$package"
quietly dpkg -x "$package"_*.deb .
release=$(ls lib/modules)
quietly depmod -b . "$release"

cd "$build/root"
mkdir bin modules proc host
cp /usr/bin/busybox bin/busybox || cp /bin/busybox bin/busybox
# The modules in an order in which each has what it needs.
for module in virtio_pci 9pnet_virtio 9p veth sch_htb sch_netem sch_red sch_codel sch_fq tcp_dctcp tcp_vegas; do
    modprobe -d "$build/fetch" -S "$release" --show-depends "$module" | sed -n 's/^insmod //p'
done | awk '!seen[$1]++' | while read -r file; do
    cp "$file" modules/
    echo "insmod /modules/$(basename "$file")"
done > load
cat > init <<'END'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
while read -r words; do /bin/busybox $words; done < /load
folder=$(/bin/busybox sed 's/.* fanin.folder=\([^ ]*\).*/\1/' /proc/cmdline)
program=$(/bin/busybox sed 's/.* fanin.program=\([^ ]*\).*/\1/' /proc/cmdline)
arguments=$(/bin/busybox sed 's/.* fanin.arguments=\([^ ]*\).*/\1/; s/,/ /g' /proc/cmdline)
over="trans=virtio,version=9p2000.L,msize=512000"
/bin/busybox mount -t 9p -o ro,$over,cache=loose host /host
/bin/busybox mount -t 9p -o $over job "/host$folder"
/bin/busybox umount /proc
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec /bin/busybox switch_root /host "$program" $arguments "$folder"
END
chmod +x init
find . | cpio --quiet -o -H newc | gzip -1 > "$build/initrd.part"
cp "$build/fetch/boot/vmlinuz-$release" "$build/linux"
echo "$release" > "$build/release"
cd "$build"
rm -rf "$build/fetch" "$build/root"
mv "$build/initrd.part" "$build/initrd"
