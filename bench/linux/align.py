#!/usr/bin/env python3
"""Aligns rounds of barrier reads in a kernel's capture with the same rounds in fanin's traces, packet by packet, and names the first difference.

    align.py ROUTER.pcap SCENARIO --scheme S --fan-in N [--set KEY=VALUE …] [--rounds K] [--tolerance US] [--packets N]

ROUTER.pcap is of all devices of the router (instant.py --capture, or `tcpdump -i any`), with servers 10.91.1.1, 10.91.2.1, …. fanin's traces
are those of every server. A round of a connection starts with a request. Differences are of kinds:

window: new data leaves at another time; loss: one side alone sends a segment again; mark: the sides send different segments again, or one
sends new data where the other sends again; timer: the same retransmission at another time, the later of which is at least a millisecond after
the segment before; ack: other bytes are acknowledged; start: the request or the response's first segment comes at another time.
"""

import argparse
import collections
import dataclasses
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench/diagnose/corpus"))

from packets import SLL2, read, segment  # noqa: E402

FANIN = os.environ.get("FANIN", ROOT / "target/release/fanin")
RAW_IP_BLOCK, SLL2_HEAD, PACKET_OUT = 6, 20, 4
TIMER_NS = 1_000_000


@dataclasses.dataclass
class Packet:
    """A packet at its server. `at` in ns; `seq` from the connection's first byte of data; data that the server sends, or an ACK to it."""

    at: int
    is_data: bool
    seq: int
    size: int
    again: bool = False

    def says(self):
        if not self.is_data:
            return f"ACK {self.seq}"
        return f"{self.size} B from {self.seq}{' again' if self.again else ''}"


@dataclasses.dataclass
class Round:
    """Packets of one connection from a request on, times from the round's start; sequence numbers from the response's start."""

    start: int
    packets: list

    def only(self, is_data):
        return [packet for packet in self.packets if packet.is_data == is_data]


@dataclasses.dataclass
class Difference:
    at: int
    server: int
    kind: str
    says: str


def pcapng_frames(data):
    """Times in ns and bytes of the packets of `fanin trace`."""
    at, frames = 0, []
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == RAW_IP_BLOCK:
            _, high, low, kept, _ = struct.unpack_from("<IIIII", data, at + 8)
            frames.append(((high << 32) + low, data[at + 28:at + 28 + kept]))
        at += length
    return frames


def at_router(path):
    """Segments of each server in a capture of all devices of a router: its data as it comes in, other packets as they go out to it."""
    capture, servers = read(path), collections.defaultdict(list)
    if capture.link != SLL2:
        raise SystemExit(f"align: {path}: not a capture of all devices (`tcpdump -i any`)")
    for at, _, data in capture.frames:
        found, out = segment(data, SLL2_HEAD), data[10] == PACKET_OUT
        if found and out == (found.sport >= 32768):
            server = found.target if out else found.source
            servers[int(server.split(".")[2]) - 1].append((at, not out, found))
    return servers


def of_fanin(scenario, scheme, servers, settings):
    """The same of a run of fanin, by a trace of each server."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for server in range(servers):
            file = pathlib.Path(folder) / "server.pcapng"
            file.unlink(missing_ok=True)
            words = [FANIN, "trace", scenario, "--scheme", scheme, "--fan-in", str(servers), "--at", f"server{server + 1}", "--out", file]
            done = subprocess.run([*words, *(word for each in settings for word in ("--set", each))], capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(done.stderr.strip())
            segments = [(at, segment(data, 0)) for at, data in pcapng_frames(file.read_bytes())]
            found[server] = [(at, each.sport > each.dport, each) for at, each in segments if each]
    return found


def rounds_of(servers):
    """Rounds of each server: lists of `Round`, from the first request on; times in ns from the first request of the round to any server."""
    cut = {}
    for server, segments in servers.items():
        base = next((each.seq for _, is_data, each in segments if is_data and each.size), None)
        if base is None:
            continue
        rounds, sent, asked = [], 0, set()
        for at, is_data, each in segments:
            if not is_data and each.size and each.seq not in asked:
                asked.add(each.seq)
                rounds.append(Round(at, []))
                origin = sent
            elif rounds and is_data and each.size:
                seq = (each.seq - base) % 2**32
                rounds[-1].packets.append(Packet(at, True, seq - origin, each.size, seq < sent))
                sent = max(sent, seq + each.size)
            elif rounds and not is_data and not each.size:
                rounds[-1].packets.append(Packet(at, False, (each.ack - base) % 2**32 - origin, 0))
        cut[server] = rounds
    for number in range(min(map(len, cut.values()), default=0)):
        begun = min(rounds[number].start for rounds in cut.values())
        for rounds in cut.values():
            for packet in rounds[number].packets:
                packet.at -= begun
            rounds[number].start -= begun
    return cut


def out_before(packets, at):
    """Bytes sent and not acknowledged just before a time."""
    earlier = [packet for packet in packets if packet.at < at]
    sent = max((packet.seq + packet.size for packet in earlier if packet.is_data), default=0)
    return sent - max((packet.seq for packet in earlier if not packet.is_data), default=0)


def sides(one, other, rounds):
    """A difference in words: the kernel's packet and fanin's."""
    words = []
    for name, packet, found in zip(("kernel", "fanin"), (one, other), rounds):
        out = f" with {out_before(found.packets, packet.at)} B out" if packet and packet.is_data else ""
        words.append(f"{name} {packet.says()} at {packet.at / 1e3:.1f} us{out}" if packet else f"{name} nothing")
    return "; ".join(words)


def kind_of(one, other, lists, place):
    """The kind of a difference between data packets, either of which may be missing."""
    if one is None or other is None or one.again != other.again or one.seq != other.seq:
        again = [packet for packet in (one, other) if packet and packet.again]
        if not again:
            return "window"
        resent = [{packet.seq for packet in packets if packet.again} for packets in lists]
        return "mark" if all(packet.seq in resent[0] & resent[1] for packet in again) else "loss"
    if place == 0:
        return "start"
    if not one.again:
        return "window"
    late = max((one, lists[0]), (other, lists[1]), key=lambda pair: pair[0].at)
    return "timer" if late[0].at - late[1][place - 1].at >= TIMER_NS else "mark"


def first_of(server, rounds, tolerance):
    """The first difference between a round of the kernel and one of fanin."""
    found = []
    for is_data in (True, False):
        lists = [each.only(is_data) for each in rounds]
        for place in range(max(map(len, lists))):
            one, other = (packets[place] if place < len(packets) else None for packets in lists)
            alike = one and other and (one.seq, one.size, one.again) == (other.seq, other.size, other.again)
            if alike and abs(one.at - other.at) <= tolerance:
                continue
            kind = kind_of(one, other, lists, place) if is_data else "ack"
            at = min(packet.at for packet in (one, other) if packet)
            found.append(Difference(at, server, kind, sides(one, other, rounds)))
            break
    return min(found, key=lambda difference: difference.at, default=None)


def line_of(rounds):
    """Counts of a round over all servers: data packets, those sent again, and its time."""
    packets = [packet for each in rounds for packet in each.only(True)]
    return f"{len(packets)} sent, {sum(packet.again for packet in packets)} again, {max(packet.at for packet in packets) / 1e6:.3f} ms"


def around(packets, at, shown):
    """Packets on both sides of a time, in words."""
    place = sum(packet.at < at for packet in packets)
    return ", ".join(f"{packet.at / 1e3:.1f} us {packet.says()}" for packet in packets[max(0, place - shown):place + shown])


def align(kernel, fanin, rounds, tolerance, shown):
    """Prints each round's counts and first difference; the kinds of first differences."""
    kinds, common = collections.Counter(), sorted(set(kernel) & set(fanin))
    for number in range(min(rounds, *(len(side[server]) for side in (kernel, fanin) for server in common))):
        pairs = [(server, (kernel[server][number], fanin[server][number])) for server in common]
        counts = [line_of([pair[side] for _, pair in pairs]) for side in (0, 1)]
        differences = [found for server, pair in pairs if (found := first_of(server, pair, tolerance))]
        print(f"round {number}: kernel {counts[0]}; fanin {counts[1]}; {len(differences)} of {len(pairs)} servers differ")
        if differences:
            first = min(differences, key=lambda difference: difference.at)
            kinds[first.kind] += 1
            print(f"  {first.kind}, server {first.server + 1}: {first.says}")
            for name, side in (("kernel", kernel), ("fanin", fanin)):
                print(f"    {name}: {around(side[first.server][number].packets, first.at, shown)}")
    return kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", type=pathlib.Path)
    parser.add_argument("scenario")
    parser.add_argument("--scheme", required=True)
    parser.add_argument("--fan-in", type=int, required=True)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--rounds", type=int, default=10, metavar="K", help="rounds from the first on [default: 10]")
    parser.add_argument("--tolerance", type=float, default=5, metavar="US", help="differences of times to ignore, us [default: 5]")
    parser.add_argument("--packets", type=int, default=4, metavar="N", help="packets to show on both sides of a difference [default: 4]")
    given = parser.parse_args()
    kernel = rounds_of(at_router(given.capture))
    fanin = rounds_of(of_fanin(given.scenario, given.scheme, given.fan_in, given.set))
    if not kernel or not fanin:
        raise SystemExit(f"align: {given.capture}: no requests and responses" if not kernel else "align: fanin's run has no round")
    kinds = align(kernel, fanin, given.rounds, given.tolerance * 1e3, given.packets)
    print("first differences by kind: " + (", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) or "none"))


if __name__ == "__main__":
    main()
