"""Captures as lists of packets: pcap files read, dissected, cut and written."""

import dataclasses
import socket
import struct

ETHERNET, SLL2 = 1, 276
HEAD = struct.Struct("<IHHIIII")
FRAME = struct.Struct("<IIII")


@dataclasses.dataclass
class Capture:
    link: int
    # Time in ns, length on the wire, captured bytes.
    frames: list


def read(path):
    data = path.read_bytes()
    magic, *_, link = HEAD.unpack_from(data)
    scale = {0xa1b23c4d: 1, 0xa1b2c3d4: 1000}[magic]
    frames, at = [], HEAD.size
    while at + FRAME.size <= len(data):
        seconds, part, kept, length = FRAME.unpack_from(data, at)
        at += FRAME.size
        if at + kept > len(data):
            break
        frames.append((seconds * 10**9 + part * scale, length, data[at:at + kept]))
        at += kept
    return Capture(link, frames)


def written(capture, snap=65535):
    parts = [HEAD.pack(0xa1b23c4d, 2, 4, 0, 0, snap, capture.link)]
    for at, length, data in capture.frames:
        parts += [FRAME.pack(at // 10**9, at % 10**9, min(len(data), snap), length), data[:snap]]
    return b"".join(parts)


@dataclasses.dataclass(frozen=True)
class Segment:
    source: str
    target: str
    sport: int
    dport: int
    seq: int
    ack: int
    flags: int
    window: int
    size: int
    # All that a router leaves as it is, to find the packet again.
    print: bytes
    options: dict


def name(address):
    return socket.inet_ntop(socket.AF_INET if len(address) == 4 else socket.AF_INET6, address)


def segment(data, skip):
    """The TCP segment of an IP packet behind `skip` bytes, or nothing."""
    ip = data[skip:]
    if len(ip) < 40:
        return None
    if ip[0] >> 4 == 4:
        start, total, protocol, source, target, mark = (ip[0] & 15) * 4, int.from_bytes(ip[2:4], "big"), ip[9], ip[12:16], ip[16:20], ip[4:6]
    else:
        start, total, protocol, source, target, mark = 40, 40 + int.from_bytes(ip[4:6], "big"), ip[6], ip[8:24], ip[24:40], b""
    tcp = ip[start:]
    if protocol != 6 or len(tcp) < 20:
        return None
    sport, dport, seq, ack, offset, flags, window = struct.unpack_from(">HHIIBBH", tcp)
    header = (offset >> 4) * 4
    options, at = {}, 20
    while at + 1 < min(header, len(tcp)) and tcp[at]:
        if tcp[at] == 1:
            at += 1
            continue
        options[tcp[at]] = tcp[at + 2:at + tcp[at + 1]]
        at += max(2, tcp[at + 1])
    return Segment(name(source), name(target), sport, dport, seq, ack, flags, window, total - start - header, mark + tcp[:header], options)
