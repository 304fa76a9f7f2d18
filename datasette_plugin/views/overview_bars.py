"""The overview's picture: each day of the period, what it is held against, and what is marked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from markupsafe import Markup

from hermes_telemetry.money import usd
from hermes_telemetry.windows import local_day, next_month, parse_timestamp

from ..charts.figure import labels
from ..charts.style import OTHER, SERIES
from .day_bars import Bar, Part, draw
from .formats import LONGEST_NAME, name
from .frame import Page
from .period import Period, span

_DAY = timedelta(days=1)


def picture(page: Page, said: Mapping[str, Any]) -> Markup | None:
    """The bars of what the overview says; None when there is nothing to draw."""
    if not any(bar["cost_usd"] or bar["before_usd"] for bar in said["spend"]):
        return None
    step = said["step"]
    names = labels([one["model"] for one in said["models"]], LONGEST_NAME)
    dear, changes = _dear(said), _changes(page, said)
    bars = []
    for number, one in enumerate(said["spend"]):
        first, last = (date.fromisoformat(one[bound]) for bound in ("since", "until"))
        bars.append(
            Bar(
                label=_label(first, step, is_first=number == 0),
                words=f"{first:%A} {span(first, first)}" if step == "day" else span(first, last),
                usd=one["cost_usd"],
                unpriced=one["unpriced_calls"],
                parts=list(_parts(one, names)),
                before=one["before_usd"],
                address=bar_url(page, one),
                goes_on=page.period.goes_on and first <= page.period.today <= last,
                dear=dear.get(first) if step == "day" else None,
                changes=[
                    words for day, all in changes.items() if first <= day <= last for words in all
                ],
            )
        )
    total = usd(said["total"]["cost_usd"], said["total"]["unpriced_calls"])
    about = f"{total} in all; each bar leads to its {step}, the table below has the amounts"
    return draw([*bars, *_to_come(page.period, step)], f"Spend by {step}", about)


def bar_url(page: Page, bar: Mapping[str, Any]) -> str:
    """The overview of a bar's days, as far as they belong to the period."""
    first, last = (date.fromisoformat(bar[bound]) for bound in ("since", "until"))
    return page.url(**page.period.part(first, last))


def _label(first: date, step: str, *, is_first: bool = False) -> str:
    if step == "year":
        return str(first.year)
    if step == "month":
        return f"{first:%b %Y}" if is_first or first.month == 1 else f"{first:%b}"
    return (
        f"{first.day} {first:%b}"
        if step == "week" or is_first or first.day == 1
        else str(first.day)
    )


def _parts(one: Mapping[str, Any], names: list[str]) -> Iterator[Part]:
    """The dearest model of the period lies at the foot of each bar."""
    for model, amount, colour in zip(names, one["models_usd"], SERIES, strict=False):
        if amount:
            yield Part(model, amount, colour)
    if one["others_usd"]:
        yield Part("all others", one["others_usd"], OTHER)


def _dear(said: Mapping[str, Any]) -> dict[date, str]:
    return {
        date.fromisoformat(row["day"]): (
            f"▲ {usd(row['over_usd'])} above the median"
            f" {usd(row['median_usd'], row['history_unpriced_calls'])}"
        )
        for row in said["anomalies"] or []
    }


def _changes(page: Page, said: Mapping[str, Any]) -> dict[date, list[str]]:
    changes: dict[date, list[str]] = defaultdict(list)
    for row in said["look_at"]["price_changes"]:
        day = local_day(parse_timestamp(row["valid_from"]), page.zone)
        by = "" if row["change_pct"] is None else f" by {row['change_pct']:+,.0f} %"
        changes[day].append(f"┊ the price of {name(row['model'])} changed{by}")
    return changes


def _to_come(period: Period, step: str) -> Iterator[Bar]:
    """Room for what is left of a month: one that is young has few bars."""
    if step != "day" or not period.goes_on or period.first != period.today.replace(day=1):
        return
    day = period.last + _DAY
    while day < next_month(period.today):
        yield Bar(_label(day, step), "", None, 0, ())
        day += _DAY
