"""The demo ledger: plays its sessions in the order of time and stores them.

Sessions overlap, so what happens is merged by its time on the way to the store: ids and times
grow together, as in a ledger that was recorded, and no more is held in memory than the sessions
that are open at one moment.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from ..pricing import Catalog
from ..store.bulk import write_all
from ..store.writes import Write
from ..windows import timestamp
from .demo_budget import add_budget
from .demo_fleet import Fleet
from .demo_plan import scenes
from .demo_scenes import Scene
from .demo_session import Event, play
from .demo_time import DAY, microseconds, moment


def write_demo(
    path: Path,
    *,
    calls: int,
    days: int,
    seed: int,
    until: datetime,
    progress: Callable[[int], None],
) -> str:
    """Makes the ledger at `path`, which must not exist: `calls` calls in the `days` before `until`.

    The same arguments give the same rows. `progress` gets the number of calls played so far. A
    ledger that cannot be finished is removed. Returns the text of the budget.yaml that its alerts
    are of.
    """
    end = microseconds(until)
    begin = end - days * DAY
    rng = Random(seed)
    try:
        with TemporaryDirectory(prefix="hermes-telemetry-") as folder, _quiet_prices():
            fleet = Fleet(Path(folder), begin, end)
            plan = scenes(rng, begin=begin, end=end, calls=calls)
            events = _in_time_order(plan, lambda scene: play(scene, rng, fleet, end))
            write_all(path, _writes(events, fleet, progress))
        return add_budget(path, until, days)
    except BaseException:
        for leftover in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
            with suppress(OSError):
                leftover.unlink()
        raise


@contextmanager
def _quiet_prices() -> Iterator[None]:
    """Models without a price are meant to be there: the catalogue need not warn of them."""
    log = logging.getLogger(Catalog.__module__)
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def _in_time_order(
    plan: Iterable[Scene], played: Callable[[Scene], list[Event]]
) -> Iterator[Event]:
    """The events of sessions that are ordered by their starts, ordered by their times."""
    waiting: list[tuple[int, int, Event]] = []
    number = count()  # keeps what happens at one instant in its order
    for scene in plan:
        while waiting and waiting[0][0] < scene.at:
            yield heapq.heappop(waiting)[2]
        for event in played(scene):
            heapq.heappush(waiting, (event.at, next(number), event))
    while waiting:
        yield heapq.heappop(waiting)[2]


def _writes(
    events: Iterator[Event], fleet: Fleet, progress: Callable[[int], None]
) -> Iterator[Write]:
    """The store's writes for `events`, and the host's new tariffs between them."""
    tariffs = list(fleet.tariff_changes())
    calls = 0
    for event in events:
        ts = timestamp(moment(event.at))
        while tariffs and tariffs[0][0] <= event.at:
            yield Write("record_pricing_snapshot", tariffs.pop(0)[1])
        yield Write(event.name, {**event.fields, "ts": ts})
        if event.name == "record_llm_call":
            calls += 1
            progress(calls)
