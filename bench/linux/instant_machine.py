"""A real kernel whose processor takes no time: User-mode Linux in time travel, booted for a list of points.

`measure(points)` yields what each point measured. The clock of the machine stands while anything computes and jumps to the next timer
when all is idle, so that hosts take no time, as in fanin, and what else runs here does not show. Needs no root once instant.sh has run.

Three namespaces: the client; a router; and all servers, each on a link and an address of its own, with a routing table by its address:
a namespace for each would take its time to make and adds nothing. The guest reads its jobs from a folder of the host and writes there, and
nowhere else: its root is the host's, read-only.
"""

import dataclasses
import json
import os
import pathlib
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "target" / "linux-instant"
PORT = 9000
# No point takes this long; a machine in which something polls never ends.
PATIENCE_S = 90

# Not by busybox before /proc is there: it would run /proc/self/exe, which is the kernel itself on the host.
INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
mkdir -p /run/netns /run/jobs
mount -t hostfs -o {jobs} jobs /run/jobs
cd /run/jobs
ip link set lo up
busybox sysctl -qw net.ipv4.tcp_allowed_congestion_control="$(busybox sysctl -n net.ipv4.tcp_available_congestion_control)"
echo "KERNEL $(busybox uname -r)"
for job in [0-9][0-9][0-9][0-9]; do
    sh "$job/job.sh" "$job" >"$job/log" 2>&1
    echo "DONE $job"
done
busybox poweroff -f
"""

# Background programs are not started in a function: `kill` would end its shell instead.
JOB = """cd "$1"
within() {{ space=$1; shift; ip netns exec "$space" "$@"; }}
for space in client router servers; do ip netns add "$space"; done
ip -n router -batch router.ip
ip -n servers -batch servers.ip
ip -n client -batch client.ip
for space in client router servers; do within "$space" ../segments; done
within router tc -batch router.tc
within servers tc -batch servers.tc
busybox sysctl -qw $(busybox cat machine.sysctl)
for space in router client servers; do within "$space" busybox sysctl -qw $(busybox cat "$space.sysctl"); done
{writes}
{changes}
/usr/sbin/ip netns exec servers busybox env {server_settings} ../reads serve {port} {servers} &
reads=$!
{taps}
busybox sleep 0.3
within client busybox env {client_settings} ../reads ask {port} {servers} {bytes} {seconds} {most} >figures.part
within servers busybox cat /proc/net/netstat /proc/net/snmp >counters
within router tc -s -j qdisc show dev to_client >queue.json
{untap}
kill $reads
wait
for space in client router servers; do ip netns del "$space"; done
mv figures.part figures
"""

# tcpdump learns of packets in blocks; it is given time to see the last.
TAPS = """/usr/sbin/ip netns exec client tcpdump -i eth0 -s 96 -B 65536 -w client.pcap -Z root 2>/dev/null &
taps=$!
/usr/sbin/ip netns exec router tcpdump -i any -s 96 -B 65536 -w router.pcap -Z root tcp 2>/dev/null &
taps="$taps $!"
"""
SAMPLES = """/usr/sbin/ip netns exec servers sh -c 'while :; do
    echo "at $(busybox cut -d" " -f1 /proc/uptime)"; ss -tinH; busybox sleep 0.002
done' >ss.txt 2>/dev/null &
taps="$taps $!"
"""
UNTAP = """busybox sleep 1.5
kill $taps
busybox sleep 0.1
"""

# ethtool, for all devices of a namespace at once: segments are packets.
# Lines of a remedy, from a file, as the server of a number or as the client runs them. All servers share a namespace, where each has a routing
# table of its own: to a line it is its host's main table.
CHANGE = """number=$1 table="table $((1000 + $1))"
PATH=/usr/sbin:/usr/bin:/sbin:/bin
ip() {
    case "$number $*" in
    "0 "*) /usr/sbin/ip "$@" ;;
    *"route get "*) /usr/sbin/ip "$@" from "10.91.$number.1" | sed "s/ from [^ ]*//; s/ uid .*/ src 10.91.$number.1/" ;;
    *"route show "*) /usr/sbin/ip "$@" $table ;;
    *" -batch -") sed "s/^route .*/& $table/" | /usr/sbin/ip -batch - ;;
    *) /usr/sbin/ip "$@" ;;
    esac
}
set -e
. "./$2"
"""

SEGMENTS = """
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int main(void) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    unsigned commands[] = {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO};
    for (struct if_nameindex *device = if_nameindex(); device && device->if_index; device++)
        for (int i = 0; i < 3; i++) {
            struct ethtool_value value = {.cmd = commands[i]};
            struct ifreq request = {.ifr_data = (void *)&value};
            strncpy(request.ifr_name, device->if_name, IFNAMSIZ - 1);
            ioctl(fd, SIOCETHTOOL, &request);
        }
    return 0;
}
"""


@dataclasses.dataclass(frozen=True)
class Point:
    """A point to measure. `setup`: text of each file for `ip`, `tc` and `sysctl` (linux_setup.py). Sizes in bytes, times in ns. `receive_buffer`: the
    client's SO_RCVBUF; 0: the kernel's own. `writes`: FILE=VALUE, into /proc or /sys, until the machine ends. `changes`: lines of shell for
    the client and for each of the servers; a point at which one fails has no figures."""

    servers: int
    setup: dict
    bytes: int
    seconds: float
    new_connections: bool = False
    service_ns: int = 0
    service_jitter_ns: int = 0
    request_gap_ns: int = 0
    receive_buffer: int = 0
    order: int = 0
    most: int = 100_000
    writes: tuple[str, ...] = ()
    changes: tuple[tuple[str, str], ...] = ()
    captured: bool = False
    sampled: bool = False


def script(point):
    """The shell's lines of a point."""
    connections = " CONNECTIONS=new" * point.new_connections
    server = f"SERVICE_NS={point.service_ns} SERVICE_JITTER_NS={point.service_jitter_ns}" + " INFO=info.txt" * point.sampled + connections
    client = f"ORDER={point.order} REQUEST_GAP_NS={point.request_gap_ns} RECEIVE_BUFFER={point.receive_buffer}" + connections
    taps = TAPS * point.captured + SAMPLES * point.sampled
    writes = "\n".join("echo {1} | within servers busybox tee {0} >/dev/null".format(*write.split("=", 1)) for write in point.writes)
    changes = "".join(
        "rm -f /run/fanin-*\n" + f"for i in {'$(busybox seq 1 %d)' % point.servers if place == 'servers' else '0'}; do\n"
        f"    within {place} sh ./change.sh $i change-{place} >said-{place} 2>&1 || {{ busybox cat said-{place}; for space in client router servers; do ip netns del $space; done; exit 1; }}\ndone\n"
        for place, _ in point.changes)
    return JOB.format(
        writes=writes, changes=changes, server_settings=server, client_settings=client, port=PORT,
        servers=point.servers, bytes=point.bytes, seconds=point.seconds, most=point.most, taps="taps=\n" + taps, untap=UNTAP if taps else "")


def parse_counters(text):
    """/proc/net/netstat and snmp: each line of names followed by one of values."""
    lines, counters = [line.split() for line in text.splitlines()], {}
    for names, values in zip(lines[::2], lines[1::2]):
        counters |= {names[0].rstrip(":") + name: int(value) for name, value in zip(names[1:], values[1:])}
    return counters


def figures_of(folder):
    """Output of a job; None if it failed."""
    if not (folder / "figures").exists():
        return None
    text = (folder / "figures").read_text().strip()
    if not text:
        return None
    figures = json.loads(text + "}")
    counters = parse_counters((folder / "counters").read_text())
    queue = next(each for each in json.loads((folder / "queue.json").read_text()) if each["handle"] == "10:")
    return figures | {
        "timeouts": counters["TcpExtTCPTimeouts"], "loss_probes": counters["TcpExtTCPLossProbes"],
        "retransmitted_segments": counters["TcpRetransSegs"],
        "hystarts": counters["TcpExtTCPHystartTrainDetect"] + counters["TcpExtTCPHystartDelayDetect"], "drops": queue["drops"],
        "marks": queue.get("marked", queue.get("ecn_mark", 0))}


def build():
    """The kernel and the programs, anew where they are older than their source."""
    subprocess.run([HERE.parent.parent / "crates/laboratory/testbed/machines/instant.sh"], check=True)
    for name, source in [("reads", HERE / "reads.c"), ("segments", HERE / "instant_machine.py")]:
        program = BUILD / name
        if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
            continue
        given = {"input": SEGMENTS} if name == "segments" else {}
        source = "-" if given else source
        subprocess.run(["gcc", "-O2", "-static", "-Wall", "-Werror", "-o", program, "-x", "c", source], check=True, text=True, **given)


def boot(jobs):
    """Starts the machine on a folder of jobs."""
    init = jobs / "init"
    init.write_text(INIT.format(jobs=jobs))
    init.chmod(0o755)
    return subprocess.Popen(
        [BUILD / "linux", "mem=4G", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}", "time-travel=inf-cpu", f"uml_dir={jobs}",
         "con=null", "con0=fd:0,fd:1", "quiet"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)


def lines_of(machine):
    """The machine's lines, until it ends or is silent for too long."""
    selector, pending = selectors.DefaultSelector(), b""
    selector.register(machine.stdout, selectors.EVENT_READ)
    while selector.select(PATIENCE_S):
        some = os.read(machine.stdout.fileno(), 65536)
        if not some:
            return
        *lines, pending = (pending + some).split(b"\n")
        yield from (line.decode(errors="replace").strip() for line in lines)


def measure(points, keep=None):
    """Boots the machine, and yields for each point its index, its measurements (None if it failed) and the kernel's version.
    Captures remain in a folder of `keep` for each point."""
    build()
    # The machine does not end with this process: SIGTERM must end it here.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="jobs-") as name:
        jobs = pathlib.Path(name)
        for program in ("reads", "segments"):
            shutil.copy(BUILD / program, jobs)
        for i, point in enumerate(points):
            folder = jobs / f"{i:04}"
            folder.mkdir()
            changes = {f"change-{place}": lines for place, lines in point.changes}
            for file, text in (point.setup | changes | {"job.sh": script(point), "change.sh": CHANGE}).items():
                (folder / file).write_text(text)
        machine, version = boot(jobs), None
        try:
            for line in lines_of(machine):
                kind, _, rest = line.partition(" ")
                if kind == "KERNEL":
                    version = rest
                elif kind == "DONE":
                    if keep:
                        shutil.copytree(jobs / rest, pathlib.Path(keep) / rest, dirs_exist_ok=True)
                    said = (jobs / rest / "log").read_text()
                    if said:
                        print(f"linux-instant: a job said: {said[-1000:]}", file=sys.stderr, flush=True)
                    yield int(rest), figures_of(jobs / rest), version
                    shutil.rmtree(jobs / rest)
        finally:
            if machine.poll() is None:
                os.killpg(machine.pid, signal.SIGKILL)
            machine.wait()
