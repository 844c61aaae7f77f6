#!/usr/bin/env python3
"""A scan of Parquet files by Polars over s3fs from servers of objects under limiters, behind a switch port with a small buffer.

In each round the client sums a column of as many files as there are servers. The servers are one nginx with as many addresses of one name, as an
object store has; connections to them alternate. It answers S3's HEAD and GET of objects. Prints a table of docs/limit.md for each fan-in and
buffer. Needs root, nginx, iproute2, ethtool, and Python with fanin, polars, pyarrow and s3fs; without, it is skipped.

    parquet.py [--fan-in 8,32,128] [--buffer 64,256] [--seconds S] [--rows N] [--rate MBPS] [--no-prediction]

FANIN names the binary of the prediction.
"""

import contextlib
import pathlib
import subprocess
import sys
import tempfile
import time

from common import CLIENT, FIRST, SERVERS, Rounds, client_options, network, options, run, skip_without, table, wait_for_servers

NAME, BUCKET = "objects.test", "bucket"
# Bytes of a response's header.
HEADER = 300


def addresses(count):
    return [f"10.93.1.{1 + i}" for i in range(count)]


@contextlib.contextmanager
def servers(count, rows):
    """nginx with as many addresses, and a file for each."""
    import numpy
    import pyarrow
    import pyarrow.parquet

    etc = pathlib.Path("/etc/netns") / CLIENT
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / BUCKET).mkdir()
        for i in range(count):
            values = numpy.random.default_rng(i).integers(0, 1 << 60, rows)
            pyarrow.parquet.write_table(
                pyarrow.table({"value": values}), path / BUCKET / f"{i}.parquet", compression="none", use_dictionary=False
            )
        subprocess.run(["chmod", "-R", "a+rX", path], check=True)
        for address in addresses(count)[1:]:
            run("ip", "-n", SERVERS, "addr", "replace", f"{address}/24", "dev", "s0")
        etc.mkdir(parents=True, exist_ok=True)
        (etc / "hosts").write_text("127.0.0.1 localhost\n" + "".join(f"{address} {NAME}\n" for address in addresses(count)))
        (etc / "host.conf").write_text("multi on\n")
        listen = "\n".join(f"listen {address}:{FIRST};" for address in addresses(count))
        (path / "nginx.conf").write_text(
            f"daemon off; worker_processes 1; pid {path}/pid; error_log {path}/errors;\n"
            "events { worker_connections 4096; }\n"
            f"http {{ access_log off; keepalive_requests 100000000; sendfile on; server {{ root {path}; {listen} }} }}\n"
        )
        process = subprocess.Popen(["ip", "netns", "exec", SERVERS, "nginx", "-c", path / "nginx.conf"])
        try:
            wait_for_servers(count)
            yield (path / BUCKET / "0.parquet").stat().st_size
        finally:
            process.terminate()
            process.wait()
            for file in etc.iterdir():
                file.unlink()
            etc.rmdir()


def client(asked):
    """Scan the files again and again under a limiter."""
    import polars
    import pyarrow
    import pyarrow.dataset
    import s3fs
    from limiters import named

    import fanin.limit.s3

    pyarrow.set_io_thread_count(asked.servers)
    store = s3fs.S3FileSystem(
        anon=True,
        endpoint_url=f"http://{NAME}:{asked.first}",
        config_kwargs={"s3": {"addressing_style": "path"}, "max_pool_connections": asked.servers, "retries": {"max_attempts": 1}},
        default_cache_type="none",
    )
    store.connect()
    fanin.limit.s3.limited(store.s3, named(asked.limiter))
    files = [f"{BUCKET}/{i}.parquet" for i in range(asked.servers)]
    system = pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(store))
    options = pyarrow.dataset.ParquetFragmentScanOptions(pre_buffer=True)
    form = pyarrow.dataset.ParquetFileFormat(default_fragment_scan_options=options)

    rounds = Rounds(asked)
    while rounds.go_on():
        begun = time.monotonic()
        data = pyarrow.dataset.dataset(files, filesystem=system, format=form)
        polars.scan_pyarrow_dataset(data).select(polars.col("value").sum()).collect()
        rounds.add(time.monotonic() - begun, asked.servers * asked.size)
    rounds.print()


def main():
    if sys.argv[1:2] == ["client"]:
        return client(client_options("size"))
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, default=8_000)
    asked = parser.parse_args()
    skip_without("nginx", modules=("fanin", "polars", "pyarrow", "s3fs"))
    with network():
        for fan_in in asked.fan_in:
            with servers(fan_in, asked.rows) as size:
                for buffer in asked.buffer:
                    program = [sys.executable, __file__, "client"]
                    table(program, fan_in, buffer << 10, asked, fan_in, size + HEADER, "-size", size)


if __name__ == "__main__":
    main()
