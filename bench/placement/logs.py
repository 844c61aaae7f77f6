"""Synthetic request logs to compare placement plans on, each with a difficulty for partitioners.

A log is a list of queries, each a list of keys; `days` has the same pages asked for on another day.
"""

import dataclasses
import functools
import random

QUERIES = 20_000
PAGES = 300


def _sums(weights):
    sums, total = [], 0.0
    for weight in weights:
        total += weight
        sums.append(total)
    return sums


def _ranks(rng, count, skew=0.99):
    sums = _sums(1 / (rank + 1) ** skew for rank in range(count))
    whole = range(count)
    return lambda: rng.choices(whole, cum_weights=sums)[0]


def _with_noise(rng, page, noise, objects):
    """A page with `noise` of its objects replaced."""
    query = set(rng.sample(page, len(page) - noise))
    while len(query) < len(page):
        query.add(rng.randrange(objects))
    return sorted(query)


def pages(day):
    """300 zipfian pages of 20 objects: 16 of its own and 4 of 200 that pages share; two of a query's are others."""
    make, rng = random.Random(1), random.Random(100 + day)
    shared = range(PAGES * 16, PAGES * 16 + 200)
    all_pages = [list(range(page * 16, page * 16 + 16)) + make.sample(shared, 4) for page in range(PAGES)]
    rank = _ranks(rng, PAGES)
    return [_with_noise(rng, all_pages[rank()], 2, 6_000) for _ in range(QUERIES)]


def overlapping(day):
    """200 communities of 60 objects, each object in two on average; a query asks for 15 of one."""
    make, rng = random.Random(2), random.Random(200 + day)
    communities = [make.sample(range(6_000), 60) for _ in range(200)]
    rank = _ranks(rng, 200)
    return [sorted(rng.sample(communities[rank()], 15)) for _ in range(QUERIES)]


def drift(day):
    """As `pages`, but popularity turns by a page every 200 queries, and every page has half of its own objects changed in the end."""
    make, rng = random.Random(3), random.Random(300 + day)
    objects = PAGES * 32
    all_pages = [make.sample(range(objects), 20) for _ in range(PAGES)]
    rank = _ranks(rng, PAGES)
    queries = []
    for number in range(QUERIES):
        if number % 10 == 0 and day == 0:
            page = all_pages[make.randrange(PAGES)]
            page[make.randrange(20)] = make.randrange(objects)
        page = all_pages[(rank() + number // 200) % PAGES]
        queries.append(_with_noise(rng, sorted(set(page)), 2, objects))
    return queries


def giant(day):
    """A page of 1,500 objects that one query of ten asks 100 of, among 225 zipfian pages of 20."""
    make, rng = random.Random(4), random.Random(400 + day)
    all_pages = [make.sample(range(1_500, 6_000), 20) for _ in range(225)]
    rank = _ranks(rng, 225)
    queries = []
    for _ in range(QUERIES):
        if rng.random() < 0.1:
            queries.append(sorted(rng.sample(range(1_500), 100)))
        else:
            queries.append(_with_noise(rng, all_pages[rank()], 2, 6_000))
    return queries


def none(day):
    """Independent zipfian draws: nothing belongs together."""
    rng = random.Random(500 + day)
    rank = _ranks(rng, 6_000)
    names = list(range(6_000))
    random.Random(5).shuffle(names)
    queries = []
    for _ in range(QUERIES):
        query = set()
        while len(query) < 20:
            query.add(names[rank()])
        queries.append(sorted(query))
    return queries


def headers(day):
    """300 zipfian pages: a header of 4 objects that all have, 6 that the pages of a section share, and 10 of its own."""
    make, rng = random.Random(6), random.Random(600 + day)
    all_pages = []
    for page in range(PAGES):
        section = make.randrange(20)
        own = list(range(200 + page * 10, 210 + page * 10))
        all_pages.append(list(range(4)) + list(range(10 + section * 6, 16 + section * 6)) + own)
    rank = _ranks(rng, PAGES)
    return [_with_noise(rng, all_pages[rank()], 1, 200 + PAGES * 10) for _ in range(QUERIES)]


def apart(day, keys, noise):
    """60 disjoint pages of `keys` keys, equally popular; in each query, `noise` keys are replaced by keys of other pages."""
    rng = random.Random(700 + day)
    all_pages = [list(range(page * keys, (page + 1) * keys)) for page in range(60)]
    return [_with_noise(rng, rng.choice(all_pages), noise, 60 * keys) for _ in range(2_000)]


@dataclasses.dataclass(frozen=True)
class Layout:
    """Servers with a client before them, in racks, and how many have each key."""

    servers: int
    replicas: int
    racks: int
    hosts_a_rack: int


MANY = Layout(servers=100, replicas=3, racks=5, hosts_a_rack=21)
# As a front end has it.
FRONT = Layout(servers=30, replicas=1, racks=1, hosts_a_rack=31)
KEYS_A_PAGE = (20, 40, 60, 100, 150, 200, 300)

LOGS = {make.__name__: (make, MANY) for make in (pages, overlapping, drift, giant, none, headers)}
for _keys in KEYS_A_PAGE:
    LOGS[f"apart-{_keys}"] = (functools.partial(apart, keys=_keys, noise=0), FRONT)
    LOGS[f"noisy-{_keys}"] = (functools.partial(apart, keys=_keys, noise=_keys // 20), FRONT)


def size(key):
    """Bytes of a key's object."""
    return 20 + key * 7_919 % 1_005


def write(path, queries):
    """A log as `fanin plan` reads it."""
    with open(path, "w", encoding="ascii") as log:
        log.write("time,query,key,size\n")
        for number, query in enumerate(queries):
            at = f"{number // 50}.{number % 50 * 20:03}"
            log.writelines(f"{at},q{number},k{key},{size(key)}\n" for key in query)
