#!/bin/sh
# Build a User-mode Linux 6.12 whose processor takes no time: target/linux-instant/linux. Minutes the first time, nothing after.
# Debian's linux-source-6.12 with instant.config and timers at 250 Hz, as Debian's own kernel has them. Installs the tools that are
# missing, which needs root; the kernel runs without.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../../../../target/linux-instant}
mkdir -p "$build"
build=$(cd "$build" && pwd)
log=$build/build.log

say() { echo "linux-instant: $*" >&2; }

quietly() {
    "$@" >"$log" 2>&1 || { tail -n 20 "$log" >&2; say "failed: $*"; exit 3; }
}

missing() {
    for package in "$@"; do
        dpkg -s "$package" >/dev/null 2>&1 || printf '%s ' "$package"
    done
}

needs="iproute2 ethtool busybox-static tcpdump gcc libc6-dev"
[ -e "$build/linux" ] && [ ! "$here/instant.config" -nt "$build/linux" ] || needs="$needs make flex bison bc libelf-dev xz-utils"
lacks=$(missing $needs)
if [ -n "$lacks" ]; then
    [ "$(id -u)" = 0 ] || { say "install $lacks first: that needs root"; exit 3; }
    say "installing $lacks"
    quietly apt-get -qq update
    quietly env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $lacks
fi

source=$build/linux-source-6.12
if [ ! -e "$source/.unpacked" ]; then
    say "fetching linux-source-6.12 (150 MB)"
    rm -rf "$build/fetch" "$source"
    mkdir "$build/fetch"
    cd "$build/fetch"
    quietly apt-get -qq download linux-source-6.12
    quietly dpkg -x linux-source-6.12_*.deb .
    quietly tar -C "$build" -xf usr/src/linux-source-6.12.tar.xz
    cd "$build"
    rm -rf "$build/fetch"
    # User-mode Linux fixes HZ at 100; TCP's timers round up to its ticks.
    sed -i '/^config HZ$/,/^$/s/default 100/default 250/' "$source/arch/um/Kconfig"
    grep -A2 '^config HZ$' "$source/arch/um/Kconfig" | grep -q 250 || { say "HZ could not be set"; exit 3; }
    # Of a processor with AMX the host takes back the whole of its state, 11 KiB, or nothing: init would end in a SIGSEGV.
    sed -i 's/DEFINE_LONGS(HOST_FP_SIZE, 2696)/DEFINE_LONGS(HOST_FP_SIZE, 12288)/' "$source/arch/x86/um/user-offsets.c"
    # In time travel each look at the clock costs a tick of it, 256 ns: microseconds a request and a packet, on the one processor that all
    # hosts share. A tick of 4 ns, and timers that may be as short, make that nothing.
    sed -i 's/define TIMER_MULTIPLIER 256/define TIMER_MULTIPLIER 4/; s/define TIMER_MIN_DELTA  500/define TIMER_MIN_DELTA  8/' \
        "$source/arch/um/include/linux/time-internal.h"
    touch "$source/.unpacked"
fi

if [ ! -e "$build/linux" ] || [ "$here/instant.config" -nt "$build/linux" ]; then
    say "building the kernel, which takes minutes"
    cd "$source"
    quietly make ARCH=um defconfig
    quietly env ARCH=um scripts/kconfig/merge_config.sh -m .config "$here/instant.config"
    quietly make ARCH=um olddefconfig
    for wanted in UML_TIME_TRAVEL_SUPPORT=y HIGH_RES_TIMERS=y VETH=y NET_SCH_HTB=y TCP_CONG_DCTCP=y HOSTFS=y HZ=250 NET_CLS_BPF=y; do
        grep -qx "CONFIG_$wanted" .config || { say "the kernel would lack CONFIG_$wanted"; exit 3; }
    done
    quietly nice -n 10 make ARCH=um -j"$(nproc)" linux
    cp linux "$build/linux.part"
    mv "$build/linux.part" "$build/linux"
fi
