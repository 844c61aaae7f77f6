"""A network of namespaces: servers behind links of their own, a router, and clients behind ports with a limited queue.

The router loses packets of a bad link by a rule that sends them to the device `lost`, so that a capture has what was lost.
"""

import contextlib
import json
import os
import re
import subprocess

PORT = 9000
# Where a long flow's server listens.
LONG_PORT = 9001
LOST, SINK = "lost", "sink"


def namespace(case, host):
    return f"fanin-{case['seed']}-{host}"


def server_address(case, number):
    return f"fd83:{number + 1:x}::1" if case["v6"] else f"10.83.{number + 1}.1"


def client_address(case, number):
    return f"fd83:{200 + number:x}::1" if case["v6"] else f"10.83.{200 + number}.1"


def hosts(case):
    return ["r", *(f"c{n}" for n in range(case["clients"])), *(f"s{n}" for n in range(len(case["servers"])))]


def run(*command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"corpus: `{' '.join(command)}` failed: {done.stderr.strip()}\n{text or ''}")
    return done.stdout


def inside(case, host, *command, text=None):
    return run("ip", "netns", "exec", namespace(case, host), *command, text=text)


def down(case):
    for host in hosts(case):
        if os.path.exists(f"/run/netns/{namespace(case, host)}"):
            run("ip", "netns", "del", namespace(case, host))


def link(case, host, device, port, address):
    """Lines of `ip` for a host's link to the router, each with its namespace; the router's address of it ends in 254."""
    gateway = address.removesuffix("1") + ("fe" if case["v6"] else "254")
    bits, later = (64, " nodad") if case["v6"] else (24, "")
    rto = f" rto_min {case['rto_min_ms']}ms" if case["rto_min_ms"] != 200 else ""
    yield "r", f"link add {port} type veth peer name {device} netns {namespace(case, host)}"
    for space, name, ip in ((host, device, address), ("r", port, gateway)):
        yield space, f"addr add {ip}/{bits} dev {name}{later}"
        yield space, f"link set {name} mtu {case.get('mtu', 1500)} up"
    yield host, f"route add default via {gateway} dev {device}{rto}"


def up(case):
    """Makes the network. Fails if one of this case exists."""
    for host in hosts(case):
        run("ip", "netns", "add", namespace(case, host))
        inside(case, host, "sysctl", "-qw", "net.ipv6.conf.all.accept_dad=0", "net.ipv6.conf.default.accept_dad=0")
    # The other end takes nothing: no packet has its address.
    lines = [("r", f"link add {LOST} type veth peer name {SINK}"), ("r", f"link set {LOST} up"), ("r", f"link set {SINK} up")]
    for n in range(case["clients"]):
        lines += link(case, f"c{n}", "eth0", f"c{n}", client_address(case, n))
    for n in range(len(case["servers"])):
        lines += link(case, f"s{n}", "eth0", f"s{n}", server_address(case, n))
    # The router first: it makes the links.
    for host in hosts(case):
        run("ip", "-n", namespace(case, host), "-batch", "-", text="".join(f"{line}\n" for space, line in lines if space == host))
        settings(case, host)
    port = case["port"]
    for n in range(case["clients"]):
        inside(case, "r", "tc", "qdisc", "add", "dev", f"c{n}", "root", "tbf", "rate", f"{port['kbit']}kbit", "burst", str(case.get("mtu", 1500) + 100), "limit", str(port["buffer"]))
    for n, server in enumerate(case["servers"]):
        inside(case, f"s{n}", "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", f"{server['kbit']}kbit", "burst", str(case.get("mtu", 1500) + 100), "limit", "4000000")
    rules = "".join(loss_rules(case))
    if rules:
        inside(case, "r", "nft", "-f", "-", text=f"table netdev loss {{\n{rules}}}\n")


def settings(case, host):
    """Settings of a host's kernel, and of its devices: a frame is a packet, unless the client merges them."""
    values = {"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1} if host == "r" else {
        "net.ipv4.tcp_congestion_control": case["algorithm"], "net.ipv4.tcp_no_metrics_save": 1, "net.ipv4.tcp_slow_start_after_idle": 0}
    if not case["timestamps"] and host != "r":
        values["net.ipv4.tcp_timestamps"] = 0
    inside(case, host, "sysctl", "-qw", *(f"{key}={value}" for key, value in values.items()))
    for device in (["eth0"] if host != "r" else [name for name in devices(case, "r").values() if name not in ("lo", LOST, SINK)]):
        merged = case["gro"] and host[0] == "c"
        inside(case, host, "ethtool", "-K", device, "tso", "off", "gso", "off", "gro", "on" if merged else "off")


def devices(case, host):
    """Names of devices by their numbers."""
    return {one["ifindex"]: one["ifname"] for one in json.loads(inside(case, host, "ip", "-j", "link"))}


def loss_rules(case):
    """A chain for each server with a bad link: packets from it, and if wanted those to it."""
    ip = "ip6" if case["v6"] else "ip"
    lose = f"fwd to {LOST}"
    back = []
    for n, server in enumerate(case["servers"]):
        share = server.get("loss", 0)
        if share:
            rule = f"numgen random mod 100000 < {round(100000 * share)} counter {lose}"
            yield f"chain s{n} {{ type filter hook ingress device s{n} priority 0; meta l4proto tcp {rule} comment \"{n}\"; }}\n"
            if server.get("loss_back"):
                back.append(f"{ip} daddr {server_address(case, n)} {rule} comment \"{n}\";")
    for client in range(case["clients"] if back else 0):
        yield f"chain c{client} {{ type filter hook ingress device c{client} priority 0; {' '.join(back)} }}\n"


def counters(case):
    """Counters of the queues, of the rules, and of TCP on all hosts."""
    drops = [sum(map(int, re.findall(r"dropped (\d+)", inside(case, "r", "tc", "-s", "qdisc", "show", "dev", f"c{n}")))) for n in range(case["clients"])]
    lost = [0] * len(case["servers"])
    if any(server.get("loss") for server in case["servers"]):
        for packets, number in re.findall(r'counter packets (\d+) .*? comment "(\d+)"', inside(case, "r", "nft", "list", "ruleset")):
            lost[int(number)] += int(packets)
    names = ["TcpRetransSegs", "TcpExtTCPTimeouts", "TcpExtTCPLossProbes", "TcpExtTCPSpuriousRTOs", "TcpExtTCPToZeroWindowAdv", "TcpExtDelayedACKs"]
    tcp = dict.fromkeys(names, 0)
    for host in hosts(case)[1:]:
        for line in inside(case, host, "nstat", "-asz", *names).splitlines():
            words = line.split()
            if words[0] in tcp:
                tcp[words[0]] += int(words[1])
    return {"queue_drops": sum(drops), "link_losses": lost, "tcp": tcp}


@contextlib.contextmanager
def all_algorithms():
    """Lets all hosts use all congestion controls of this kernel for some time: the setting is of the whole machine."""
    setting = "net.ipv4.tcp_allowed_congestion_control"
    before = run("sysctl", "-n", setting).strip()
    run("sysctl", "-qw", f"{setting}={run('sysctl', '-n', 'net.ipv4.tcp_available_congestion_control').strip()}")
    try:
        yield
    finally:
        run("sysctl", "-qw", f"{setting}={before}")
