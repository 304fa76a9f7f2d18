"""The cost review: which figures it has, in which order, and what it says above them."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from . import cron_jobs, failures, prompt_cache, running_total, sessions, spend, trust, what_changed
from .figure import Figure, nothing
from .reading import COSTS, Reading
from .what_changed import Comparison, Sums

_PARTS = (spend, running_total, what_changed, cron_jobs, sessions, prompt_cache, failures, trust)
NAMES = tuple(part.NAME for part in _PARTS)
"""The figures by name, in their order."""

# Those that are made of the same rows are read one after the other, by the same `Reading`.
_OF_COSTS = (spend.NAME, running_total.NAME, what_changed.NAME)
TOGETHER = (_OF_COSTS, *((name,) for name in NAMES if name not in _OF_COSTS))
"""The names in groups, each of which takes long enough to be read beside the others."""

Part = Figure | Comparison


@dataclass(frozen=True)
class Review:
    """`comparison` holds the period's own sums; it is the figure `changes` as well."""

    comparison: Comparison
    figures: tuple[Figure, ...]

    def said(self) -> dict[str, Any]:
        """The review as JSON tells it; amounts in USD, `change_pct` in per cent."""
        now, then, earlier = self.comparison.now, self.comparison.then, self.comparison.earlier
        change = self.comparison.change_usd
        cost = then and then.known
        return {
            **_sums(now),
            "before": earlier
            and {
                **earlier.period.bounds(),
                "recorded_from": earlier.recorded_from and earlier.recorded_from.isoformat(),
                **_sums(then),
            },
            "change_usd": change,
            "change_pct": 100 * change / cost if change is not None and cost else None,
            "figures": [_said(figure) for figure in self.figures],
        }


def parts(names: Collection[str], reading: Reading, conn: sqlite3.Connection) -> dict[str, Part]:
    """Those of `NAMES` that are asked for, by name.

    An older file may lack what one needs, and the figure then says so.
    """
    return {part.NAME: _made(part, reading, conn) for part in _PARTS if part.NAME in names}


def _made(makes: ModuleType, reading: Reading, conn: sqlite3.Connection) -> Part:
    needed = {makes.QUERY, COSTS} if makes.NAME in _OF_COSTS else {makes.QUERY}
    try:
        if needed <= reading.queries.keys():
            if makes is what_changed:
                return what_changed.compare(reading, conn)
            return makes.figure(reading, conn)
    except sqlite3.OperationalError as error:
        if not str(error).startswith("no such"):
            raise
    why = "This file lacks what the figure needs: hermes-telemetry migrate adds it."
    lacking = nothing(makes.NAME, makes.TITLE, makes.QUERY, why)
    return Comparison(None, None, None, lacking) if makes is what_changed else lacking


def figure_of(part: Part) -> Figure:
    """The figure that a part is or holds."""
    return part.figure if isinstance(part, Comparison) else part


def assemble(parts: Mapping[str, Part]) -> Review:
    """The review of all its parts."""
    comparison = parts[what_changed.NAME]
    assert isinstance(comparison, Comparison)
    return Review(comparison, tuple(figure_of(parts[name]) for name in NAMES))


def _sums(sums: Sums | None) -> dict[str, Any]:
    return {
        "total_usd": sums and sums.known,
        "calls": sums and sums.calls,
        "unpriced_calls": sums and sums.unpriced_calls,
    }


def _said(figure: Figure) -> dict[str, Any]:
    total = figure.total
    return {
        "name": figure.name,
        "title": figure.title,
        "query": figure.query,
        "total": total and total.value,
        "unit": total and total.unit,
        "unpriced_calls": total and total.unpriced_calls,
        "sentence": figure.sentence,
        "rows": list(figure.rows),
    }
