"""Values that no hook should ever be given, by name: a failing example says which one it was."""

import decimal
import enum
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise RuntimeError("do not look at me")


_LOOKS = """
    repr str bytes format len bool int float index eq ne lt le gt ge hash iter next contains
    getitem getattr call add sub mul neg pos abs round enter
"""
_REFUSALS: dict[str, Any] = {f"__{look}__": _refuse for look in _LOOKS.split()}

Untouchable = type("Untouchable", (), _REFUSALS)
UntouchableText = type("UntouchableText", (str,), {**_REFUSALS, "lstrip": _refuse})
UntouchableInt = type("UntouchableInt", (int,), _REFUSALS)
UntouchableFloat = type("UntouchableFloat", (float,), _REFUSALS)
Classless = type("Classless", (), {"__class__": property(_refuse)})
Liar = type("Liar", (), {"__class__": property(lambda self: str)})


class UntouchableMapping(Mapping[str, Any]):
    """A mapping by its class, of which nothing can be had."""

    get = __getitem__ = __len__ = __contains__ = __eq__ = __repr__ = _refuse  # type: ignore[assignment]

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("do not look at me")


class Platform(str, enum.Enum):  # noqa: UP042 -- a StrEnum prints its value
    """As hosts write their enums: printed it is 'Platform.CLI'."""

    CLI = "cli"


def _deep(depth: int = 50_000) -> list[Any]:
    nested: list[Any] = []
    for _ in range(depth):
        nested = [nested]
    return nested


VALUES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "true": lambda: True,
    "minus one": lambda: -1,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "minus inf": lambda: -math.inf,
    "huge": lambda: 10**30,
    "beyond any float": lambda: 10**400,
    "more digits than Python prints": lambda: 10**5000,
    "smallest float": lambda: 5e-324,
    "decimal nan": lambda: decimal.Decimal("sNaN"),
    "complex": lambda: 1j,
    "empty text": lambda: "",
    "lone surrogate": lambda: "a\ud800b",
    "nul": lambda: "a\0b",
    "10 kB": lambda: "n" * 10_000,
    "10 kB of nul": lambda: "\0" * 10_000,
    "bytes": lambda: b"\xff\0",
    "list": lambda: [1, "two"],
    "dict": lambda: {"type": ["wrong"], "message": {"model": 1}, "body": 2},
    "deep list": _deep,
    "deep json": lambda: '{"error": ' + "[" * 100_000,
    "json of digits": lambda: '{"error": ' + "1" * 10_000 + "}",
    "object": object,
    "class": lambda: dict,
    "enum of texts": lambda: Platform.CLI,
    "untouchable": Untouchable,
    "untouchable text": lambda: UntouchableText("text"),
    "untouchable int": lambda: UntouchableInt(7),
    "untouchable float": lambda: UntouchableFloat(7.5),
    "untouchable mapping": UntouchableMapping,
    "no class": Classless,
    "a lie about its class": Liar,
    "exception of an untouchable": lambda: ValueError(Untouchable()),
}
