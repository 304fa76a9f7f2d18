"""Stacked bars over time: a few series and all others, as spend and failed attempts are drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import style
from .figure import Spec, labels
from .steps import Steps


@dataclass(frozen=True)
class Stacks:
    """`heights` by step and place, which is that of the series in `shown` or, one behind the last,
    that of all the others.
    """

    steps: Steps
    shown: Sequence[Hashable]
    has_others: bool
    heights: Mapping[tuple[str, int], float]

    @classmethod
    def of(
        cls,
        steps: Steps,
        largest_first: Sequence[Hashable],
        heights: Iterable[tuple[str, Hashable, float]],
    ) -> Stacks:
        """From the day, the series and the height of each part of a bar."""
        shown = largest_first[: len(style.SERIES)]
        places = {series: place for place, series in enumerate(shown)}
        sums: dict[tuple[str, int], float] = defaultdict(int)
        for day, series, height in heights:
            sums[steps.of(day), places.get(series, len(shown))] += height
        return cls(steps, shown, len(largest_first) > len(shown), dict(sorted(sums.items())))

    def rows(self, series: str, measure: str) -> list[dict[str, Any]]:
        """What is drawn, by the names of its columns; the others have `is_other`."""
        return [
            {
                self.steps.kind: step,
                series: self.shown[place] if place < len(self.shown) else None,
                "is_other": place == len(self.shown),
                measure: height,
            }
            for (step, place), height in self.heights.items()
        ]

    def spec(
        self,
        narrow: bool,
        *,
        names: Sequence[str],
        others: str,
        axis: Callable[[float], Spec],
        side_by_side: bool = False,
    ) -> Spec:
        """The picture; `names` are those of the series shown, `axis` is made for the highest bar.

        Bars that are `side_by_side` look like an area, and show a single day as well.
        """
        legend = labels(names, style.longest_label(narrow)) + [others] * self.has_others
        bars: dict[str, float] = defaultdict(float)
        for (step, _), height in self.heights.items():
            bars[step] += height
        return style.picture(
            {
                "data": {
                    "values": [
                        {"step": step, "series": legend[place], "place": place, "height": height}
                        for (step, place), height in self.heights.items()
                    ]
                },
                "mark": {"type": "bar", **({"width": {"band": 1}} if side_by_side else {})},
                "encoding": {
                    "x": self.steps.channel("step", narrow, side_by_side=side_by_side),
                    "y": {
                        "field": "height",
                        "type": "quantitative",
                        "axis": axis(max(bars.values(), default=0)),
                    },
                    "color": style.colour(
                        "series",
                        legend,
                        style.colours(len(legend), has_other=self.has_others),
                        narrow,
                    ),
                    "order": {"field": "place"},
                },
            },
            narrow,
        )
