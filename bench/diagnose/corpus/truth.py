"""True causes of a measured case: the cause of each wait of a client, from the router's capture, the programs' logs and the counters.

The router sees each packet on its way in, and again on its way out: a packet that went out on the device `lost` was lost by a link, one that
never went out was dropped by the queue of the client's port.
"""

import bisect
import collections
import struct

from network import LOST, PORT, SINK, client_address, server_address
from packets import SLL2, segment

# A client that has no data of an open round for this long waits.
WAIT_NS = 4_000_000
# A queue that delays packets for this long before a round stands.
STANDING_NS = 1_000_000
# An ACK that a host keeps back for this long is a delayed ACK.
DELAYED_NS = 15_000_000
SLL2_BYTES = 20
OUTGOING = 4
SYN = 2
FIN_SYN_RST = 7
# Two ends of a handshake send their packets within this time, and one end sends its packet again after much longer.
SHAKE_NS = 500_000_000
NEAR = 1 << 30


class Router:
    """The router's capture: packets by direction, each with its fate."""

    def __init__(self, case, capture, devices):
        assert capture.link == SLL2
        copies = collections.defaultdict(list)
        for at, _, data in capture.frames:
            one = segment(data, SLL2_BYTES)
            if one is None or PORT not in (one.sport, one.dport):
                continue
            device = devices.get(int.from_bytes(data[4:8], "big"), "?")
            if device == SINK:
                continue
            copies[one.print].append((at, device, data[10] == OUTGOING, one))
        servers = {server_address(case, n): n for n in range(len(case["servers"]))}
        clients = {client_address(case, n): n for n in range(case["clients"])}
        # By client and server: packets (sent at, arrived at or None, lost by "queue" or "link" or None, segment), by direction.
        self.data, self.acks = collections.defaultdict(list), collections.defaultdict(list)
        for seen in copies.values():
            entered = [(at, one) for at, device, out, one in seen if not out]
            left = [at for at, device, out, _ in seen if out and device != LOST]
            lost = [at for at, device, out, _ in seen if out and device == LOST]
            # Without an identification, some packets look alike: pair them in order.
            for place, (at, one) in enumerate(sorted(entered, key=lambda pair: pair[0])):
                arrived = next((time for time in left if time >= at), None)
                by_link = arrived is None and any(time >= at for time in lost)
                if arrived is not None:
                    left.remove(arrived)
                elif by_link:
                    lost.remove(next(time for time in lost if time >= at))
                fate = None if arrived is not None else "link" if by_link else "queue"
                down = one.source in servers
                key = (clients[one.target if down else one.source], servers[one.source if down else one.target])
                (self.data if down else self.acks)[key].append((at, arrived, fate, one))
        for side in (self.data, self.acks):
            for packets in side.values():
                packets.sort(key=lambda packet: packet[0])


def later(a, b):
    """Whether sequence number a is after b."""
    return 0 < (a - b) % (1 << 32) < NEAR


class Connection:
    """Packets from one server to one client, and those with new data."""

    def __init__(self, data, acks):
        self.sent = [packet for packet in data if packet[3].size or packet[3].flags & FIN_SYN_RST]
        self.data, self.acks = data, acks
        # Arrivals of bytes that the client did not have: time, packet.
        self.news = []
        covered = {}
        for packet in sorted((packet for packet in data if packet[1] is not None and packet[3].size), key=lambda packet: packet[1]):
            one = packet[3]
            bytes_of = covered.setdefault(one.dport, set())
            if (one.seq, one.size) not in bytes_of:
                bytes_of.add((one.seq, one.size))
                self.news.append((packet[1], packet))
        self.times = [at for at, _ in self.news]

    def asked(self, since, until):
        """When the client first turned to this server within some time: by a SYN or a request. Nobody there knows of earlier waits."""
        turns = (at for at, _, _, one in self.acks if since <= at <= until and (one.size or one.flags & SYN))
        return next(turns, since)

    def handshakes_lost(self, since, until):
        """Losses of packets that open a connection, each with its cause and the end of its delay."""
        shakes = sorted((at, fate or "") for at, _, fate, one in self.data + self.acks if one.flags & SYN and since <= at <= until)
        for place, (at, fate) in enumerate(shakes):
            # Its sender waits for an answer for a second, or longer.
            again = next((later_at for later_at, _ in shakes[place + 1:] if later_at - at > SHAKE_NS), until)
            if fate:
                yield again, fate

    def losses(self, packet, since, until):
        """Losses that delayed a packet: those of its bytes, of its request, or of the handshake."""
        one = packet[3]
        found = []
        for at, _, fate, other in self.data:
            if fate and since <= at <= until and other.dport == one.dport:
                same = other.size and not later(one.seq + 1, other.seq + other.size) and not later(other.seq, one.seq + one.size)
                found.append((at, fate, bool(same), True))
        for at, _, fate, other in self.acks:
            if fate and since <= at <= until and other.sport == one.dport:
                found.append((at, fate, bool(other.size or other.flags & SYN), False))
        return found


def cause_of_wait(case, number, connection, logs, packet, begun, ended, since):
    """Seconds by cause of a wait that the arrival of a packet ended. `since`: begin of the response that it belongs to."""
    wait = ended - begun
    # A program that slept: its own time, without that of a loss behind it.
    slept = sum(max(0, min(row["ended"] * 1e9, ended) - max(row["begun"] * 1e9, begun)) for row in logs if row.get("server") == number)
    stuck = sum(max(0, min(row["ended"] * 1e9, ended) - max(row["begun"] * 1e9, begun)) for row in logs if row.get("client"))
    if slept > 0.6 * wait:
        return {"slow-server": wait}
    if stuck > 0.6 * wait or shut(connection, packet, begun, ended):
        return {"receiver": wait}
    lost = connection.losses(packet, since, ended)
    same = [loss for loss in lost if loss[2]] or lost
    if same:
        shares = collections.Counter()
        times = sorted((at, fate) for at, fate, *_ in same)
        # Each further loss of the same bytes begins another part of the wait.
        last = max((place for place, (at, _) in enumerate(times) if at <= begun), default=0)
        parts = times[last:]
        for place, (at, fate) in enumerate(parts):
            begin = begun if place == 0 else max(begun, at)
            end = max(begun, parts[place + 1][0]) if place + 1 < len(parts) else ended
            # A queue that a long flow keeps full loses packets of any traffic.
            full = "standing-queue" if "long_flow" in case else "incast"
            shares[full if fate == "queue" else "bad-link"] += end - begin
        return shares
    if held(connection, packet, begun):
        return {"delayed-ack": wait}
    # Behind the packets of others, in the queue: nothing stood idle.
    return {"queue" if packet[1] - packet[0] > 0.6 * wait else "other": wait}


def opens(connections, since, begun, ended):
    """The server, and the cause, of a wait for a connection: the client opens one after the other. `None` if it waited for none."""
    lost = [(until, fate, n) for n, connection in connections.items() for until, fate in connection.handshakes_lost(since, ended) if until > begun]
    if not lost:
        return None
    _, fate, server = max(lost)
    return server, {"incast" if fate == "queue" else "bad-link": ended - begun}


def shut(connection, packet, begun, ended):
    """Whether the client's window did not permit the packet until shortly before it came."""
    one, edge, scale, when = packet[3], None, 0, None
    for at, arrived, fate, ack in connection.acks:
        if ack.sport != one.dport:
            continue
        if ack.flags & SYN:
            scale = ack.options.get(3, b"\0")[0]
            continue
        if at > packet[0]:
            break
        new = (ack.ack + (ack.window << scale)) % (1 << 32)
        permits = not later(one.seq + one.size, new)
        if permits and edge is False:
            when = at
        edge = permits
    return when is not None and when > begun + 0.6 * (ended - begun)


def held(connection, packet, begun):
    """Whether an ACK that the client kept back let the packet go."""
    one = packet[3]
    before = [ack for ack in connection.acks if ack[0] <= packet[0] and ack[3].sport == one.dport and not ack[3].size]
    if not before:
        return False
    ack = before[-1]
    data = [other for other in connection.data if other[1] and other[1] <= ack[0] and other[3].size and other[3].dport == one.dport]
    return bool(data) and ack[0] - data[-1][1] >= DELAYED_NS and packet[0] - ack[0] < 5_000_000 and data[-1][1] >= begun - 5_000_000


def waits(case, router, logs, client):
    """Waits of a client's rounds, and of each of its connections: (server, begin, end, shares in ns)."""
    connections = {n: Connection(router.data.get((client, n), []), router.acks.get((client, n), [])) for n in range(len(case["servers"]))}
    rounds = [(row["begun"] * 1e9, row["ended"] * 1e9) for row in logs if row.get("round")]
    of_rounds, of_servers = [], []
    for begun, ended in rounds:
        arrivals = []
        for n, connection in connections.items():
            # Not beyond the end: the next packet is the next round's, for which the client has not asked yet.
            low, high = bisect.bisect_left(connection.times, begun), bisect.bisect_right(connection.times, ended)
            last = connection.asked(begun, ended)
            for at, packet in connection.news[low:high]:
                arrivals.append((at, n, packet))
                if at - last > WAIT_NS:
                    of_servers.append((n, last, at, cause_of_wait(case, n, connection, logs, packet, last, at, begun)))
                last = at
        of_rounds += standing(case, begun, arrivals)
        last = begun
        for at, n, packet in sorted(arrivals, key=lambda arrival: arrival[0]):
            if at - last > WAIT_NS:
                shares = cause_of_wait(case, n, connections[n], logs, packet, last, at, begun)
                server, shares = ("other" in shares and opens(connections, begun, last, at)) or (n, shares)
                of_rounds.append((server, last, at, shares))
            last = at
    return rounds, of_rounds, of_servers


def standing(case, begun, arrivals):
    """The wait of a round's first packet in the queue that a long flow keeps."""
    at, n, packet = min(arrivals, key=lambda arrival: arrival[0], default=(0, 0, (0, 0)))
    waited = packet[1] - packet[0]
    if "long_flow" in case and waited > STANDING_NS:
        yield n, begun, begun + waited, {"standing-queue": waited}


def rows(found):
    """Waits as rows: server, begin and end in s, seconds by cause."""
    return [[server, round(begun / 1e9, 6), round(ended / 1e9, 6), {cause: round(took / 1e9, 6) for cause, took in shares.items() if took > 1e4}]
            for server, begun, ended, shares in found]


def truth(case, capture, devices, logs, counted):
    """Rounds and waits of the first client, whose captures are kept, and waits per server."""
    router = Router(case, capture, devices)
    rounds, of_rounds, of_servers = waits(case, router, logs[0], 0)
    fates = collections.Counter(packet[2] for packets in router.data.values() for packet in packets if packet[2])
    return {"rounds": [[round(begun / 1e9, 6), round(ended / 1e9, 6)] for begun, ended in rounds], "waits": rows(of_rounds), "waits_of_servers": rows(of_servers),
            "seen_losses": dict(fates), **counted}
