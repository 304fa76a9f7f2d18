"""datasette-vega's URL fragment, read back from what a reader sends: `queries.fragment` undone."""

from __future__ import annotations

from urllib.parse import unquote

from .charts.declared import MARKS, TYPES
from .queries import CHART_KEYS

_NEEDED = ("mark", "x_column", "x_type", "y_column", "y_type")
_LONGEST_COLUMN = 200


def parse(fragment: str) -> dict[str, str]:
    """The chart of a fragment, with or without its #, in the words of a query's front matter.

    Has mark, x, x_type, y and y_type, perhaps color and size. Raises ValueError, a line for the
    reader, for anything that the widget does not write itself.
    """
    said: dict[str, str] = {}
    for part in fragment.removeprefix("#").split("&"):
        name, equals, value = part.partition("=")
        key = name.removeprefix("g.")
        if not (name.startswith("g.") and equals and key in CHART_KEYS):
            raise ValueError(f"{part[:60]!r} is not part of a chart")
        if key in said:
            raise ValueError(f"{name} is given twice")
        said[key] = _value(key, unquote(value, errors="strict"))
    if lacking := [f"g.{key}" for key in _NEEDED if key not in said]:
        raise ValueError(f"{', '.join(lacking)}: a chart needs it")
    return {ours: said[theirs] for theirs, ours in CHART_KEYS.items() if theirs in said}


def _value(key: str, value: str) -> str:
    known = {"mark": MARKS, "x_type": TYPES, "y_type": TYPES}.get(key)
    if known and value not in known:
        raise ValueError(f"g.{key}: {value[:60]!r} is none of {', '.join(known)}")
    if not (value and len(value) <= _LONGEST_COLUMN and value.isprintable()):
        raise ValueError(f"g.{key} is not the name of a column")
    return value
