"""What a benchmark finds: one figure a line, beside the limit that it must keep."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

HEADING = f"{'figure':62} {'value':>11} {'limit':>11} {'ratio':>6}  result"


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    ``value`` must be at most ``limit``, or at least with ``at_least``; a limit of None asks
    nothing. ``lacking`` says why there is no value: such a figure has failed.
    """

    name: str
    value: float
    unit: str
    limit: float | None = None
    at_least: bool = False
    lacking: str = ""

    @property
    def has_passed(self) -> bool:
        if self.lacking:
            return False
        if self.limit is None:
            return True
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        if self.lacking:
            return f"{self.name:62} {'–':>11} {self._bound:>11} {'–':>6}  FAIL: {self.lacking}"
        ratio = "–" if not self.limit else f"{self.value / self.limit:.2f}"
        result = "–" if self.limit is None else "pass" if self.has_passed else "FAIL"
        return (
            f"{self.name:62} {self._shown(self.value):>11} {self._bound:>11} {ratio:>6}  {result}"
        )

    @property
    def _bound(self) -> str:
        if self.limit is None:
            return "–"
        return f"{'≥' if self.at_least else '≤'} {self._shown(self.limit)}"

    def _shown(self, number: float) -> str:
        digits = 0 if number >= 100 or number == int(number) else 1 if number >= 10 else 2
        return f"{number:,.{digits}f} {self.unit}".rstrip()


@dataclass(frozen=True)
class Setting:
    """What every group of figures is given: where ledgers are kept, where the group may write, how
    often each figure is measured, and whether only to show that all of it runs (``small``).
    """

    ledgers: Path
    scratch: Path
    runs: int
    small: bool

    def size(self, full: int, small: int) -> int:
        """How many of a thing to measure by."""
        return small if self.small else full


Group = Callable[[Setting], Iterable[Figure]]


def quantile(values: Iterable[float], share: float) -> float:
    """The value below which that share of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def medians(runs: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Of runs that each measured the same things, the median of each."""
    found = list(runs)
    return {name: statistics.median(run[name] for run in found) for name in found[0]}
