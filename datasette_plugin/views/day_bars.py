"""Spend by day as stacked bars: each leads to its day, and behind it stands the period before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from hermes_telemetry.money import usd

from ..charts.style import INK, RULE
from . import svg

_TOP, _PLOT, _BOTTOM = 22, 200, 24
_FOOT = _TOP + _PLOT
HEIGHT = _FOOT + _BOTTOM
# How many labels the axis has room for; on a telephone a third of them.
_LABELS = 16


@dataclass(frozen=True)
class Part:
    """What one model, or all others together, cost in a bar: name, USD and colour."""

    name: str
    usd: float
    colour: str


@dataclass(frozen=True)
class Bar:
    """A day, or a month of a long period. `label` stands below it, `words` name it in full.

    `usd` is None where nothing has a price, `before` (USD) where there is nothing to compare with;
    `address` is None for what is still to come. `dear` says why it is marked ▲, `changes` what
    prices changed (┊).
    """

    label: str
    words: str
    usd: float | None
    unpriced: int
    parts: Sequence[Part]
    before: float | None = None
    address: str | None = None
    goes_on: bool = False
    dear: str | None = None
    changes: Sequence[str] = ()


def draw(bars: Sequence[Bar], title: str, about: str) -> Markup:
    """The picture; `title` and `about` say what it shows to who does not see it."""
    most = max(max(bar.usd or 0, bar.before or 0) for bar in bars)
    steps = svg.round_steps(most)
    highest = steps[-1] or 1.0
    slot = 100 / len(bars)
    every = -(-len(bars) // _LABELS)
    return svg.picture(
        "days",
        HEIGHT,
        title,
        about,
        _HATCH,
        *(_line(amount, highest) for amount in steps),
        *(_bar(bar, number * slot, slot, highest) for number, bar in enumerate(bars)),
        *(
            svg.text(
                bar.label,
                (number + 0.5) * slot,
                HEIGHT - 6,
                text_anchor="middle",
                class_="tm-wide" if number % (3 * every) else None,
            )
            for number, bar in enumerate(bars)
            if number % every == 0
        ),
        role="group",
    )


# White lines over today: what is not over yet.
_HATCH = svg.element(
    "defs",
    svg.element(
        "pattern",
        svg.element("path", d="M-1,7 L7,-1 M-1,1 L1,-1 M5,7 L7,5", stroke="#fff", stroke_width=1.6),
        id="tm-hatch",
        width=6,
        height=6,
        patternUnits="userSpaceOnUse",
    ),
)


def _line(amount: float, highest: float) -> Markup:
    y = _FOOT - _PLOT * amount / highest
    rule = svg.element(
        "line",
        x1="0",
        x2="100%",
        y1=f"{y:.1f}",
        y2=f"{y:.1f}",
        stroke=RULE if amount else svg.PALE,
    )
    label = svg.text(svg.axis_label(amount), 0, round(y + 4), dx=-8, text_anchor="end")
    return rule + label


def _bar(bar: Bar, left: float, slot: float, highest: float) -> Markup:
    drawn = Markup()
    if bar.before:
        drawn += _box(
            left + slot * 0.06, slot * 0.88, _FOOT, bar.before / highest, "#eceff3", svg.PALE
        )
    inner, width = left + slot * 0.16, slot * 0.68
    foot = float(_FOOT)
    for part in bar.parts:
        drawn += _box(inner, width, foot, part.usd / highest, part.colour)
        foot -= _PLOT * part.usd / highest
    if bar.goes_on and foot < _FOOT:
        drawn += _box(inner, width, _FOOT, (_FOOT - foot) / _PLOT, "url(#tm-hatch)")
    middle = left + slot / 2
    if bar.changes:
        x = svg.percent(left)
        drawn += svg.element("line", x1=x, x2=x, y1=6, y2=_FOOT, stroke=INK, stroke_dasharray="2 3")
    if bar.dear:
        top = min(foot, _FOOT - _PLOT * (bar.before or 0) / highest)
        drawn += svg.text("▲", middle, round(top - 6), text_anchor="middle", fill=svg.BAD)
    if bar.address is None:
        return drawn
    words = f"{bar.words}: {usd(bar.usd, bar.unpriced)}"
    lines = [words + (", so far" if bar.goes_on else "")]
    lines += [f"{part.name}: {usd(part.usd)}" for part in reversed(bar.parts)]
    lines += [bar.dear] if bar.dear else []
    lines += bar.changes
    # All of the slot can be pointed at, a low bar too.
    target = svg.element(
        "rect",
        x=svg.percent(left),
        width=svg.percent(slot),
        y=_TOP,
        height=_PLOT,
        fill="transparent",
    )
    return svg.element(
        "a",
        svg.element("title", "\n".join(lines)),
        drawn,
        target,
        href=bar.address,
        aria_label=words,
    )


def _box(
    left: float, width: float, foot: float, share: float, fill: str, stroke: str | None = None
) -> Markup:
    height = _PLOT * share
    return svg.element(
        "rect",
        x=svg.percent(left),
        width=svg.percent(width),
        y=f"{foot - height:.2f}",
        height=f"{height:.2f}",
        fill=fill,
        stroke=stroke,
    )
