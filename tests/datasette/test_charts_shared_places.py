"""Rows of a declared chart that share a place: what is drawn, named and listed is their sum, where
it is one, and otherwise the reader can tell them apart.
"""

import json
from collections import defaultdict
from typing import Any

from hermes_telemetry_datasette.charts import declared
from hermes_telemetry_datasette.charts.figure import Figure

COLUMNS = ["day", "model", "cost_usd", "unpriced_calls"]
# 1 July: 0.5 + 0.25 = 0.75; 2 July: 0.625 and a call without a price. The dearest row is that of
# 2 July, the dearest day is 1 July.
ROWS = [
    ("2026-07-02", "a", 0.625, 0),
    ("2026-07-02", "b", None, 1),
    ("2026-07-01", "a", 0.5, 0),
    ("2026-07-01", "b", 0.25, 0),
]
CHART = {
    "mark": "bar",
    "x": "day",
    "x_type": "ordinal",
    "y": "cost_usd",
    "y_type": "quantitative",
}


def figure(rows: list[Any] = ROWS, unit: str = "usd", **changes: str) -> Figure:
    units = {"cost_usd": unit, "unpriced_calls": "count"}
    unpriced = {"cost_usd": "unpriced_calls"} if unit == "usd" else None
    chart = {**CHART, **changes}
    return declared.figure("any", "Any", "query", COLUMNS, rows, chart, units, unpriced)


def table(made: Figure) -> list[tuple[str, ...]]:
    assert made.table is not None
    return [tuple(name for name, _ in made.table.columns), *(row.cells for row in made.table.rows)]


def points(made: Figure) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(made.wide or "")["data"]["values"]
    return found


def test_bars_of_a_day_are_one_and_named_by_their_sum() -> None:
    made = figure()
    assert made.sentence == (
        "The highest is 2026-07-01: $0.75. cost_usd is unknown in 1 of 4 rows."
    )
    assert table(made) == [
        ("day", "cost_usd"),
        ("2026-07-02", "≥ $0.62"),
        ("2026-07-01", "$0.75"),
    ]
    assert list(made.rows) == [
        {"day": "2026-07-02", "cost_usd": 0.625},
        {"day": "2026-07-01", "cost_usd": 0.75},
    ]
    assert points(made) == [{"x": "2026-07-02", "y": 0.625}, {"x": "2026-07-01", "y": 0.75}]
    assert made.total is not None
    # 0.625 + 0.75
    assert (made.total.value, made.total.words) == (1.375, "≥ $1.38")


def test_with_a_colour_the_table_has_each_part_and_the_sentence_the_whole_bar() -> None:
    made = figure(color="model")
    assert made.sentence.startswith("The highest is 2026-07-01: $0.75.")
    assert table(made) == [
        ("day", "cost_usd", "model"),
        ("2026-07-02", "$0.62", "a"),
        ("2026-07-02", "–", "b"),
        ("2026-07-01", "$0.50", "a"),
        ("2026-07-01", "$0.25", "b"),
    ]


def test_a_lower_bound_may_be_the_highest_and_says_so() -> None:
    made = figure([*ROWS, ("2026-07-02", "c", 0.25, 0)], color="model")
    # 0.625 + 0.25, and a call without a price.
    assert made.sentence.startswith("The highest is 2026-07-02: ≥ $0.88.")


def test_a_line_is_as_high_as_the_sum_of_a_day() -> None:
    made = figure(mark="line", x_type="temporal")
    assert made.sentence.startswith("The highest is 2026-07-01: $0.75.")
    assert [point["y"] for point in points(made)] == [0.625, 0.75]


def test_each_line_has_its_own_highest_point() -> None:
    made = figure(mark="line", x_type="temporal", color="model")
    assert made.sentence.startswith("The highest is 2026-07-02, a: $0.62.")
    rows = [*ROWS, ("2026-07-01", "a", 0.25, 0)]
    # Two rows of model a on 1 July: 0.5 + 0.25.
    made = figure(rows, mark="line", x_type="temporal", color="model")
    assert made.sentence.startswith("The highest is 2026-07-01, a: $0.75.")


def test_the_line_of_all_others_is_their_sum() -> None:
    rows = [("2026-07-01", f"m{n}", 8.0, 0) for n in range(5)]
    rows += [("2026-07-01", f"x{n}", 3.0, 0) for n in range(4)]
    made = figure(rows, mark="line", color="model")
    # Five of 8 keep their names; 4 * 3 = 12 is drawn above them.
    others = [point["y"] for point in points(made) if point["color"] == "all others"]
    assert others == [12]
    assert made.sentence == "The highest is 2026-07-01, all others: $12.00."


def test_points_are_rows_and_the_table_tells_them_apart() -> None:
    made = figure(mark="circle")
    assert len(points(made)) == 4
    assert made.sentence.startswith("The highest row is 2026-07-02, a: $0.62.")
    assert table(made)[:2] == [("day", "cost_usd", "model"), ("2026-07-02", "$0.62", "a")]


def test_what_does_not_add_up_is_not_added() -> None:
    made = figure(unit="share")
    assert made.total is None
    assert made.sentence == "The highest row is 2026-07-02, a: 62 %."
    assert json.loads(made.wide or "")["encoding"]["y"]["stack"] is None
    assert len(points(made)) == 4


def test_points_of_different_size_are_parts_of_the_same_bar() -> None:
    columns = ["day", "n", "size"]
    chart = {**CHART, "y": "n", "size": "size"}
    rows = [("d", 1, 1), ("d", 2, 5), ("e", 2, 1)]
    made = declared.figure("any", "Any", "query", columns, rows, chart)
    assert made.sentence == "The highest is d: 3."
    heights: dict[str, int] = defaultdict(int)
    for point in points(made):
        heights[point["x"]] += point["y"]
    assert heights == {"d": 3, "e": 2}


def test_bars_that_lie_are_added_along_their_names() -> None:
    made = figure(x="cost_usd", x_type="quantitative", y="day", y_type="nominal")
    assert made.sentence.startswith("The highest is 2026-07-01: $0.75.")
    assert table(made)[1:] == [("≥ $0.62", "2026-07-02"), ("$0.75", "2026-07-01")]
