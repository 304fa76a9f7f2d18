"""What stands in our pages, and names that must do no harm there."""

import json
import re
from typing import Any
from xml.etree import ElementTree

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "quotes": """a"b'c` onmouseover=alert(1) x='""",
    "lines": "one\ntwo\r\nthree\tfour",
    "right to left": "\u202egnp.exe \u2067\u05d0\u05d1\u05d2",
    "markup": "]]></title></svg><img src=x onerror=alert(1)>{{ 7 * 7 }}{% raw %}",
    "control": "a\x01b\x1b[31mc\ufffe",
    "long": "n" * 10_000,
}
"""Names that a file of another build may hold."""

TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Signs that change in which direction the text after them runs."""


def pictures(html: str) -> list[ElementTree.Element]:
    """Our SVGs that stand in a page, read as XML, which they are as well."""
    found, depth, start = [], 0, 0
    for tag in re.finditer(r"<svg\b|</svg>", html):
        if tag.group() == "<svg":
            start = tag.start() if depth == 0 else start
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                found.append(ElementTree.fromstring(html[start : tag.end()]))
    return [svg for svg in found if svg.get("aria-labelledby", "").startswith("tm-")]


def assert_no_markup(html: str) -> None:
    """No text of `HOSTILE` has become markup."""
    for raw in ("<script>alert", "<img src=x", "x='\"", "49{%"):
        assert raw not in html, raw


def assert_harmless(html: str) -> None:
    """Nothing of `HOSTILE` has become markup, or turns or floods what stands around it."""
    assert_no_markup(html)
    shown = re.sub(r"\b(href|action|src|value)=\"[^\"]*\"", "", html)
    assert not TURNS.search(shown)
    assert "n" * 100 not in shown
    assert not re.search("[\x01\x1b\ufffe]", shown)


def strict_json(text: str) -> Any:
    """What JSON by the letter says; it knows neither Infinity nor NaN."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not in JSON")

    return json.loads(text, parse_constant=refuse)
