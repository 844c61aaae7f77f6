#!/usr/bin/env python3
"""Checks each crate's dependencies, that units, laws and fan-outs do not use the standard library, and that simulator and lab do not
use an operating system, so that a browser can run and report a comparison.

With `--compile`, the former are compiled for a target without the standard library, and the latter for a browser.

The permitted dependencies are those of docs/crates.md: change both together. Clocks, hash
containers' order, platform float functions and sockets are checked by clippy (clippy.toml).
"""

import json
import pathlib
import re
import subprocess
import sys

from rust import uses, without_comments, without_tests

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Crate: (workspace crates below it, libraries from outside).
ALLOWED = {
    "fanin-units": ("", ""),
    "fanin-laws": ("fanin-units", "rand_core"),
    "fanin-fanout": ("fanin-laws fanin-units", ""),
    "fanin-placement": ("fanin-laws fanin-units", ""),
    "fanin-fabric": ("fanin-units", "thiserror"),
    "fanin-model": ("fanin-units", "libm"),
    "fanin-tables": ("", "serde thiserror"),
    "fanin-transport": ("fanin-laws fanin-units", ""),
    "fanin-tcp": ("fanin-laws fanin-transport fanin-units", ""),
    "fanin-rdma": ("fanin-laws fanin-transport fanin-units", ""),
    "fanin-uet": ("fanin-laws fanin-transport fanin-units", ""),
    "fanin-roles": ("fanin-fanout fanin-placement fanin-units", "bytes"),
    "fanin-memcache": ("", "base64 itoa memchr"),
    # The files of a placement plan, which the planner writes and the front end reads.
    "fanin-plan-files": ("", "csv hex serde_json sha2 thiserror"),
    # What applications and those that drive them know of one another.
    "fanin-driver": ("fanin-fabric fanin-tables fanin-units", "libm rand_core rand_xoshiro"),
    # The engine: it knows no scenario, no scheme's name, and no transport but by its interface.
    "fanin-sim": ("fanin-driver fanin-fabric fanin-laws fanin-tables fanin-transport fanin-units", ""),
    # Scenarios, above the engine.
    "fanin-spec": ("fanin-driver fanin-fabric fanin-fanout fanin-laws fanin-placement fanin-units", "csv hex serde sha2 strsim thiserror toml_edit"),
    "fanin-assemble": (
        "fanin-driver fanin-fabric fanin-fanout fanin-laws fanin-placement fanin-rdma fanin-roles fanin-spec fanin-tcp fanin-uet fanin-units",
        "",
    ),
    "fanin-apps": ("fanin-assemble fanin-driver fanin-fabric fanin-fanout fanin-placement fanin-roles fanin-spec fanin-tables fanin-units", "libm"),
    "fanin-simulate": (
        "fanin-apps fanin-assemble fanin-fabric fanin-laws fanin-rdma fanin-sim fanin-spec fanin-tables fanin-tcp fanin-transport fanin-uet fanin-units",
        "",
    ),
    # The simulator from C.
    "fanin-c": ("fanin-driver fanin-fabric fanin-sim fanin-simulate fanin-spec fanin-tables fanin-units", ""),
    # The caller gives the lab a runner: the lab knows no driver, and its output follows from its arguments.
    "fanin-lab": ("fanin-model fanin-spec fanin-tables fanin-units", "libm serde serde_json thiserror ts-rs"),
    "fanin-report": ("fanin-lab fanin-spec fanin-tables fanin-units", "serde serde_json ts-rs"),
    "fanin-papers": ("fanin-lab fanin-model fanin-report fanin-spec fanin-tables fanin-units", "serde serde_json thiserror toml"),
    # Advice, from a scenario and an executor of the caller.
    "fanin-advise": ("fanin-assemble fanin-lab fanin-model fanin-spec fanin-tables fanin-units", "serde serde_json thiserror"),
    # Diagnoses of captures, from streams and simulations of the caller.
    "fanin-diagnose": ("fanin-lab fanin-report fanin-spec fanin-units", "flate2 libm pcap-file serde zstd"),
    # Logs of requests, and which objects should share servers.
    "fanin-plan": ("fanin-lab fanin-placement fanin-plan-files fanin-spec fanin-units", "csv flate2 indexmap parquet serde serde_json tempfile thiserror zstd"),
    # Threads, clocks, files.
    "fanin-execute": (
        "fanin-assemble fanin-lab fanin-papers fanin-placement fanin-plan fanin-plan-files fanin-report fanin-spec fanin-tables fanin-units",
        "csv hex nix parquet postcard serde serde_json sha2 tempfile thiserror toml",
    ),
    # The papers' folders.
    "fanin-reproduce": (
        "fanin-execute fanin-fabric fanin-fanout fanin-lab fanin-papers fanin-placement fanin-plan fanin-spec fanin-units",
        "serde serde_json thiserror toml",
    ),
    # Sockets; beside the C interfaces the one crate with `unsafe` in it.
    "fanin-ring": ("", "io-uring nix socket2"),
    # Scenarios on real TCP.
    "fanin-testbed": (
        "fanin-apps fanin-assemble fanin-driver fanin-fabric fanin-fanout fanin-lab fanin-placement fanin-plan-files fanin-ring fanin-spec fanin-tables fanin-units",
        "mio netlink-packet-core netlink-packet-route netlink-sys nix postcard procfs serde serde_json socket2 tempfile thiserror",
    ),
    # The window over servers as a library, for clients that exist.
    "fanin-limit": (
        "fanin-fanout fanin-laws fanin-units",
        "async-trait bytes futures-core http http-body object_store opentelemetry pin-project-lite rustix serde_json thiserror tower-layer tower-service",
    ),
    "fanin-limit-c": ("fanin-limit", ""),
    # The proxy: its clock and memory, and where keys are.
    "fanin-proxy-core": ("fanin-ring fanin-units", "serde"),
    "fanin-proxy-routing": ("", "crc32fast libm md-5 sha2"),
    "fanin-proxy-observe": (
        "fanin-memcache fanin-plan-files fanin-proxy-core fanin-units",
        "async-trait http http-body-util httparse httpdate hyper hyper-util libm mio nix opentelemetry opentelemetry-appender-tracing opentelemetry-http opentelemetry-otlp opentelemetry_sdk procfs prometheus-client rand siphasher sha2 socket2 tokio tracing tracing-subscriber",
    ),
    # Its connections.
    "fanin-proxy-net": ("fanin-proxy-core fanin-proxy-observe fanin-ring", "ipnet mio nix ppp rustls socket2 subtle x509-parser zeroize"),
    "fanin-proxy-peers": ("fanin-proxy-core fanin-proxy-net fanin-ring fanin-roles fanin-units", "bytes hmac rand sha2 zeroize"),
    # Its state; settings are above it, since they are validated by it.
    "fanin-proxy-failover": ("fanin-proxy-core fanin-proxy-observe fanin-proxy-routing", ""),
    "fanin-proxy-migration": (
        "fanin-memcache fanin-plan-files fanin-proxy-net fanin-proxy-observe fanin-proxy-routing",
        "serde serde_json thiserror",
    ),
    "fanin-proxy-config": (
        "fanin-fanout fanin-proxy-core fanin-proxy-migration fanin-proxy-net fanin-proxy-observe fanin-proxy-peers fanin-proxy-routing fanin-roles fanin-units",
        "http ipnet jsonc-parser nix rustls saphyr-parser serde strsim thiserror toml x509-parser zeroize",
    ),
    "fanin-proxy-state": (
        "fanin-proxy-config fanin-proxy-core fanin-proxy-failover fanin-proxy-migration fanin-proxy-net fanin-proxy-observe fanin-proxy-routing fanin-units",
        "libm rustix serde serde_json",
    ),
    # Its event loops, without sockets and clock: neither knows the other.
    "fanin-proxy-front": (
        "fanin-fanout fanin-memcache fanin-placement fanin-proxy-config fanin-proxy-core fanin-proxy-failover fanin-proxy-migration fanin-proxy-net fanin-proxy-observe fanin-proxy-peers fanin-proxy-routing fanin-proxy-state fanin-ring fanin-roles fanin-units",
        "bytes nix rand",
    ),
    "fanin-proxy-agent": (
        "fanin-memcache fanin-proxy-config fanin-proxy-core fanin-proxy-net fanin-proxy-observe fanin-proxy-peers fanin-ring fanin-roles fanin-units",
        "bytes procfs rustls",
    ),
    # Its processes: threads, control, hand-over.
    "fanin-daemon": (
        "fanin-plan-files fanin-proxy-agent fanin-proxy-config fanin-proxy-core fanin-proxy-front fanin-proxy-migration fanin-proxy-net fanin-proxy-observe fanin-proxy-routing fanin-proxy-state fanin-ring",
        "listenfd nix procfs prometheus-client prost rand socket2",
    ),
    # The proxy as a program.
    "fanin-proxy": ("fanin-daemon", "clap sd-notify serde_json signal-hook"),
    # The engine in a browser's workers.
    "fanin-browser": (
        "fanin-advise fanin-diagnose fanin-lab fanin-report fanin-simulate fanin-spec fanin-tables",
        "postcard serde serde_json toml_edit",
    ),
    # Congestion controls in Linux: objects, and with its feature `load` the program that loads them.
    "fanin-kernel": ("fanin-proxy-observe", "clap libbpf-rs nix pcap-file prometheus-client serde serde_json signal-hook siphasher"),
    # Seeds and waits of tests.
    "fanin-testing": ("", "proptest"),
    "fanin-simulate-tests": ("", ""),
    # The API for programs and notebooks.
    "fanin": (
        "fanin-advise fanin-diagnose fanin-execute fanin-lab fanin-model fanin-papers fanin-placement fanin-plan fanin-rdma fanin-report fanin-reproduce fanin-sim fanin-simulate fanin-spec fanin-tables fanin-tcp fanin-testbed fanin-transport fanin-uet fanin-units",
        "crc32fast etcetera etherparse pcap-file rayon serde_json strsim thiserror",
    ),
    # Arguments, terminal, exit codes: all else is the library's.
    "fanin-cli": ("fanin fanin-daemon fanin-kernel fanin-proxy", "anstream anstyle clap clap_complete indicatif serde_json signal-hook terminal_size textwrap"),
    # The library as Python calls it, and the program. The others turn on features only.
    "fanin-python": ("fanin fanin-cli fanin-limit fanin-report", "arrow-array arrow-schema base64 pyo3 scopeguard serde_json"),
}
# Tests may also use these, and the workspace crates that their own crate may use.
ALLOWED_IN_TESTS = set("bytes etherparse http-body-util fanin fanin-apps fanin-assemble fanin-browser fanin-execute fanin-fabric fanin-fanout fanin-lab fanin-laws fanin-limit fanin-memcache fanin-model fanin-papers fanin-placement fanin-plan fanin-report fanin-reproduce fanin-roles fanin-sim fanin-simulate fanin-spec fanin-tcp fanin-tables fanin-testing fanin-transport fanin-units hex insta mio pcap-file proptest rand_core rand_xoshiro rcgen rustls scopeguard serde serde_json sha2 stats_alloc tempfile toml ts-rs".split())
# Build scripts run on the builder's machine.
ALLOWED_IN_BUILDS = {"fanin-simulate": {"hex", "sha2", "toml"}}
WITHOUT_STD = ["fanin-units", "fanin-laws", "fanin-fanout", "fanin-memcache"]
BARE_TARGET = "x86_64-unknown-none"
# These crates and their dependencies must not use an operating system.
WITHOUT_SYSTEM = ["fanin-simulate", "fanin-lab", "fanin-report", "fanin-papers", "fanin-advise"]
BROWSERS_TARGET = "wasm32-unknown-unknown"
# Crates that run in a browser. A diagnosis reads streams and knows addresses, which need no operating system either.
IN_BROWSER = [*WITHOUT_SYSTEM, "fanin-browser"]
SYSTEMS = set("env fs io net os process thread time".split())


def packages():
    command = ["cargo", "metadata", "--format-version=1", "--no-deps", "--locked"]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)["packages"]
    return sorted(found, key=lambda p: p["name"])


def arrows(package):
    """Faults of one crate's dependencies."""
    name = package["name"]
    if name not in ALLOWED:
        yield f"{name} is not listed: add it to scripts/dependencies.py and docs/crates.md"
        return
    inside, outside = (set(part.split()) for part in ALLOWED[name])
    sources = pathlib.Path(package["manifest_path"]).parent / "src"
    text = "\n".join(p.read_text() for p in sorted(sources.rglob("*.rs")))
    for dependency in package["dependencies"]:
        other, kind = dependency["name"], dependency["kind"] or "normal"
        allowed = inside | outside | (ALLOWED_IN_TESTS if kind == "dev" else set())
        if kind == "build":
            allowed = ALLOWED_IN_BUILDS.get(name, set())
        if other not in allowed:
            yield f"{name} may not depend on {other} ({kind}): see scripts/dependencies.py"
        word = (dependency["rename"] or other).replace("-", "_")
        # An optional one may turn on features only.
        if kind == "normal" and not dependency["optional"] and not re.search(rf"\b{word}\b(::|;)", text):
            yield f"{name} depends on {other} but does not use it"


def says_no_std(package):
    root = pathlib.Path(package["manifest_path"]).parent / "src" / "lib.rs"
    text = root.read_text()
    if not re.search(r"^#!\[no_std\]$", text, re.M):
        yield f"{package['name']} lacks #![no_std]"
    if re.search(r"(?<!#\[cfg\(test\)\]\n)^extern crate std;", text, re.M):
        yield f"{package['name']} uses std"


def without_system(package):
    """Uses of the operating system in a crate."""
    folder = pathlib.Path(package["manifest_path"]).parent
    for file in sorted((folder / "src").rglob("*.rs")):
        if file.name == "tests.rs":
            continue
        text = without_tests(without_comments(file.read_text()))
        taken = {path[1] for _, path, _ in uses(text) if path[0] == "std" and len(path) > 1}
        for word in sorted((taken | set(re.findall(r"\bstd::(\w+)", text))) & SYSTEMS):
            yield f"{file.relative_to(ROOT)} uses std::{word}, which {' and '.join(WITHOUT_SYSTEM)} must not use"


def made_of(names):
    """Crates of the workspace with all that they depend on."""
    below = [name for name in names for name in made_of(ALLOWED[name][0].split())]
    return {*names, *below}


def compiles_for(target, crates):
    """Whether crates compile for a target; None if that target is not available."""
    def sysroot_has_it():
        out = subprocess.run(
            ["rustc", "--print", "target-libdir", "--target", target],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        folder = pathlib.Path(out.stdout.strip() or "/nonexistent")
        return folder.is_dir() and any(folder.glob("libcore-*"))

    if not sysroot_has_it():
        subprocess.run(["rustup", "target", "add", target], cwd=ROOT, capture_output=True)
    if not sysroot_has_it():
        return None
    chosen = [word for name in crates for word in ("--package", name)]
    command = ["cargo", "check", "--quiet", "--locked", "--target", target, "--lib", *chosen]
    return subprocess.run(command, cwd=ROOT).returncode == 0


def main():
    found = packages()
    wrong = [line for package in found for line in arrows(package)]
    wrong += [f"{name} is listed but does not exist" for name in ALLOWED.keys() - {p["name"] for p in found}]
    wrong += [line for package in found if package["name"] in WITHOUT_STD for line in says_no_std(package)]
    pure = made_of(WITHOUT_SYSTEM)
    wrong += [line for package in found if package["name"] in pure for line in without_system(package)]
    targets = [(BARE_TARGET, WITHOUT_STD, "std"), (BROWSERS_TARGET, IN_BROWSER, "operating system")]
    for target, crates, lacks in targets if "--compile" in sys.argv[1:] else []:
        compiled = compiles_for(target, crates)
        if compiled is None:
            print(f"dependencies: skipped compiling for {target}: rustup cannot install that target here")
        elif not compiled:
            wrong.append(f"{' and '.join(crates)} cannot be compiled for {target}, which has no {lacks}")
    for line in wrong:
        print(f"dependencies: {line}")
    if wrong:
        sys.exit(1)
    print(
        f"dependencies: {len(found)} crates OK; {' and '.join(WITHOUT_STD)} without std, "
        f"{' and '.join(WITHOUT_SYSTEM)} without an operating system"
    )


if __name__ == "__main__":
    main()
