"""Damage to a capture: its start or end, packets, bytes of each packet, or a direction is missing."""

import random

from network import PORT
from packets import ETHERNET, Capture, segment

ETHERNET_BYTES = 14


def cut(capture, how, seed):
    """A capture with something cut off, and the snap length to write it with."""
    frames, kind, snap = capture.frames, how["kind"], 65535
    assert capture.link == ETHERNET
    if kind in ("start", "end") and frames:
        first, last = frames[0][0], frames[-1][0]
        place = first + how["share"] * (last - first) if kind == "start" else last - how["share"] * (last - first)
        frames = [frame for frame in frames if (frame[0] >= place) == (kind == "start")]
    if kind == "missing":
        chance = random.Random(f"missing {seed}")
        frames = [frame for frame in frames if chance.random() >= how["missing"]]
    if kind == "one-direction":
        frames = [frame for frame in frames if is_of(frame, how["direction"])]
    if how["vlan"]:
        frames = [(at, length + 4, data[:12] + b"\x81\x00\x00\x07" + data[12:]) for at, length, data in frames]
    if kind == "snap":
        # Addresses and TCP's fixed header have to be in it.
        six = any(data[12:14] == b"\x86\xdd" or data[16:18] == b"\x86\xdd" for _, _, data in frames[:1])
        snap = max(how["snap"], 54 + 20 * six + 4 * how["vlan"])
    return Capture(capture.link, frames), snap


def is_of(frame, direction):
    one = segment(frame[2], ETHERNET_BYTES)
    return one is not None and (one.sport == PORT) == (direction == "to-client")
