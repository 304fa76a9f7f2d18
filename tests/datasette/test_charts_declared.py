"""Charts as they are declared, drawn of any query's rows: of each of ours, and of odd ones."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hermes_telemetry import reports
from hermes_telemetry.commands import demo
from hermes_telemetry_datasette import queries
from hermes_telemetry_datasette.charts import declared, drawing
from hermes_telemetry_datasette.charts.figure import Figure

BARS = {"mark": "bar", "x": "x", "x_type": "ordinal", "y": "y", "y_type": "quantitative"}


def figure(columns: str, rows: list[Any], **changes: Any) -> Figure:
    chart = {key: text for key, text in {**BARS, **changes}.items() if text}
    return declared.figure("any", "Any", "query", columns.split(), rows, chart)


def values(figure: Figure) -> list[dict[str, Any]]:
    """The data of the picture."""
    found: list[dict[str, Any]] = json.loads(figure.wide or "")["data"]["values"]
    return found


def texts(figure: Figure) -> list[str]:
    svg = ElementTree.fromstring(drawing.svg(figure.wide or ""))
    return [text.text or "" for text in svg.iter("{http://www.w3.org/2000/svg}text")]


def test_the_chart_of_every_query_can_be_drawn(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.db"
    demo.write(path, calls=500, days=40, seed=1)
    drawn = 0
    with closing(sqlite3.connect(path)) as connection:
        reports.prepare_connection(connection, "UTC")
        for name, query in reports.load_queries().items():
            if query.chart is None:
                continue
            columns, rows = reports.run(connection, query, {})
            made = declared.figure(
                name, query.title, name, columns, rows, query.chart, query.units, query.unpriced
            )
            assert bool(rows) == bool(made.wide)
            for spec in filter(None, (made.wide, made.narrow)):
                assert ElementTree.fromstring(drawing.svg(spec)).attrib["width"] in ("760", "340")
                drawn += 1
            # The same words lead to datasette-vega's chart of the same columns.
            assert f"g.y_column={query.chart['y']}" in queries.fragment(query.chart)
    assert drawn > 30


def test_amounts_with_unpriced_calls_are_lower_bounds() -> None:
    query = reports.load_queries()["cost_by_model"]
    rows = [("m", 0.5, 1.0, 1, 2, 3, 0.5, 0), ("n", None, None, 1, 2, 3, 0.5, 1)]
    made = declared.figure(
        "any",
        query.title,
        query.name,
        list(query.units),
        rows,
        query.chart or {},
        query.units,
        query.unpriced,
    )
    assert made.total is not None
    assert (made.total.value, made.total.words) == (0.5, "≥ $0.50")
    assert made.sentence == "The highest is m: $0.50. cost_usd is unknown in 1 of 2 rows."


def test_what_is_no_number_is_not_drawn() -> None:
    made = figure("x y", [("a", 1), ("b", float("inf")), ("c", "2"), ("d", None), ("e", 4)])
    assert [value["y"] for value in values(made)] == [1, None, None, None, 4]
    assert made.total is not None
    assert made.total.words == "≥ 5"
    assert made.sentence == "The highest is e: 4. y is unknown in 3 of 5 rows."
    # JSON has no infinite numbers.
    assert [row["y"] for row in made.rows] == [1, None, None, None, 4]
    drawing.svg(made.wide or "")


def test_what_is_too_large_to_add_up_is_unknown() -> None:
    # Each is a number, their sum is beyond all of them.
    made = figure("x y", [("a", 1e308), ("a", 1e308), ("b", 2)])
    assert made.sentence == "The highest is b: 2. y is unknown in 2 of 3 rows."
    assert made.total is not None
    assert made.total.words == "≥ 2"


@pytest.mark.parametrize("unknown", [None, float("inf"), 1e308, "much"])
@pytest.mark.parametrize("mark", declared.MARKS)
def test_a_chart_with_nothing_to_draw_says_so(mark: str, unknown: Any) -> None:
    made = figure("x y", [("a", unknown), ("a", unknown), ("b", unknown)], mark=mark)
    assert made.sentence == "Nothing to draw: y is unknown in 3 rows."
    assert (made.total, made.wide, made.narrow) == (None, None, None)
    assert made.table is not None


def test_names_along_the_height_are_drawn_without_any_number() -> None:
    made = figure("x y", [("a", "one"), ("b", "two")], mark="circle", y_type="nominal")
    assert made.sentence == "2 rows."
    assert {"one", "two"} <= set(texts(made))


def test_columns_may_have_any_name() -> None:
    columns = ["a.b[0]", "datum['y']"]
    chart = {**BARS, "x": columns[0], "y": columns[1]}
    made = declared.figure("any", "Any", "query", columns, [("p", 1), ("q", 2)], chart)
    assert {"p", "q", *columns} <= set(texts(made))


def test_beyond_five_colours_the_others_have_one() -> None:
    rows = [("day", 2**number, f"s{number}") for number in range(8)]
    made = figure("x y series", rows, color="series")
    shown = [text for text in texts(made) if text.startswith("s") and text != "series"]
    assert shown == ["s3", "s4", "s5", "s6", "s7"]
    assert "all others" in texts(made)


def test_a_series_without_a_known_number_takes_no_colour_from_one_with_little() -> None:
    # Five series have known heights below 1, the sixth has rows that nobody knows the height of.
    rows = [("day", 0.5**number, f"s{number}") for number in range(1, 6)]
    made = figure(
        "x y series", [*rows, ("day", None, "dark"), ("day", None, "dark")], color="series"
    )
    assert [value["color"] for value in values(made)] == [
        "s1",
        "s2",
        "s3",
        "s4",
        "s5",
        "all others",
    ]
    assert made.sentence.endswith("y is unknown in 2 of 7 rows.")


def test_a_thousand_rows_are_drawn_and_it_says_so() -> None:
    made = figure("x y", [(number, 1) for number in range(1001)])
    assert len(values(made)) == 1000
    assert made.total is not None
    assert made.total.value == 1000
    assert made.sentence.endswith("Only the first 1,000 rows are drawn.")


@pytest.mark.parametrize("mark", declared.MARKS)
@pytest.mark.parametrize("kind", declared.TYPES)
def test_every_mark_and_type_can_be_drawn(mark: str, kind: str) -> None:
    rows = [("2026-07-01T10:00:00+00:00", 1), ("2026-07-02", 2), ("soon", 3), (7, 4), (None, 5)]
    drawing.svg(figure("x y", rows, mark=mark, x_type=kind).wide or "")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"mark": "pie"}, "a chart is one of bar, line, circle"),
        ({"x": ""}, "the chart names no x column"),
        ({"y_type": "log"}, "y is none of quantitative, "),
        ({"y": "gone"}, "the query has no column gone"),
        ({"color": "g" * 10_000}, "the query has no column g"),
    ],
)
def test_a_chart_that_cannot_be_drawn_is_one_line(changes: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why) as refusal:
        figure("x y", [("a", 1)], **changes)
    assert len(str(refusal.value)) < 120


def test_no_rows_are_said() -> None:
    made = figure("x y", [])
    assert (made.total, made.sentence, made.wide) == (None, "The query has no rows.", None)
