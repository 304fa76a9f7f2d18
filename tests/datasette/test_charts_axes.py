"""The axes of pictures: what stands at their ticks can be read."""

import re
from datetime import datetime, timedelta
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from hermes_telemetry_datasette.charts import drawing
from hermes_telemetry_datasette.charts.figure import as_json
from hermes_telemetry_datasette.charts.running_lines import Line, Point, spec

SVG = "{http://www.w3.org/2000/svg}"


def labels_below(svg: bytes) -> list[tuple[float, str]]:
    """Where the labels of the x axis stand, from left to right, and what they say."""
    found = []
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        if "role-axis-label" in group.attrib.get("class", "").split():
            at = [re.findall(r"[\d.-]+", text.attrib["transform"]) for text in group]
            if len({y for _, y in at}) == 1 and len({x for x, _ in at}) > 1:
                assert {text.attrib["text-anchor"] for text in group} == {"middle"}
                found += [
                    (float(x), text.text or "")
                    for (x, _), text in zip(at, group, strict=True)
                    if text.attrib.get("opacity") != "0"
                ]
    return sorted(found)


@pytest.mark.parametrize("days", [1, 6, 13, 14, 30, 90])
def test_no_label_below_a_picture_runs_into_another(days: int) -> None:
    first, last = datetime(2026, 3, 1), datetime(2026, 3, 1) + timedelta(days=days)
    line = Line("this", "this", [Point(first, 0.0), Point(last, 12_345.0)])
    for narrow in (False, True):
        svg = drawing.svg(as_json(spec([line], {}, narrow)))
        labels = labels_below(svg)
        assert len(labels) > 1
        for (left, words), (right, more) in pairwise(labels):
            # Each stands in the middle of its place; 12 px high, a sign is about 6.7 wide.
            assert right - left > 6.7 * (len(words) + len(more)) / 2
