"""JSON as its readers take it: without `Infinity` and `NaN`, which Python would write."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def finite(value: Any) -> Any:
    """The same with null for each number that is none: an amount that nobody knows."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(of) for key, of in value.items()}
    return [finite(one) for one in value] if isinstance(value, list | tuple) else value


def text(value: Any) -> str:
    """For a command's ``--json``: indented, without a newline at its end."""
    return json.dumps(finite(value), indent=2, allow_nan=False)


def line(value: Any) -> str:
    """One line of newline-delimited JSON, without its end."""
    return json.dumps(finite(value), allow_nan=False)
