"""The limiter: vectors, waits of threads and tasks, wrappers of clients."""

import asyncio
import json
import pathlib
import re
import subprocess
import sys
import threading
import time

import pytest

from fanin.limit import Limit, Limiter
from fanin.limit.http import content_length, range_size

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "vectors"
VECTORS = json.loads((FOLDER / "limit.json").read_text())
KINDS = ("request", "received", "sized", "finish", "cancel")


class Replay:
    """A case of the vectors."""

    def __init__(self, settings):
        self.limiter, self.tickets = Limiter(json.dumps(settings)), {}

    def step(self, step):
        now, size, admits = step["now_us"] * 1000, step.get("bytes"), []
        [kind] = [kind for kind in KINDS if kind in step]
        for name in step[kind]:
            if kind == "request":
                self.tickets[name] = self.limiter.request(now, step.get("caller", 0), size)
                admits += [name] * self.limiter.is_admitted(self.tickets[name])
            else:
                ticket = self.tickets[name]
                {
                    "received": lambda ticket=ticket: self.limiter.received(ticket, size),
                    "sized": lambda ticket=ticket: self.limiter.expect(ticket, size),
                    "finish": lambda ticket=ticket: self.limiter.finish(now, ticket, size),
                    "cancel": lambda ticket=ticket: self.limiter.cancel(now, ticket),
                }[kind]()
            while (ticket := self.limiter.admit_next(now)) is not None:
                admits.append(next(name for name, known in self.tickets.items() if known == ticket))
        return self.limiter.figures() | {"admits": admits}


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_limiter_matches_vectors(case):
    replay = Replay(case["settings"])
    for step in case["steps"]:
        found = replay.step(step)
        assert {name: found[name] for name in step["expect"]} == step["expect"], (step, case["why"])


@pytest.mark.parametrize("case", VECTORS["random"]["cases"], ids=lambda case: case["settings"]["law"])
def test_random_requests_have_the_same_figures_in_every_language(case):
    limiter, live, x, now = Limiter(json.dumps(case["settings"])), [], 1, 0
    for _ in range(VECTORS["random"]["steps"]):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
        kind, size = x >> 61, x >> 40 & 0xFFFFF
        now += x >> 50 & 0xFFF
        live.append(limiter.request(now, kind, size if kind > 1 else None))
        if len(live) > 64:
            at = next(i for i, ticket in enumerate(live) if limiter.is_admitted(ticket)) if kind < 6 else (x >> 33) % 64
            ticket, live[at] = live[at], live[-1]
            live.pop()
            if kind < 4:
                limiter.finish(now, ticket, size)
            else:
                if kind == 4:
                    limiter.received(ticket, size // 2)
                limiter.cancel(now, ticket)
            while limiter.admit_next(now) is not None:
                pass
    for ticket in live:
        limiter.cancel(now, ticket)
    found = limiter.figures()
    assert {name: found[name] for name in case["expect"]} == case["expect"]


@pytest.mark.parametrize("case", VECTORS["refused"], ids=lambda case: json.dumps(case["settings"]))
def test_errors_name_the_key_the_problem_and_the_solution(case, tmp_path):
    file = tmp_path / "limit.json"
    file.write_text(json.dumps(case["settings"]))
    with pytest.raises(ValueError, match=f"^{re.escape(case['error'])}$"):
        Limit(file)


def budget(size):
    return Limit(law="one-all", budget=f"{size} B")


def holds_nothing(limit):
    figures = limit.figures()
    return (figures["in_flight"], figures["outstanding"], figures["waiting"]) == (0, 0, 0)


def until(holds):
    begun = time.monotonic()
    while not holds():
        assert time.monotonic() - begun < 120
        time.sleep(0.001)


def test_settings_by_name_and_file(tmp_path):
    file = tmp_path / "limit.json"
    file.write_text('{"law": "one-all", "budget": "5 KB"}')
    assert Limit(file).figures()["limit"] == Limit({"law": "one-all"}, budget="5 KB").figures()["limit"] == 5000
    with pytest.raises(TypeError, match="use one of the two"):
        Limit(file, law="sw")
    for size in (-1, 2**64):
        with pytest.raises(OverflowError):
            Limit().acquire(size)


def test_thread_waits_until_bytes_have_arrived():
    limit, got = budget(1000), []
    first = limit.acquire(600)
    thread = threading.Thread(target=lambda: got.append(limit.acquire(600)))
    thread.start()
    until(lambda: limit.figures()["waiting"] == 1)
    first.received(200)
    thread.join(120)
    first.finish(600)
    got.pop().finish(600)
    assert holds_nothing(limit)
    assert limit.figures()["bytes"] == 1200
    assert "fanin_limit_response_bytes_total 1200\n" in limit.prometheus()


def test_meter_observes_a_limit():
    metrics = pytest.importorskip("opentelemetry.sdk.metrics")
    exported = pytest.importorskip("opentelemetry.sdk.metrics.export")
    from fanin.limit.opentelemetry import observe

    reader, limit = exported.InMemoryMetricReader(), budget(1000)
    observe(limit, metrics.MeterProvider([reader]).get_meter("test"))
    limit.acquire(600).finish(600)
    of_all = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
    found = {of.name: of.data.data_points[0].value for of in of_all}
    assert found["fanin_limit_response_bytes"] == 600
    assert found["fanin_limit_in_flight_bytes"] == 0
    assert len(found) == len(limit.metrics())


def test_timeouts_errors_and_lost_grants_leave_no_byte():
    limit = budget(1000)
    with limit.acquire(1000), pytest.raises(TimeoutError):
        limit.acquire(1, timeout=0.001)
    with pytest.raises(ZeroDivisionError), limit.acquire(1000):
        _ = 1 / 0
    limit.acquire(1000)
    assert holds_nothing(limit)
    grant = limit.acquire(1000)
    grant.release()
    grant.finish(5)
    grant.expect(7)
    assert holds_nothing(limit)
    assert limit.figures()["responses"] == 0


def test_killed_process_gives_back_its_part_of_a_shared_budget(tmp_path):
    holder = (
        "import sys, fanin.limit, time\n"
        "limit = fanin.limit.Limit(law='one-all', budget='64 KB', shared=sys.argv[1])\n"
        "held = [limit.acquire(1000) for _ in range(64)]\n"
        "print('held', flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", holder, tmp_path], stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"held\n"
        limit = Limit(law="one-all", budget="64 KB", shared=tmp_path)
        with pytest.raises(TimeoutError):
            limit.acquire(1000, timeout=0.05)
        child.kill()
        held = [limit.acquire(1000, timeout=120) for _ in range(64)]
    assert limit.figures()["in_flight"] == 64_000
    del held
    with pytest.raises(ValueError, match="needs the setting `budget`"):
        Limit(shared=tmp_path)
    with pytest.raises(OSError, match="/proc/nonexistent: "):
        Limit(budget="1 MB", shared="/proc/nonexistent")


@pytest.mark.parametrize("case", json.loads((FOLDER / "limit_folder.json").read_text())["folders"])
def test_shared_folder_is_trusted_or_refused(case, tmp_path):
    folder, outside = tmp_path / "budget", tmp_path / "outside"
    outside.write_text("unchanged")
    match case["kind"]:
        case "folder":
            folder.mkdir()
            folder.chmod(int(case["mode"], 8))
        case "link":
            folder.symlink_to(tmp_path)
        case "file":
            folder.touch()
    for name, kind in case.get("files", {}).items():
        match kind:
            case "link":
                (folder / name).symlink_to(outside)
            case "second name":
                (folder / name).hardlink_to(outside)
            case "folder":
                (folder / name).mkdir()
    if case["refused"] is None:
        limit = Limit(law="one-all", budget="64 KB", shared=folder)
        assert len([limit.acquire(1000, timeout=120) for _ in range(64)]) == 64
        assert outside.read_text() == "unchanged"
    else:
        with pytest.raises(OSError, match=re.escape(case["refused"])):
            Limit(law="one-all", budget="64 KB", shared=folder)


def test_tasks_wait_and_cancelled_ones_leave_the_queue():
    async def run():
        limit = budget(1000)
        first = await limit.ready(1000)

        async def request(size):
            async with limit.ready(size) as grant:
                await asyncio.sleep(0)
                grant.finish(size)

        tasks = [asyncio.ensure_future(request(1000)) for _ in range(50)]
        await asyncio.sleep(0.01)
        assert limit.figures()["waiting"] == 50
        for task in tasks[::2]:
            task.cancel()
        first.release()
        # Cancelled after they were admitted, too.
        for task in tasks[1::4]:
            asyncio.get_running_loop().call_soon(task.cancel)
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 120)
        assert holds_nothing(limit)

    asyncio.run(run())


def test_stated_sizes():
    assert range_size("bytes=0-499") == range_size("bytes=-500") == 500
    assert [range_size(text) for text in (None, "", "bytes=5-", "bytes=5-1", "bytes=0-1,3-4", "items=0-1")] == [None] * 6
    assert [content_length({"content-length": text}) for text in ("10", "-1", "", "x")] == [10, None, None, None]


def test_httpx_holds_bytes_until_they_are_read():
    httpx = pytest.importorskip("httpx")
    from fanin.limit.httpx import AsyncTransport, Transport

    def respond(request):
        if request.url.path == "/error":
            raise httpx.ReadError("reset")
        return httpx.Response(200, headers={"content-length": "600"}, content=iter([b"x" * 500, b"x" * 100]))

    def respond_async(request):
        async def parts():
            await asyncio.sleep(0)
            yield b"x" * 600

        return httpx.Response(200, content=parts()) if request.url.path == "/" else respond(request)

    limit = budget(1000)
    with httpx.Client(transport=Transport(limit, httpx.MockTransport(respond))) as client:
        with client.stream("GET", "http://server/", headers={"range": "bytes=0-99"}) as response:
            assert limit.figures()["in_flight"] == 600
            assert len(response.read()) == 600
            assert holds_nothing(limit)
        with client.stream("GET", "http://server/"):
            pass
        with pytest.raises(httpx.ReadError):
            client.get("http://server/error")
        client.head("http://server/").read()
    assert holds_nothing(limit)
    assert (limit.figures()["responses"], limit.figures()["cancelled"]) == (2, 2)

    async def run():
        limit = budget(1000)
        async with httpx.AsyncClient(transport=AsyncTransport(limit, httpx.MockTransport(respond_async))) as client:
            responses = await asyncio.gather(*(client.get("http://server/") for _ in range(20)))
            assert [len(response.content) for response in responses] == [600] * 20
            with pytest.raises(httpx.ReadError):
                await client.get("http://server/error")
        assert holds_nothing(limit)
        assert limit.figures()["waited"] > 0

    asyncio.run(run())


class Body:
    """A body of 600 bytes, as botocore's; its asynchronous twin is below."""

    def __init__(self):
        self.rest, self.closed = 600, False

    def read(self, amt=None):
        part = b"x" * min(self.rest, self.rest if amt is None else amt)
        self.rest -= len(part)
        return part

    def close(self):
        self.closed = True


class AsyncBody(Body):
    async def read(self, amt=None):
        return super().read(amt)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        self.close()


class S3:
    """A client with one object; `_make_api_call` is botocore's."""

    def __init__(self, body):
        self.body = body

    def _make_api_call(self, operation, arguments):
        if arguments.get("Key") == "absent":
            raise KeyError("NoSuchKey")
        return {"Body": self.body(), "ContentLength": 600} if operation == "GetObject" else {}


class AsyncS3(S3):
    async def _make_api_call(self, operation, arguments):
        return super()._make_api_call(operation, arguments)


def test_s3_client_holds_bytes_until_they_are_read():
    from fanin.limit.s3 import limited

    limit = budget(1000)
    client = limited(S3(Body), limit)
    body = client._make_api_call("GetObject", {"Range": "bytes=0-9"})["Body"]
    assert limit.figures()["in_flight"] == 600
    assert (len(body.read(500)), limit.figures()["in_flight"]) == (500, 100)
    assert (len(body.read(500)), limit.figures()["in_flight"]) == (100, 0)
    assert b"".join(client._make_api_call("GetObject", {})["Body"]) == b"x" * 600
    assert client._make_api_call("PutObject", {}) == {}
    with pytest.raises(KeyError):
        client._make_api_call("GetObject", {"Key": "absent"})
    unread = client._make_api_call("GetObject", {})["Body"]
    unread.close()
    assert unread.closed
    assert holds_nothing(limit)

    async def run():
        client = limited(AsyncS3(AsyncBody), limit)

        async def get():
            response = await client._make_api_call("GetObject", {})
            async with response["Body"] as body:
                return len(await body.read())

        assert await asyncio.gather(*(get() for _ in range(20))) == [600] * 20
        body = (await client._make_api_call("GetObject", {}))["Body"]
        assert [len(part) async for part in body] == [600]

    asyncio.run(run())
    assert holds_nothing(limit)
    assert limit.figures()["responses"] == 23


def test_dask_workers_transfers_wait_for_grants():
    distributed = pytest.importorskip("distributed")
    from fanin.limit.dask import LimitTransfers

    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        client.register_plugin(LimitTransfers(law="one-all", budget="1 MB"))
        first, second = client.scheduler_info()["workers"]
        parts = [client.submit(lambda number: bytes(300_000) + bytes([number]), number, workers=[first]) for number in range(8)]
        total = client.submit(lambda parts: sum(map(len, parts)), parts, workers=[second])
        assert total.result(timeout=120) == 8 * 300_001
        [figures] = [worker.fanin_limit.figures() for worker in cluster.workers.values() if worker.fanin_limit.figures()["admitted"]]
        assert figures["bytes"] >= 8 * 300_000
        assert (figures["in_flight"], figures["cancelled"]) == (0, 0)
