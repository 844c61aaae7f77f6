"""Memory of a million result rows in a frame: bytes of its columns, and growth of the process while it is made and read."""

import json
import resource

import polars

import fanin

ROWS = 1_000_000
MOST_BYTES_A_ROW = 400
TEXT = """
schemes = ["dctcp"]
[link]
rate = "10 Gbit/s"
delay = "5 us"
[host]
packet_jitter = "transmission"
[workload]
fragment = "1 KiB"
duration = "5 s"
[sweep]
fan_in = [64]
[run]
seeds = 8
"""


def grown() -> int:
    """The most that the process has taken so far, bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Measures, prints, and says whether it holds."""
    comparison = fanin.Scenario(text=TEXT).compare(cache=False, progress=False)
    before = grown()
    table = comparison.table("flows")
    made = grown()
    frame = polars.DataFrame(table)
    read = grown()
    rows = len(table)
    figures = {
        "rows": rows,
        "columns": len(table.columns),
        "bytes_a_row": round(table.nbytes / rows, 1),
        "mb_of_a_million_rows": round(table.nbytes / rows * ROWS / 1e6, 1),
        "mb_more_while_made": round((made - before) / rows * ROWS / 1e6, 1),
        "mb_more_while_read": round((read - made) / rows * ROWS / 1e6, 1),
    }
    print(json.dumps(figures))
    assert frame.height == rows
    if rows < ROWS // 2 or table.nbytes / rows > MOST_BYTES_A_ROW:
        raise SystemExit(f"frame: half a million rows, and under {MOST_BYTES_A_ROW} bytes each, are wanted")


if __name__ == "__main__":
    main()
