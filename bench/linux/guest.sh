#!/bin/sh
# The first process of the emulated machine: measures each line of /points and says a line of JSON, after "MEASURED", of each.
# A point: number servers sru seconds captured
# Its folder /point-NUMBER has the commands of each namespace (NAMESPACE.ip, NAMESPACE.tc, NAMESPACE.sysctl; linux_setup.py), and the changes at
# its hosts, before any connection, in change-servers and change-client.
# Where `captured` is 1, packets are captured at the client and at the router, and said, packed and in base 64, after "CAPTURED".
#
# Each server lives in a namespace of its own, 10.91.i.1, behind a link of its own rate (htb over a pfifo) – a router – the client
# behind a port of its own rate, with the queue that is measured. Segments are packets: no offloads.
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mkdir -p /run/netns
while read -r module; do insmod "/modules/$module" 2>/dev/null; done </modules/order
modprobe tcp_dctcp
ip link set lo up
# A namespace may use only permitted congestion controls.
sysctl -qw net.ipv4.tcp_allowed_congestion_control="$(sysctl -n net.ipv4.tcp_available_congestion_control)"

# The shell would take its own of the same name.
ip() { /usr/sbin/ip "$@"; }

within() { ip netns exec "$@"; }

at_port() { # a word of the statistics of the queue at the client's port
    within router tc -s qdisc show dev to_client |
        awk -v word="$1" '/qdisc/{own = $3 == "10:"} own {gsub(/[(,]/, ""); for (i = 1; i <= NF; i++) if ($i == word) print $(i + 1)}' | head -1
}

busy() { awk '/^cpu /{print $2 + $3 + $4 + $6 + $7 + $8 + $9, $5}' /proc/stat; }

# A namespace, a file of lines, run as they are.
change() {
    rm -f /run/fanin-*
    within "$1" sh -ec 'ip() { /usr/sbin/ip "$@"; }; . "$1"' change "$2" >/run/said 2>&1 || {
        cat /run/said
        echo "FAILED $1"
    }
    case $1 in client | h1) sed "s/^/CHANGED $1: /" /run/said ;; esac
}

measure() {
    rm -f /run/fanin-*
    folder=/point-$1 servers=$2 sru=$3 seconds=$4 captured=$5
    spaces=client
    for i in $(seq 1 "$servers"); do spaces="$spaces h$i"; done
    for space in router $spaces; do ip netns add "$space"; done
    sysctl -qw $(cat "$folder/machine.sysctl")
    for space in router $spaces; do
        ip -n "$space" -batch "$folder/$space.ip"
        for device in $(within "$space" ls /sys/class/net); do within "$space" ethtool -K "$device" tso off gso off gro off 2>/dev/null; done
        within "$space" tc -batch "$folder/$space.tc"
        within "$space" sysctl -qw $(cat "$folder/$space.sysctl")
    done
    for space in $spaces; do
        case $space in client) lines=$folder/change-client ;; *) lines=$folder/change-servers ;; esac
        [ ! -e "$lines" ] || change "$space" "$lines"
    done
    # Who is slow, and how, as `reads` says.
    slow=$(cat /run/fanin-slow 2>/dev/null)
    processes=
    for i in $(seq 1 "$servers"); do
        within "h$i" env $slow /reads serve 9000 &
        processes="$processes $!"
    done
    sleep 0.3
    if [ "$captured" = 1 ]; then
        # Not in a function: `kill` would end its shell instead of tcpdump, and unwritten packets would be lost.
        /usr/sbin/ip netns exec client tcpdump -i eth0 -s 96 -B 16384 -w /run/client.pcap -Z root 2>/dev/null &
        taps=$!
        /usr/sbin/ip netns exec router tcpdump -i any -s 96 -B 16384 -w /run/router.pcap -Z root tcp 2>/dev/null &
        taps="$taps $!"
        sleep 0.3
    fi
    read -r worked idled <<NOW
$(busy)
NOW
    figures=$(within client env $slow /reads ask 9000 "$servers" "$sru" "$seconds" 400) || figures='{"rounds": 0'
    read -r works idles <<NOW
$(busy)
NOW
    counts=$(for i in $(seq 1 "$servers"); do within "h$i" nstat -asz 2>/dev/null; done |
        awk '$1 == "TcpExtTCPTimeouts" {t += $2} $1 == "TcpRetransSegs" {r += $2} $1 == "TcpExtTCPLossProbes" {p += $2}
             $1 ~ /^TcpExtTCP(Loss|Full|Partial|DSACK)Undo$/ {u += $2} $1 == "TcpExtTCPSpuriousRTOs" {s += $2}
             $1 == "TcpExtTCPDSACKRecv" {d += $2} $1 ~ /^TcpExtTCPHystart(Train|Delay)Detect$/ {h += $2}
             $1 ~ /^TcpExtTCP(SACK|TS|Reno)Reorder$/ {o += $2}
             END {printf "\"timeouts\": %d, \"retransmitted_segments\": %d, \"loss_probes\": %d, ", t, r, p
                  printf "\"undone\": %d, \"spurious_timeouts\": %d, \"dsacks\": %d, \"hystarts\": %d, \"reordered\": %d", u, s, d, h, o}')
    echo "MEASURED $figures, $counts, \"drops\": $(at_port dropped), \"cpu_percent\": $((100 * (works - worked) / (works - worked + idles - idled + 1)))}"
    if [ "$captured" = 1 ]; then
        # The kernel delivers packets to them within a second.
        sleep 1.2
        kill $taps
        wait $taps 2>/dev/null
        for side in client router; do
            echo "CAPTURED $side"
            gzip -c "/run/$side.pcap" | base64
            echo "END $side"
        done
    fi
    kill $processes
    wait $processes 2>/dev/null
    for space in $spaces router; do ip netns del "$space"; done
}

echo "KERNEL $(uname -r)"
while read -r point; do measure $point; done </points
poweroff -f
