"""A limit as a bar, and how the spend of its window grew and is expected to grow as lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from markupsafe import Markup

from hermes_telemetry.budget.answers import Outlook
from hermes_telemetry.budget.verdicts import window_of
from hermes_telemetry.money import BEYOND_ALL_SUMS, usd
from hermes_telemetry.windows import local_instant, parse_timestamp, time_zone

from ..charts.style import INK, MUTED, RULE, SERIES
from . import svg

BAR_HEIGHT = 16
_TOP, _PLOT, _BOTTOM = 14, 190, 24
_FOOT = _TOP + _PLOT
HEIGHT = _FOOT + _BOTTOM

COLOURS = {"ok": svg.GOOD, "soft": svg.WARN, "hard": svg.BAD}


def limit_bar(key: str, outlook: Outlook) -> Markup:
    """What is spent of a limit as a bar, ▒ what is expected, | the limit and the soft one."""
    verdict, spent = outlook.verdict, outlook.spend.spent
    limit, soft = verdict.limit or 0.0, verdict.soft or 0.0
    expected = spent if outlook.projection is None else outlook.projection.usd
    # An infinite sum, which only a broken file can hold, has no length; the words say "–".
    spent_drawn, expected_drawn = (
        amount if abs(amount) < BEYOND_ALL_SUMS else 0.0 for amount in (spent, expected)
    )
    full = max(limit * 1.2, expected_drawn * 1.05, spent_drawn * 1.05) or 1.0
    colour = COLOURS[verdict.level or "ok"]
    words = f"{usd(spent, outlook.spend.unpriced_calls)} of {usd(limit)} spent"
    if outlook.projection is not None:
        words += f", {usd(expected, outlook.spend.unpriced_calls)} expected"

    def box(start: float, end: float, fill: str) -> Markup:
        x, width = svg.percent(100 * start / full), svg.percent(100 * (end - start) / full)
        return svg.element("rect", x=x, width=width, y=3, height=10, fill=fill)

    def rule(amount: float, **how: object) -> Markup:
        x = svg.percent(100 * amount / full)
        return svg.element("line", x1=x, x2=x, y1=0, y2=BAR_HEIGHT, **how)

    hatch = svg.element(
        "pattern",
        svg.element("path", d="M-1,5 L5,-1 M-1,1 L1,-1 M3,5 L5,3", stroke=colour, stroke_width=1.2),
        id=f"tm-{key}-hatch",
        width=4,
        height=4,
        patternUnits="userSpaceOnUse",
    )
    return svg.picture(
        key,
        BAR_HEIGHT,
        words,
        "the lines are the limit and, paler, the soft limit",
        svg.element("defs", hatch),
        svg.element("rect", x=0, width="100%", y=3, height=10, fill="#e9edf2"),
        box(spent_drawn, max(spent_drawn, expected_drawn), f"url(#tm-{key}-hatch)"),
        box(0, spent_drawn, colour),
        rule(soft, stroke=MUTED, stroke_dasharray="2 2"),
        rule(limit, stroke=INK, stroke_width=2),
    )


def growth(key: str, outlook: Outlook, points: Sequence[Mapping[str, Any]]) -> Markup | None:
    """The sums of `points`, which `spend_path` gives for the outlook, against its limits.

    None where there is nothing to draw: neither a limit nor any spend, or one that is infinite.
    """
    window = window_of(outlook.window, outlook.today, outlook.zone)
    verdict = outlook.verdict
    amounts = [point[name] for point in points for name in _AMOUNTS if point[name] is not None]
    if not sum(map(abs, amounts)) < BEYOND_ALL_SUMS or (not any(amounts) and verdict.limit is None):
        return None
    steps = svg.round_steps(max([*amounts, (verdict.limit or 0) * 1.04]) or 1.0)

    def x(moment: datetime) -> float:
        return 100 * ((moment - window.start) / (window.end - window.start))

    def y(amount: float) -> float:
        return _FOOT - _PLOT * amount / steps[-1]

    def places(name: str) -> list[tuple[float, float]]:
        return [
            (x(parse_timestamp(point["at"])), y(point[name]))
            for point in points
            if point[name] is not None
        ]

    drawn = [_level(amount, y(amount)) for amount in steps]
    drawn += [
        svg.text(
            label,
            x(moment),
            HEIGHT - 6,
            text_anchor="middle" if moment > window.start else "start",
        )
        for moment, label in _times(outlook)
    ]
    band = places("high_usd") + places("low_usd")[::-1]
    drawn.append(
        _stretched(
            _line("polygon", band, fill=SERIES[0], fill_opacity=0.16),
            _line("polyline", places("previous_usd"), stroke=svg.PALE, stroke_width=1.5),
            _line(
                "polyline",
                places("expected_usd"),
                stroke=SERIES[0],
                stroke_width=2,
                stroke_dasharray="5 4",
            ),
            _line("polyline", places("spent_usd"), stroke=SERIES[0], stroke_width=2.5),
        )
    )
    if verdict.limit is not None:
        drawn.append(_rule("limit", verdict.limit, y, svg.BAD))
        for name, amount in (("soft", verdict.soft), ("hard", verdict.hard)):
            if amount is not None and amount != verdict.limit:
                drawn.append(_rule(name, amount, y, svg.WARN, stroke_dasharray="6 4"))
    now = svg.percent(x(outlook.now))
    drawn.append(
        svg.element("circle", cx=now, cy=f"{y(outlook.spend.spent):.1f}", r=4, fill=SERIES[0])
    )
    if outlook.breach_at is not None and verdict.hard is not None:
        drawn += _breach(parse_timestamp(outlook.breach_at), verdict.hard, outlook.zone, x, y)
    return svg.picture(key, HEIGHT, _title(outlook), sentence(outlook), *drawn)


_AMOUNTS = ("spent_usd", "expected_usd", "low_usd", "high_usd", "previous_usd")


def sentence(outlook: Outlook) -> str:
    """What the picture shows, in words."""
    unpriced = outlook.spend.unpriced_calls
    said = f"{usd(outlook.spend.spent, unpriced)} spent so far"
    if outlook.verdict.limit is not None:
        said += f" of {usd(outlook.verdict.limit)}"
    if outlook.projection is not None:
        low, high = outlook.projection.interval
        said += (
            f"; {usd(outlook.projection.usd, unpriced)} expected in all,"
            f" in 4 of 5 cases {usd(low)} to {usd(high)}"
        )
    return said


def _title(outlook: Outlook) -> str:
    period = "today" if outlook.window == "daily" else f"{outlook.today:%B %Y}"
    return f"Spend of {period} over time"


def _times(outlook: Outlook) -> Iterable[tuple[datetime, str]]:
    """Where the axis has a label, few enough for a telephone."""
    if outlook.window == "daily":
        day = outlook.today
        for hour in range(0, 24, 3):
            moment = local_instant(day, datetime.min.replace(hour=hour).time(), outlook.zone)
            yield moment, f"{hour}:00"
        return
    day = outlook.today.replace(day=1)
    while day.month == outlook.today.month:
        first = local_instant(day, datetime.min.time(), outlook.zone)
        yield first, f"{day.day} {day:%b}"
        day += timedelta(days=7)


def _level(amount: float, y: float) -> Markup:
    rule = svg.element(
        "line",
        x1="0",
        x2="100%",
        y1=f"{y:.1f}",
        y2=f"{y:.1f}",
        stroke=RULE if amount else svg.PALE,
    )
    return rule + (svg.text(svg.axis_label(amount), 0, round(y - 4)) if amount else Markup())


def _stretched(*lines: Markup) -> Markup:
    """Lines whose points are per cent across and pixels down, over the whole width."""
    return svg.element(
        "svg",
        *lines,
        x="0",
        y="0",
        width="100%",
        height=HEIGHT,
        viewBox=f"0 0 100 {HEIGHT}",
        preserveAspectRatio="none",
    )


def _line(kind: str, places: Sequence[tuple[float, float]], **how: object) -> Markup:
    if len(places) < 2:
        return Markup()
    points = " ".join(f"{x:.3f},{y:.2f}" for x, y in places)
    return svg.element(
        kind, points=points, vector_effect="non-scaling-stroke", **{"fill": "none", **how}
    )


def _rule(name: str, amount: float, y: Any, colour: str, **how: object) -> Markup:
    place = y(amount)
    line = svg.element(
        "line", x1="0", x2="100%", y1=f"{place:.1f}", y2=f"{place:.1f}", stroke=colour, **how
    )
    # On the left, where what is spent is still low, beside the amounts of the axis.
    return line + svg.text(f"{name} {usd(amount)}", 0, round(place - 4), dx=64, fill=colour)


def _breach(moment: datetime, hard: float, zone: str, x: Any, y: Any) -> list[Markup]:
    local, place = moment.astimezone(time_zone(zone)), x(moment)
    at = svg.percent(place)
    label = f"{local.day} {local:%b %H:%M}"
    return [
        svg.element(
            "line",
            x1=at,
            x2=at,
            y1=f"{y(hard):.1f}",
            y2=_FOOT,
            stroke=svg.BAD,
            stroke_dasharray="2 3",
        ),
        svg.element(
            "circle", cx=at, cy=f"{y(hard):.1f}", r=4.5, fill="#fff", stroke=svg.BAD, stroke_width=2
        ),
        svg.text(
            label,
            place,
            round(y(hard) + 16),
            dx=-8 if place > 75 else 8,
            text_anchor="end" if place > 75 else "start",
            fill=svg.BAD,
            font_weight="bold",
        ),
    ]
