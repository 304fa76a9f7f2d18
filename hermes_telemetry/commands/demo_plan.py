"""When what happens in the demo ledger: its sessions in the order of their starts.

Weekdays are busier than weekends and the working day than the night, use grows over the period,
and one day late in it is far out of line. The calls add up to exactly the number asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from random import Random

from .demo_scenes import JOBS, SET_PIECES, Job, Scene, cron_run, session
from .demo_time import DAY, HOUR, MINUTE, moment

# Calls by hour of the day (UTC), then what a weekend day and the first and last day make of them.
_HOURS = (2, 1, 1, 1, 1, 2, 4, 7, 10, 12, 13, 12, 9, 11, 13, 13, 12, 10, 8, 7, 7, 6, 5, 3)
_WEEKEND = 0.4
_GROWTH = (0.75, 1.25)
# A runaway loop, a big import: one day, by share of the period, with a multiple of its calls.
_ODD_DAY = 0.88
_ODD_FACTOR = 3.0
# The last session starts early enough to get somewhere.
_LAST_START = 12 * MINUTE
# Until then, as a share of the period, the host sent no turn ids.
_OLD_HOST_UNTIL = 0.06


def scenes(rng: Random, *, begin: int, end: int, calls: int) -> Iterator[Scene]:
    """The sessions of `begin` to `end` (µs, whole days apart), ordered, with `calls` in all."""
    weights = _weights(rng, begin, end)
    total = sum(weights)
    latest = end - _LAST_START
    pieces = [
        piece(rng, min(begin + int(share * (end - begin)), latest - 1))
        for share, piece in SET_PIECES
    ]
    # The set pieces have theirs in any case, the rest is spread over the hours.
    spread = left = calls - sum(piece.all_calls() for piece in pieces)
    daily = spread * DAY / (end - begin)
    modern = begin + int(_OLD_HOST_UNTIL * (end - begin))
    for number, reached in enumerate(accumulate(weights)):
        start = begin + number * HOUR
        stop = min(start + HOUR, latest)
        due = left - spread + round(spread * reached / total)
        planned = []
        for scene in _ordinary(rng, start, stop, daily, due):
            scene = scene if scene.all_calls() <= left else scene.cut(left)
            left -= scene.all_calls()
            if scene.calls:
                planned.append(scene)
        while pieces and pieces[0].at < stop:
            planned.append(pieces.pop(0))
        for scene in sorted(planned, key=lambda scene: scene.at):
            if scene.at < modern:
                _age(scene)
            yield scene


def _ordinary(rng: Random, start: int, stop: int, daily: float, due: int) -> Iterator[Scene]:
    """The cron runs of an hour, then as many sessions of people as make up the `due` calls."""
    for job in JOBS:
        run = _cron_run(rng, job, start, stop, daily)
        if run is not None:
            due -= run.all_calls()
            yield run
    while due > 0:
        scene = session(rng, rng.randrange(start, stop))
        due -= scene.all_calls()
        yield scene


def _weights(rng: Random, begin: int, end: int) -> list[float]:
    """How busy each hour of the period is."""
    days = (end - begin) // DAY
    odd = int(_ODD_DAY * days)
    first, last = _GROWTH
    weights = []
    for day in range(days):
        busy = first + (last - first) * day / days
        busy *= rng.lognormvariate(0, 0.2)
        if day == odd:
            busy *= _ODD_FACTOR
        for hour in range(24):
            when = moment(begin + day * DAY + hour * HOUR)
            weekend = _WEEKEND if when.weekday() >= 5 else 1.0
            weights.append(busy * weekend * _HOURS[when.hour])
    return weights


def _cron_run(rng: Random, job: Job, start: int, stop: int, daily: float) -> Scene | None:
    """The job's run between `start` and `stop`, if one is due and fits into `daily` calls a day."""
    at = start - start % HOUR + job.minute * MINUTE
    if at < start:
        at += HOUR
    when = moment(at)
    if at >= stop or when.hour not in job.hours or job.weekday not in (None, when.weekday()):
        return None
    run = cron_run(rng, job, at)
    fits = rng.random() * run.all_calls() < daily * job.days_between * job.share
    return run if fits else None


def _age(scene: Scene) -> None:
    scene.old_host = True
    for _, child in scene.children:
        _age(child)
