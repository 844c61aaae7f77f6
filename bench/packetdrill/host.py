"""One case against this machine's kernel: reads a case (crates/scenario/assemble/examples/packetdrill/random.rs) on standard input, lets its
events happen to a socket behind a TUN device in a network namespace of its own, and prints the data that the kernel sends."""

import ctypes
import fcntl
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time

HOST, PEER, PORT, PEER_PORT = "192.168.0.1", "192.0.2.1", 8080, 34567
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
SYSCTLS = {"tcp_timestamps": 1, "tcp_no_metrics_save": 1, "tcp_slow_start_after_idle": 1, "tcp_ecn": 2}
FIN, SYN, RST, ACK, ECE, CWR = 1, 2, 4, 16, 64, 128


def namespace():
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        sys.exit("error: no new network namespace: run as root")
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"tun0", IFF_TUN | IFF_NO_PI))
    commands = [
        f"address add {HOST}/16 dev tun0",
        # No super-packets: a segment leaves as soon as the window allows.
        "link set dev tun0 up gso_max_segs 1",
        "route add default dev tun0",
    ]
    subprocess.run(["ip", "-batch", "-"], input="\n".join(commands), text=True, check=True)
    for name, value in SYSCTLS.items():
        with open(f"/proc/sys/net/ipv4/{name}", "w") as file:
            file.write(str(value))
    return tun


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(seq, ack, flags, window, options=b""):
    options += b"\1" * (-len(options) % 4)
    length = 20 + len(options)
    header = struct.pack(">HHIIBBHHH", PEER_PORT, PORT, seq, ack, length // 4 << 4, flags, window, 0, 0) + options
    addresses = socket.inet_aton(PEER) + socket.inet_aton(HOST)
    total = checksum(addresses + struct.pack(">BBH", 0, 6, length) + header)
    header = header[:16] + struct.pack(">H", total) + header[18:]
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, 0x4000, 64, 6, 0) + addresses
    return ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + header


class Host:
    def __init__(self, case):
        self.case, self.tun = case, namespace()
        self.listener = socket.socket()
        self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, case["control"].encode())
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        self.listener.bind((HOST, PORT))
        self.listener.listen(1)
        self.poll = select.poll()
        self.poll.register(self.tun, select.POLLIN)
        self.first, self.events, self.sent, self.late = None, 0, [], 0

    def run(self):
        start = time.monotonic()
        options = b"\2\4" + struct.pack(">H", 1000) + b"\4\2" + b"\1\1\1" + b"\3\3\7"
        os.write(self.tun, packet(0, 0, SYN | (ECE | CWR if self.case["ecn"] else 0), 65535, options))
        self.listen_until(start + 0.02, start)
        if self.first is None:
            sys.exit("error: no SYN-ACK")
        connection = None
        for event in self.case["events"]:
            self.listen_until(start + event["at"] / 1e6, start)
            self.events += 1
            self.late = max(self.late, int((time.monotonic() - start) * 1e6) - event["at"])
            if event["write"]:
                connection.send(b"x" * event["write"])
            else:
                os.write(self.tun, self.arriving(event))
            if connection is None:
                connection, _ = self.listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Answers to the last event leave at once.
        self.listen_until(time.monotonic() + 0.003, start)

    def arriving(self, event):
        ack = (self.first + event["ack"]) & 0xFFFFFFFF
        options = b""
        if event["sack"]:
            edges = [(self.first + edge) & 0xFFFFFFFF for block in event["sack"] for edge in block]
            options = b"\1\1\5" + bytes([2 + 4 * len(edges)]) + struct.pack(f">{len(edges)}I", *edges)
        return packet(1, ack, ACK | (ECE if event["ece"] else 0), event["window"], options)

    def listen_until(self, until, start):
        while True:
            wait = until - time.monotonic()
            if not self.poll.poll(max(wait * 1000, 0)):
                if wait <= 0:
                    return
                continue
            data = os.read(self.tun, 65535)
            if len(data) < 40 or data[0] >> 4 != 4 or data[9] != 6:
                continue
            header = (data[0] & 15) * 4
            seq, _, offset, flags = struct.unpack(">IIBB", data[header + 4 : header + 14])
            size = struct.unpack(">H", data[2:4])[0] - header - (offset >> 4) * 4
            if flags & SYN:
                self.first = seq
            elif size and self.first is not None:
                at = int((time.monotonic() - start) * 1e6)
                self.sent.append({"event": self.events, "at": at, "seq": (seq - self.first) & 0xFFFFFFFF, "len": size})


host = Host(json.load(sys.stdin))
# On time, whatever else the machine does.
os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))
host.run()
json.dump({"sent": host.sent, "late": host.late}, sys.stdout)
