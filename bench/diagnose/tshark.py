#!/usr/bin/env python3
"""Compare the counts of `fanin diagnose` in captures with tshark's: segments that came behind later ones or again, and
windows that were shut. tshark calls some of the former retransmissions and others out of order, by how soon they came (3 ms, or the round trip of
the handshake, behind the largest); those that it calls out of order are listed, since fanin goes by half the round trip. Exit 1 where counts
differ and no packet of a rule explains it.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Retransmissions that are none of payload: SYN and FIN.
SHAKES = "tcp.analysis.retransmission && tcp.len == 0"
# A probe of one byte that was sent before: fanin leaves it out, as a keep-alive.
PROBES = "(tcp.analysis.retransmission || tcp.analysis.keep_alive || tcp.analysis.zero_window_probe) && tcp.len == 1"


def read(file, wanted, *fields):
    """Fields of the frames that tshark's filter takes, as numbers."""
    command = ["tshark", "-r", file, "-Y", wanted, "-T", "fields", *(word for field in ("frame.number", *fields) for word in ("-e", field))]
    done = subprocess.run(command, capture_output=True, text=True)
    # A truncated capture gives the packets before its end.
    if done.returncode and "cut short" not in done.stderr:
        raise SystemExit(done.stderr)
    return [[int(value) for value in line.split("\t")] for line in done.stdout.splitlines()]


def frames(file, wanted):
    return [number for (number,) in read(file, wanted)]


def new_beside_old(file, again):
    """Frames that repeat sent data and also carry new data."""
    ends, found = {}, []
    for number, stream, port, seq, length in read(file, "tcp.len > 0", "tcp.stream", "tcp.srcport", "tcp.seq", "tcp.len"):
        end = ends.get((stream, port), 0)
        ends[stream, port] = max(end, seq + length)
        found += [number] if number in again and end < seq + length else []
    return found


def held(program, file):
    done = subprocess.run([program, "diagnose", file, "--json"], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    again, late = frames(file, "tcp.analysis.retransmission"), frames(file, "tcp.analysis.out_of_order")
    shakes, probes, shut = frames(file, SHAKES), frames(file, PROBES), frames(file, "tcp.analysis.zero_window")
    both = new_beside_old(file, {*again, *late})
    theirs = len(again) + len(late) - len(shakes) - len(both)
    zero = sum(host["zero_windows"] for host in found["hosts"].values())
    print(f"{file}: behind or again: fanin {found['behind']}, tshark {len(again)} retransmissions and {len(late)} out of order, {len(shakes)} of SYN or FIN; "
          f"windows that were shut: fanin {zero}, tshark {len(shut)}")
    print(f"  fanin: {found['losses'][0]} mended losses, {found['reordered']} out of order, {found['behind'] - found['losses'][0] - found['reordered']} for nothing or of requests")
    if late:
        print(f"  out of order by tshark's rule of time: frames {', '.join(map(str, late[:50]))}")
    for number in both:
        print(f"  frame {number}: again, and something new behind it; fanin counts it as new")
    for number in probes:
        print(f"  frame {number}: a byte that was sent before; fanin leaves it out of losses")
    return found["behind"] == theirs and zero == len(shut)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "target/release/fanin")
    parser.add_argument("captures", nargs="*", type=pathlib.Path, help="pcap or pcapng; without any, the one of the documentation and three of `fanin trace`")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        captures = asked.captures or list(made(asked.program, pathlib.Path(folder)))
        wrong = [file for file in captures if not held(asked.program, file)]
    print(f"{len(captures) - len(wrong)} of {len(captures)} captures are counted alike")
    sys.exit(bool(wrong))


def made(program, folder):
    yield ROOT / "docs/diagnosing/client.pcap.gz"
    for name, more in [("newreno", []), ("lossy", ["--set", "faults.loss=1 %"]), ("reordered", ["--set", "faults.reordering=1 %"])]:
        file = folder / f"{name}.pcapng"
        subprocess.run([program, "trace", ROOT / "scenarios/fixed-fragment.toml", "--scheme", "newreno", "--fan-in", "16", "--set", "workload.duration=500 ms",
                        *more, "--out", file], check=True, capture_output=True)
        yield file


if __name__ == "__main__":
    main()
