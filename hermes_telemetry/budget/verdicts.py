"""Whether what was spent breaches a limit, and the windows in which that is asked."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date
from typing import Literal

from ..store.spend import TOLERANCE_USD, Spend
from ..windows import Window
from .config import KEYS, Budget, WindowName

WINDOWS: tuple[WindowName, ...] = tuple(KEYS)

Level = Literal["ok", "soft", "hard"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a limit says of a spend; amounts in USD.

    ``level`` is None without a limit. ``degraded``: the spend is over the hard threshold, but only
    together with estimated calls, which do not block. ``spent_pct`` is a share of the limit (1.0 =
    all of it); None where the limit is 0, or so small that the share could be infinite.
    ``over_by`` is what was spent beyond the limit, 0 or more. ``unpriced_breach``: the level is
    hard whatever was spent, because of a call without a price.
    """

    level: Level | None = None
    degraded: bool = False
    limit: float | None = None
    soft: float | None = None
    hard: float | None = None
    spent_pct: float | None = None
    over_by: float = 0.0
    unpriced_breach: bool = False


def judge(budget: Budget, limit: float | None, spend: Spend) -> Verdict:
    """The verdict on what was spent in a window that has a limit (USD), or none.

    Hard is what blocks: firm spend that reaches the hard threshold, any spend that does under
    ``on_estimated: enforce``, a call without a price under ``on_unpriced: block``. A limit of 0 is
    reached as soon as something is spent.
    """
    if limit is None:
        return Verdict()
    soft, hard = budget.soft_pct * limit, budget.hard_pct * limit
    blocking = spend.spent if budget.on_estimated == "enforce" else spend.firm
    unpriced_breach = budget.on_unpriced == "block" and spend.unpriced_calls > 0
    level: Level = "ok"
    if unpriced_breach or reaches(blocking, hard):
        level = "hard"
    elif reaches(spend.spent, soft):
        level = "soft"
    return Verdict(
        level,
        level != "hard" and reaches(spend.spent, hard),
        limit,
        soft,
        hard,
        spend.spent / limit if limit > TOLERANCE_USD else None,
        max(0.0, spend.spent - limit),
        unpriced_breach,
    )


def period_key(window: WindowName, day: date) -> str:
    """The window that holds a local day: ``YYYY-MM-DD``, or ``YYYY-MM`` of its month."""
    return day.isoformat() if window == "daily" else day.isoformat()[:7]


def window_days(window: WindowName, day: date) -> list[date]:
    """The local days of the window that holds a day: that one, or all of its month."""
    if window == "daily":
        return [day]
    return [day.replace(day=n + 1) for n in range(monthrange(day.year, day.month)[1])]


def window_of(window: WindowName, day: date, zone: str) -> Window:
    """The local day, or the whole local month that it lies in."""
    return Window.day(day, zone) if window == "daily" else Window.month(day, zone)


def reaches(amount: float, threshold: float) -> bool:
    """Whether a spend is at a threshold (USD); nothing spent is at none."""
    return amount > 0 and amount >= threshold - TOLERANCE_USD
