"""Cases drawn by a seed: the fault, the place of the capture, and the damage to the capture."""

import random

# Faults, alone or together with another.
TROUBLES = ["incast", "bad-link", "bad-links", "late-server", "pausing-server", "small-window", "stuck-reader", "delayed-ack", "none"]
# Faults and programs that a later draw adds, so that the cases of a seed stay as they were.
LATER = ["long-flow", "short-pause", "bulk"]
# Faults that need the servers' or the client's own programs.
OWN = {"late-server", "pausing-server", "small-window", "delayed-ack", "short-pause", "bulk"}
MIXED = ["incast", "bad-link", "late-server", "stuck-reader"]
CUTS = ["none", "none", "start", "end", "missing", "snap", "one-direction"]


def draw(seed, small):
    """A case. `small`: few packets, for the repository."""
    chance = random.Random(f"case {seed}")
    troubles = chance.sample(MIXED, 2) if chance.random() < 0.25 else [chance.choice(TROUBLES)]
    servers = chance.randint(4, 8 if small else 14)
    kbit = 1000 * (chance.randint(15, 30) if small else chance.choice([50, 100, 100, 200]))
    response = 1024 * (chance.choice([8, 12, 16]) if small else chance.choice([16, 32, 64]))
    case = {
        "seed": seed, "troubles": troubles, "seconds": 1.5 if small else 2.0, "clients": 2 if chance.random() < 0.1 else 1,
        "v6": chance.random() < 0.15, "timestamps": chance.random() < 0.9, "gro": chance.random() < 0.2,
        "algorithm": chance.choice(["cubic", "cubic", "reno", "bbr"]), "rto_min_ms": chance.choice([200, 200, 200, 50]),
        "new_connections": chance.random() < 0.15, "response": response,
        "servers": [{"kbit": 4 * kbit} for _ in range(servers)],
        # Without incast, the queue has room for all responses of all clients.
        "port": {"kbit": kbit, "buffer": 4 * servers * response + (1 << 19)}, "client": {},
    }
    for trouble in troubles:
        make(case, trouble, chance)
    # So that a capture of few packets has time for several waits.
    if troubles == ["none"] or chance.random() < 0.3 or small:
        case["client"]["think_s"] = chance.choice([0.01, 0.03]) if small else chance.choice([0.001, 0.005, 0.02])
    case["place"] = chance.choice(["client"] * 6 + ["server"] * 2 + ["both"] * 2)
    case["server_captured"] = chance.choice(case.get("bad", []) or list(range(servers)))
    case["cut"] = cut(chance)
    later(case, random.Random(f"later {seed}"))
    return case


def later(case, chance):
    """Draws faults, programs and frames that the first draw does not have."""
    if chance.random() < 0.25:
        case["troubles"] = [chance.choice(LATER)]
        case.update({"client": {}, "bad": [], "servers": [{"kbit": server["kbit"]} for server in case["servers"]]})
        case["port"]["buffer"] = 4 * len(case["servers"]) * case["response"] + (1 << 19)
        make(case, case["troubles"][0], chance)
        if case["troubles"][0] in ("bulk", "long-flow"):
            case["clients"], case["place"] = 1, "client" if case["place"] == "server" or case["troubles"] == ["bulk"] else case["place"]
    case["program"] = "own" if OWN & set(case["troubles"]) or case["new_connections"] else chance.choice(["own", "own", "memcached", "nginx"])
    case["mtu"] = 9000 if chance.random() < 0.1 and not case["gro"] else 1500


def some(case, chance):
    """A server that has no trouble yet."""
    number = chance.choice([n for n in range(len(case["servers"])) if n not in case.get("bad", [])])
    case.setdefault("bad", []).append(number)
    return case["servers"][number]


def make(case, trouble, chance):
    client = case["client"]
    match trouble:
        case "incast":
            # Less than a round's responses, and at least a few packets.
            case["port"]["buffer"] = max(9000, int(len(case["servers"]) * case["response"] * chance.uniform(0.1, 0.35)))
        case "bad-link":
            server = some(case, chance)
            server["loss"], server["loss_back"] = chance.uniform(0.02, 0.08), chance.random() < 0.4
        case "bad-links":
            share = chance.uniform(0.005, 0.02)
            for server in case["servers"]:
                server["loss"] = share
        case "late-server":
            server = some(case, chance)
            server["late"], server["late_s"] = chance.uniform(0.1, 0.4), chance.choice([0.05, 0.08, 0.15, 0.25, 0.3])
        case "pausing-server":
            server = some(case, chance)
            server["pause"], server["pause_s"] = chance.uniform(0.1, 0.4), chance.choice([0.05, 0.08, 0.15, 0.25, 0.3])
        case "small-window":
            client["receive_buffer"] = chance.choice([4096, 8192])
            client["stuck"], client["stuck_s"], client["stuck_at"] = 0.5, chance.choice([0.02, 0.05]), 0.7
        case "stuck-reader":
            client["receive_buffer"] = case["response"] // chance.choice([2, 4])
            client["stuck"], client["stuck_s"], client["stuck_at"] = chance.uniform(0.1, 0.4), chance.choice([0.03, 0.06, 0.12]), chance.uniform(0.4, 0.9)
        case "long-flow":
            # Another flow keeps the queue of the client's port full.
            case["long_flow"] = chance.randrange(len(case["servers"]))
            whole = len(case["servers"]) * case["response"]
            case["port"]["buffer"] = max(int(case["port"]["kbit"] * 125 * chance.uniform(0.005, 0.03)), whole + whole // 4)
            client["think_s"] = chance.choice([0.005, 0.02])
        case "short-pause":
            # As long as two delayed ACKs, after a segment of which the client holds the ACK back.
            server = some(case, chance)
            server["pause"], server["pause_s"] = chance.uniform(0.1, 0.4), chance.uniform(0.055, 0.07)
        case "bulk":
            # One response after another, each larger than the queue.
            case["servers"] = case["servers"][:1]
            case["server_captured"] = 0
            case["response"] = 1 << 20
            case["port"]["buffer"] = chance.randint(15_000, 60_000)
        case "delayed-ack":
            some(case, chance)["nagle"] = True
            case["response"] = 1200


def cut(chance):
    kind = chance.choice(CUTS)
    return {
        "kind": kind, "share": chance.uniform(0.05, 0.4), "missing": chance.choice([0.0005, 0.002, 0.01]), "snap": chance.choice([60, 66, 72, 80, 96]),
        "direction": chance.choice(["to-client", "to-client", "to-server"]), "vlan": chance.random() < 0.15}
