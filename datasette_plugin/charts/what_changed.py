"""What changed: the period beside the one before it, in all and model by model."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from hermes_telemetry.money import to_nano, usd

from ..views import formats
from . import style
from .figure import LONGEST_TABLE, Figure, Row, Spec, Table, Total, as_json, labels, nothing, short
from .reading import COSTS, Earlier, Reading, Rows, by_model, priced, unpriced

QUERY = "cost_by_model"
NAME, TITLE = "changes", "What changed"
_UP, _DOWN = "▲ costs more", "▼ costs less"


@dataclass(frozen=True)
class Sums:
    """What calls cost, in USD, None where none has a price; how many they are, and how many of
    them have no price.
    """

    usd: float | None
    calls: int
    unpriced_calls: int

    @classmethod
    def of(cls, rows: Rows) -> Sums:
        """Of rows that hold cost_usd, calls and unpriced_calls."""
        return cls(priced(rows), sum(row["calls"] for row in rows), unpriced(rows))

    def __add__(self, other: Sums) -> Sums:
        known = [part for part in (self.usd, other.usd) if part is not None]
        return Sums(
            sum(known) if known else None,
            self.calls + other.calls,
            self.unpriced_calls + other.unpriced_calls,
        )

    @property
    def known(self) -> float | None:
        """What is known to be spent: nothing where nobody called."""
        return self.usd if self.calls else 0.0

    @property
    def words(self) -> str:
        """``≥ $1.23``."""
        return usd(self.known, self.unpriced_calls)


_NOTHING = Sums(None, 0, 0)


@dataclass(frozen=True)
class Comparison:
    """The sums of the period (None: the file cannot tell), the `earlier` one, None where there is
    none, with its sums, and the models as a figure.
    """

    now: Sums | None
    earlier: Earlier | None
    then: Sums | None
    figure: Figure

    @property
    def change_usd(self) -> float | None:
        """By how much the priced calls cost more; None where one of the sums is unknown."""
        if self.now is None or self.then is None:
            return None
        if self.now.known is None or self.then.known is None:
            return None
        return to_nano(self.now.known - self.then.known)

    @property
    def words(self) -> str:
        """``+12 % (+$3.10) against 1-22 June 2026``; '' where there is nothing to compare."""
        if self.now is None or self.earlier is None or self.then is None:
            return ""
        if not self.now.calls + self.then.calls:
            return ""
        change = formats.change(self.now.known, self.then.known)
        lacking = self.now.unpriced_calls + self.then.unpriced_calls
        rest = ", counting calls with a price only" if lacking else ""
        return f"{change} against {self.earlier.words}{rest}"


def compare(reading: Reading, conn: sqlite3.Connection) -> Comparison:
    """The period and the one before it; `reading.earlier` says which that is."""
    rows, earlier = reading.rows(conn, COSTS), reading.earlier(conn)
    if isinstance(earlier, str):
        return Comparison(Sums.of(rows), None, None, nothing(NAME, TITLE, QUERY, earlier))
    return Comparison(Sums.of(rows), earlier, Sums.of(earlier.compared), _figure(earlier, rows))


@dataclass(frozen=True)
class _Change:
    """A model, or several others as one."""

    words: str
    model: str | None
    usd: float
    now: Sums
    then: Sums


def _figure(earlier: Earlier, rows: Rows) -> Figure:
    changes, unknown = _changes(rows, earlier.compared)
    left_out = f" Left out because their cost is unknown: {', '.join(unknown)}." if unknown else ""
    if not changes:
        return nothing(NAME, TITLE, QUERY, f"No model's cost has changed.{left_out}")
    total = to_nano(sum(change.usd for change in changes))
    shown = _folded(changes)
    bars = sorted(shown, key=lambda change: -change.usd)
    return Figure(
        NAME,
        TITLE,
        QUERY,
        Total(total, "usd_difference", signed(total)),
        f"{changes[0].words} changed most: {signed(changes[0].usd)} against {earlier.words}."
        f"{left_out}",
        rows=[
            {"model": bar.model, "is_other": bar.model is None, "change_usd": bar.usd}
            for bar in bars
        ],
        table=Table(
            (("Model", False), ("Before", True), ("Now", True), ("Change", True)),
            tuple(
                Row((change.words, change.then.words, change.now.words, signed(change.usd)))
                for change in shown
            ),
        ),
        wide=as_json(_spec(bars, False)),
        narrow=as_json(_spec(bars, True)),
    )


def _changes(rows: Rows, then: Rows) -> tuple[list[_Change], list[str]]:
    """The models whose cost has changed, by how much; and the names of up to three of those of
    which that cannot be told.
    """
    now_of, then_of = (
        {model: Sums.of(of) for model, of in by_model(costs).items()} for costs in (rows, then)
    )
    changes, unknown = [], []
    for model in dict.fromkeys([*now_of, *then_of]):
        ours, theirs = now_of.get(model, _NOTHING), then_of.get(model, _NOTHING)
        words = short(model or "no model", 60)
        if ours.known is None or theirs.known is None:
            unknown.append(words)
        elif changed := to_nano(ours.known - theirs.known):
            changes.append(_Change(words, model, changed, ours, theirs))
    changes.sort(key=lambda change: (-abs(change.usd), change.words))
    more = [f"{len(unknown) - 3} more"] if len(unknown) > 3 else []
    return changes, unknown[:3] + more


def _folded(changes: list[_Change]) -> list[_Change]:
    """As many as have room, the last of them all others together."""
    if len(changes) <= LONGEST_TABLE:
        return changes
    shown, rest = changes[: LONGEST_TABLE - 1], changes[LONGEST_TABLE - 1 :]
    now = sum((change.now for change in rest), _NOTHING)
    then = sum((change.then for change in rest), _NOTHING)
    usd_of_all = to_nano(sum(change.usd for change in rest))
    return [*shown, _Change(f"{len(rest)} others", None, usd_of_all, now, then)]


def signed(amount: float) -> str:
    """A change in USD with its sign: ``+$3.10``."""
    return f"{'+' if amount > 0 else ''}{usd(amount)}"


def _spec(bars: list[_Change], narrow: bool) -> Spec:
    names = labels([bar.words for bar in bars], style.longest_label(narrow))
    low, high = min(0, *(bar.usd for bar in bars)), max(0, *(bar.usd for bar in bars))
    words = [signed(bar.usd) for bar in bars]
    return style.picture(
        {
            "data": {
                "values": [
                    {
                        "model": name,
                        "usd": bar.usd,
                        "way": _UP if bar.usd > 0 else _DOWN,
                        "words": told,
                    }
                    for name, bar, told in zip(names, bars, words, strict=True)
                ]
            },
            "encoding": {
                "y": style.names_channel("model", names),
                "x": {
                    "field": "usd",
                    "type": "quantitative",
                    "axis": style.usd_axis(high - low),
                    "scale": {"domain": style.domain(low, high, names, words, narrow)},
                },
            },
            "layer": [
                {
                    "mark": "bar",
                    "encoding": {
                        "color": style.colour(
                            "way",
                            (_UP, _DOWN),
                            (style.SERIES[4], style.SERIES[0]),
                            narrow,
                            beside=style.room_for(names),
                        )
                    },
                },
                *(
                    {
                        "transform": [{"filter": f"datum.usd {side} 0"}],
                        "mark": {"type": "text", "align": align, "dx": dx},
                        "encoding": {"text": {"field": "words"}},
                    }
                    for side, align, dx in ((">", "left", 4), ("<", "right", -4))
                ),
            ],
        },
        narrow,
        style.bars_height(len(bars)),
    )
