#!/usr/bin/env python3
"""A scenario with a trace of N ranks that compute for times of their own and pass data around a ring, three times: ranks.py FOLDER N."""

import pathlib
import sys

folder, ranks = pathlib.Path(sys.argv[1]), int(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
text = [f"num_ranks {ranks}"]
for rank in range(ranks):
    text.append(f"rank {rank} {{")
    for step in range(3):
        text.append(f"c{step}: calc {20000 + 37 * ((rank * 7919 + step * 104729) % 1000)}")
        text.append(f"s{step}: send 60000b to {(rank + 1) % ranks} tag {step}")
        text.append(f"r{step}: recv 60000b from {(rank - 1) % ranks} tag {step}")
        text.append(f"s{step} requires c{step}")
        text.append(f"r{step} requires c{step}")
        if step:
            text.append(f"c{step} requires r{step - 1}")
    text.append("}")
(folder / "ranks.goal").write_text("\n".join(text) + "\n")
(folder / "ranks.toml").write_text(
    """schemes = ["dctcp"]
[link]
rate = "100 Gbit/s"
delay = "1 us"
[switch]
buffer = "4 MB"
[workload]
kind = "trace"
file = "ranks.goal"
"""
)
