"""Every transport without TCP: an executor gives the same bytes, and no text has a word of TCP."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import fanin

polars = pytest.importorskip("polars")

SCENARIO = {
    "link": {"rate": "100 Gbit/s", "delay": "1 us"},
    "switch": {"shared_buffer": "16 MiB"},
    "host": {"packet_jitter": "none"},
    "workload": {"fragment": "100 KB", "duration": "1 ms"},
    "sweep": {"fan_in": [4, 12]},
    "run": {"seeds": 2},
}
OF_TCP = ["TCP", "tcp.", "MSS", "RTOmin", "initial window", "slow start", "segment", "SACK", "ssthresh", "duplicate ACK", "delayed ACK"]
SCHEMES = ["dcqcn", "dcqcn-window", "hpcc", "timely", "rdma-dctcp", "nscc", "rccc", "eqds", "ndp"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_speaks_of_the_transport_in_force(scheme):
    scenario = fanin.Scenario(SCENARIO | {"schemes": [scheme]})
    here = scenario.compare(cache=False)
    said = [repr(here), here.verdict(scheme).says, repr(scenario.run(scheme, 4, cache=False))]
    for text in said:
        assert not [word for word in OF_TCP if word in text], text
    assert all(0 < row["goodput_mbps"]["mean"] <= row["allowed_mbps"] for row in here.summary["rows"])
    with ThreadPoolExecutor(2) as threads:
        there = scenario.compare(executor=threads, cache=False)
    for name in ("summary", "flows", "queries", "ports"):
        assert polars.DataFrame(here.table(name)).equals(polars.DataFrame(there.table(name))), name
