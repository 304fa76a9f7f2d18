"""Reading single values out of a payload without ever raising."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

NAME_LIMIT = 512
"""Characters of an id, a model, a provider, a tool name."""

COUNT_LIMIT = 10**12
"""No token or retry count is larger; what is would be noise, and nine million rows of it overflow
the sum of an integer column.
"""

SECONDS_LIMIT = 10**9

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def get(payload: Any, key: str) -> Any:
    """``payload[key]``, or None when it is absent or ``payload`` is no mapping or raises."""
    try:
        if type(payload) is dict or isinstance(payload, Mapping):
            return payload.get(key)
        return None
    except Exception:
        return None


def text(value: Any, limit: int = NAME_LIMIT) -> str:
    """Storable text of at most ``limit`` characters of a text, a number or an object with a
    ``__str__`` of its own; '' for None and for whatever else.

    NUL ends a string for many readers of SQLite files and lone surrogates cannot be stored: both
    become U+FFFD.
    """
    try:
        return _UNSTORABLE.sub("\ufffd", str.__getitem__(_words(value), slice(limit)))
    except Exception:
        return ""


def _words(value: Any) -> str:
    if isinstance(value, str):
        # A member of an enum of strings is its value, whatever its class says about printing.
        return value
    exact = number(value)
    if exact is not None:
        return str(exact)
    own: object = type(value).__str__
    # What a container or a plain object prints, code or an address, names nothing.
    return "" if own is object.__str__ else str(value)


def identifier(value: Any) -> str | None:
    """An id or a name; None when empty."""
    if type(value) is str and len(value) <= NAME_LIMIT and value.isascii() and "\0" not in value:
        return value or None  # nearly all are storable as they are
    return text(value) or None


def named(payload: Any, key: str) -> str | None:
    """The id or the name under a key of a payload."""
    return identifier(get(payload, key))


def each(payload: Any, keys: Sequence[str]) -> list[Any]:
    """What `get` finds under each of the keys."""
    try:
        # A call is told by some twenty values: one step for all of a kind where nothing is odd.
        return list(map(payload.get, keys)) if type(payload) is dict else _one_by_one(payload, keys)
    except Exception:
        return _one_by_one(payload, keys)


def _one_by_one(payload: Any, keys: Sequence[str]) -> list[Any]:
    return [get(payload, key) for key in keys]


def each_named(payload: Any, keys: Sequence[str]) -> list[str | None]:
    """The ids and names under the keys."""
    return list(map(identifier, each(payload, keys)))


def each_counted(payload: Any, keys: Sequence[str]) -> list[int | None]:
    """The counts under the keys, each as `count` reads it."""
    return list(map(count, each(payload, keys)))


def number(value: Any) -> int | float | None:
    """A finite number as Python's own int or float, or None; a bool is no number.

    Subclasses (enums, numpy's float) may compute and compare as they like.
    """
    if type(value) is int:
        return value
    try:
        if isinstance(value, bool):
            return None
        if isinstance(value, int):
            return int.__pos__(value)
        if isinstance(value, float) and math.isfinite(exact := float.__pos__(value)):
            return exact
    except Exception:  # isinstance asks the object for its class
        return None
    return None


def count(value: Any) -> int | None:
    """A whole number from 0 to a trillion (a fraction is cut off), or None."""
    if type(value) is int:
        return value if 0 <= value <= COUNT_LIMIT else None
    exact = number(value)
    return int(exact) if exact is not None and 0 <= exact <= COUNT_LIMIT else None


def integer(value: Any) -> int | None:
    """A whole number of any sign and at most a trillion, or None."""
    exact = number(value)
    return int(exact) if exact is not None and abs(exact) <= COUNT_LIMIT else None


def milliseconds(seconds: Any) -> int | None:
    """A duration in ms from seconds; None unless it is a finite number >= 0."""
    exact = number(seconds)
    return round(exact * 1000) if exact is not None and 0 <= exact <= SECONDS_LIMIT else None


def flag(value: Any) -> bool | None:
    """True or False when the host said so in a boolean, else None."""
    return value if value is True or value is False else None


def is_true(value: Any) -> bool:
    """Whether ``value`` counts as true; what cannot say so is something, and does."""
    try:
        return bool(value)
    except Exception:
        return True
