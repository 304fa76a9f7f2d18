"""The steps of a chart's time: days, or for a long period what has room instead of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ..views.period import Period

Kind = Literal["day", "week", "month", "year"]

# Up to how many days a step of a kind is drawn for; beyond them all it is years.
_UP_TO: dict[Kind, int] = {"day": 92, "week": 731, "month": 3653}
# Which steps are labelled: the first distance that leaves few enough.
_DISTANCES = (1, 2, 3, 7, 14, 28, 56, 112)
_LABELS: dict[Kind, str] = {"day": "%-d %b", "week": "%-d %b", "month": "%b %Y", "year": "%Y"}


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps from a first to a last local day; each is named by its first day, as ISO text.

    `kind` says what a step is. Weeks begin on Monday. Every step is there but for years, of which
    only those with a row are.
    """

    kind: Kind
    all: tuple[str, ...]

    @classmethod
    def over(cls, period: Period, days: Iterable[str]) -> Steps:
        """Those of a period whose rows lie on `days`, which may go beyond its last day."""
        seen = sorted({date.fromisoformat(day) for day in days})
        first = period.first or (seen[0] if seen else period.last)
        last = max([period.last, *seen[-1:]])
        length = (last - first).days + 1
        kind: Kind = next((kind for kind, most in _UP_TO.items() if length <= most), "year")
        if kind == "year":
            return cls(kind, tuple(dict.fromkeys(_step(kind, day).isoformat() for day in seen)))
        every = (first + timedelta(days=n) for n in range(length))
        return cls(kind, tuple(dict.fromkeys(_step(kind, day).isoformat() for day in every)))

    def of(self, day: str) -> str:
        """The step that a local day lies in."""
        return _step(self.kind, date.fromisoformat(day)).isoformat()

    def channel(self, field: str, narrow: bool, *, side_by_side: bool = False) -> dict[str, Any]:
        """The x channel of a chart with a band for each step, perhaps without room between."""
        form = "%-d %b %y" if self.kind == "week" and len(self.all) > 53 else _LABELS[self.kind]
        most = 5 if narrow else 10
        distance = next((n for n in _DISTANCES if len(self.all) / n <= most), _DISTANCES[-1])
        return {
            "field": field,
            "type": "ordinal",
            "scale": {"domain": list(self.all), **({"padding": 0} if side_by_side else {})},
            "axis": {
                "title": None,
                "values": list(self.all[::distance]),
                # The field is a text: an ordinal scale knows no dates.
                "labelExpr": f"utcFormat(utcParse(datum.value, '%Y-%m-%d'), '{form}')",
                "labelAngle": 0,
                "labelOverlap": "parity",
            },
        }


def _step(kind: Kind, day: date) -> date:
    if kind == "week":
        return date.fromordinal(max(1, day.toordinal() - day.weekday()))
    if kind == "month":
        return day.replace(day=1)
    return day.replace(month=1, day=1) if kind == "year" else day


def day_in_words(day: str) -> str:
    """A day as sentences have it: ``12 November``."""
    moment = date.fromisoformat(day)
    return f"{moment.day} {moment:%B}"
