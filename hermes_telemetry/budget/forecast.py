"""What a window will have cost when it ends: how fast money burns now, in the rhythm of the week.

Pure arithmetic on daily sums. The level of the last two weeks, spread over the weekdays as the last
eight weeks were, continues to the window's end; what is left of today follows the share of a day
that used to be spent from this time of the day on, so a job that ran at 03:00 is not expected again
at noon. How wrong this can be is drawn from the same two weeks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter
from random import Random
from statistics import fmean

from ..money import BEYOND_ALL_SUMS
from ..windows import Window

HISTORY_DAYS = 56
"""How many complete days, at most, say how the weekdays differ."""
LEVEL_DAYS = 14
"""How many of the last ones say how much a day costs; with fewer a projection is rough."""
LEAST_DAYS = 3
"""With fewer complete days nothing is projected."""

WEEKDAYS_DIFFER = "weekdays_differ"
WEEKDAYS_ALIKE = "weekdays_alike"

_DRAWS = 2000
_LOW = math.ceil(0.1 * _DRAWS) - 1
_HIGH = math.ceil(0.9 * _DRAWS) - 1


@dataclass(frozen=True, slots=True)
class PastDay:
    """A complete local day: its spend, and the part spent from a given time of day on, in USD."""

    day: date
    usd: float
    tail_usd: float


@dataclass(frozen=True, slots=True)
class _Habit:
    """What the last days say of a day, USD: for each of them its spend and the part of it that its
    weekday explains; how far it, and its tail, lay from what was to be expected.
    """

    spend: tuple[float, ...]
    shapes: tuple[float, ...]
    strayed: tuple[float, ...]
    strayed_today: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Projection:
    """How a window's spend is expected to run on, in USD, summed from the window's start.

    ``expected`` holds the sum at the end of each of ``days``, the days left of the window: today
    first, none once the window is over. ``draws`` are totals of the window that may come, from the
    lowest; each stands for at least ``spent``. ``method`` is `WEEKDAYS_DIFFER` or, below 14 days of
    history, `WEEKDAYS_ALIKE`.
    """

    spent: float
    days: tuple[date, ...]
    expected: tuple[float, ...]
    draws: tuple[float, ...]
    method: str
    _weights: tuple[float, ...]
    _habit: _Habit

    @property
    def usd(self) -> float:
        """The expected total of the window."""
        return self.expected[-1] if self.expected else self.spent

    @property
    def interval(self) -> tuple[float, float]:
        """The 10th and the 90th percentile of the draws, widened to hold `usd`."""
        return self._between(self.usd, self.draws) if self.draws else (self.spent, self.spent)

    def band(self) -> list[tuple[float, float]]:
        """The interval at the end of each of `days`; the last is `interval`."""
        sums = [0.0] * _DRAWS
        band = []
        levels, by_day = _draw(self._habit, len(self.days))
        for weight, expected, strayed in zip(self._weights, self.expected, by_day, strict=True):
            sums = [so_far + one for so_far, one in zip(sums, strayed, strict=True)]
            draws = _totals(self.spent, levels, weight, sums)
            band.append(self._between(expected, draws))
        return band

    def _between(self, expected: float, draws: Sequence[float]) -> tuple[float, float]:
        low = max(self.spent, draws[_LOW])
        return min(expected, low), max(expected, draws[_HIGH])

    def share(self, reaches: Callable[[float], bool]) -> float:
        """The share, 0 to 1, of the totals that may come which ``reaches`` a limit."""
        if not self.draws or reaches(self.spent):
            return float(reaches(self.spent))
        return sum(map(reaches, self.draws)) / len(self.draws)

    def meets(self, usd: float, now: datetime, zone: str) -> datetime | None:
        """When the expected path, even within each day, is at ``usd``; None if not in the window.

        ``usd`` is not below what is spent; ``now`` is on the first of `days`.
        """
        below, since = self.spent, now
        for day, sum_then in zip(self.days, self.expected, strict=True):
            ends = Window.day(day, zone).end
            if sum_then > below and sum_then >= usd:
                moment = since + (ends - since) * ((usd - below) / (sum_then - below))
                # The window's end is the first moment of the next one.
                return moment if moment < Window.day(self.days[-1], zone).end else None
            below, since = sum_then, ends
        return None


def daily_spend_series(
    spend: Mapping[date, tuple[float, float]], first_recorded: date | None, today: date
) -> list[PastDay]:
    """The complete local days that a projection may learn from, oldest first, at most 56.

    ``spend`` maps a day to its sum and its tail in USD; a day that is not in it cost nothing.
    ``first_recorded`` (None: nothing is recorded) is left out: it began in its middle.
    """
    if first_recorded is None:
        return []
    first = max(first_recorded + timedelta(days=1), today - timedelta(days=HISTORY_DAYS))
    days = (first + timedelta(days=number) for number in range((today - first).days))
    history = [PastDay(day, *spend.get(day, (0.0, 0.0))) for day in days]
    # A foreign file may hold anything. From this nothing is to be learnt.
    return history if sum(abs(day.usd) for day in history) < BEYOND_ALL_SUMS else []


def mean_daily_usd(history: Sequence[PastDay]) -> float | None:
    """The plain mean of the last 14 days (or of as many as there are); None without any."""
    return fmean(day.usd for day in history[-LEVEL_DAYS:]) if history else None


def burn_rate_projection(
    history: Sequence[PastDay], spent: float, days_left: Sequence[date]
) -> Projection | None:
    """Where the spend of a window goes; None with less than `LEAST_DAYS` of history.

    ``history`` is what `daily_spend_series` gives, with tails from the time of day of now;
    ``spent`` the window's USD so far; ``days_left`` the local days that now and the window's end
    leave: today, then the full ones. Equal arguments give equal numbers.
    """
    if len(history) < LEAST_DAYS:
        return None
    shape = _weekday_shape(history)
    recent = history[-LEVEL_DAYS:]
    shapes = tuple(shape[day.day.weekday()] for day in recent)
    usd = sum(day.usd for day in recent)
    level = usd / sum(shapes)
    # The habit of the hour: which part of a day's money comes after this time of the day.
    rest = min(1.0, sum(day.tail_usd for day in recent) / usd) if usd else 0.0
    habit = _Habit(
        spend=tuple(day.usd for day in recent),
        shapes=shapes,
        strayed=tuple(day.usd - level * own for day, own in zip(recent, shapes, strict=True)),
        strayed_today=tuple(
            day.tail_usd - rest * level * own for day, own in zip(recent, shapes, strict=True)
        ),
    )
    weights = tuple(
        accumulate(
            shape[day.weekday()] * (1.0 if number else rest) for number, day in enumerate(days_left)
        )
    )
    draws: Sequence[float] = ()
    if weights:
        levels, by_day = _draw(habit, len(weights))
        draws = _totals(spent, levels, weights[-1], map(sum, zip(*by_day, strict=True)))
    return Projection(
        spent=spent,
        days=tuple(days_left),
        expected=tuple(spent + level * weight for weight in weights),
        draws=tuple(draws),
        method=WEEKDAYS_DIFFER if len(history) >= LEVEL_DAYS else WEEKDAYS_ALIKE,
        _weights=weights,
        _habit=habit,
    )


def _weekday_shape(history: Sequence[PastDay]) -> list[float]:
    """How a weekday's spend compares to a mean day's, Monday first; 1 for each where unknown.

    Two mean days are added to each weekday, so that one expensive Tuesday is not taken for a rule.
    """
    mean = fmean(day.usd for day in history)
    if len(history) < LEVEL_DAYS or not mean:
        return [1.0] * 7
    of_weekday = [[day.usd for day in history if day.day.weekday() == k] for k in range(7)]
    return [(sum(usd) + 2 * mean) / ((len(usd) + 2) * mean) for usd in of_weekday]


def _draw(habit: _Habit, days: int) -> tuple[list[float], Iterator[tuple[float, ...]]]:
    """`_DRAWS` futures: the level that each has, USD a day, and for each of ``days`` by how much it
    strays from it.

    A level is that of recent days drawn with replacement, a day's straying that of a recent day.
    """
    of_levels, of_days = _picks(len(habit.spend), days)
    samples = (
        map(sum, zip(*[iter(of_levels(values))] * len(values), strict=True))
        for values in (habit.spend, habit.shapes)
    )
    levels = [spend / shapes for spend, shapes in zip(*samples, strict=True)]
    return levels, (
        pick(habit.strayed if number else habit.strayed_today)
        for number, pick in enumerate(of_days)
    )


@lru_cache(maxsize=8)
def _picks(
    size: int, days: int
) -> tuple[itemgetter[tuple[float, ...]], tuple[itemgetter[tuple[float, ...]], ...]]:
    """Which of ``size`` recent days are drawn: for all levels, and for each of ``days``.

    The same for everyone, so that a page of budgets rolls the dice once.
    """
    chance = Random(1)
    return (
        itemgetter(*chance.choices(range(size), k=size * _DRAWS)),
        tuple(itemgetter(*chance.choices(range(size), k=_DRAWS)) for _ in range(days)),
    )


def _totals(
    spent: float, levels: Sequence[float], weight: float, strayed: Iterable[float]
) -> list[float]:
    """The totals of all draws, the lowest first."""
    return sorted(
        spent + level * weight + stray for level, stray in zip(levels, strayed, strict=True)
    )
