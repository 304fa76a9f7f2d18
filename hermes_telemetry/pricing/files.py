"""Reading price files: the user's ``pricing.yaml``, followed as it changes, and the built-in table.

A session never fails for a price file. When ``pricing.yaml`` cannot be read the prices of its last
good version stay in force, and one log line says where the fault is.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ..windows import SYSTEM_CLOCK, Clock
from .entries import Entry, Multipliers, parse_entries, rate

logger = logging.getLogger(__name__)

# libyaml reads a feed of a thousand models in a tenth of the time, but not every build has it.
Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SECONDS_BETWEEN_LOOKS = 1.0
_SECTIONS = ("models", "families", "defaults", "refresh", "_meta")
_HERE = Path(__file__).parent
_SEEDS = "seeds.yaml"


@dataclass(frozen=True, slots=True)
class PriceBook:
    """What a price file says, ready for lookups: keys are lower case, families longest first."""

    models: Mapping[str, Entry] = field(default_factory=dict)
    families: tuple[tuple[str, Entry], ...] = ()
    fill: Multipliers = field(default_factory=Multipliers)


class PricingFileError(Exception):
    """A price file that cannot be used; the text names line and column, counted from 1."""


class PriceFile:
    """``pricing.yaml`` as it is now: looked at once a second, read again when it has changed."""

    def __init__(self, path: Path, clock: Clock = SYSTEM_CLOCK) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._book = PriceBook()
        self._seen: tuple[int, ...] | None = None
        self._next_look: float | None = None

    def book(self) -> PriceBook:
        """The prices in force: the same object until the file changes. Never raises."""
        due = self._next_look
        if due is not None and self._clock.monotonic() < due:
            return self._book
        # Whoever finds a reload under way goes on with the former prices; only at the very first
        # look, when there are none, everyone waits.
        if self._lock.acquire(blocking=due is None):
            try:
                self._look()
            finally:
                self._next_look = self._clock.monotonic() + _SECONDS_BETWEEN_LOOKS
                self._lock.release()
        return self._book

    def _look(self) -> None:
        seen = self._identity()
        if seen == self._seen:
            return
        # Noted before reading: a write in between makes the next look read again, and a faulty
        # version is reported once.
        self._seen = seen
        try:
            self._book = (
                parse_book(self._path.read_bytes(), self._path.name) if seen else PriceBook()
            )
        except (PricingFileError, OSError) as fault:
            what = f"cannot be read ({fault.strerror})" if isinstance(fault, OSError) else fault
            logger.error("%s: %s; the prices read before stay in force", self._path, what)

    def _identity(self) -> tuple[int, ...] | None:
        """What changes when the file does; None while there is no file."""
        try:
            stat = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as fault:
            return (fault.errno or -1,)
        return (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)


def parse_book(text: bytes, name: str) -> PriceBook:
    """The prices in the text of a ``pricing.yaml``; ``name`` stands for the file in log lines.

    Raises PricingFileError if the text is no such file. An entry that cannot be charged is left
    out with one log line, as is an unusable multiplier.
    """
    root = load_mapping(text)
    models = parse_entries(root.get("models") or {}, f"{name}, models")
    families = parse_entries(root.get("families") or {}, f"{name}, families")
    defaults = root.get("defaults") or {}
    return PriceBook(
        {_key(entry): entry for entry in models},
        _longest_first({_key(entry): entry for entry in families}),
        Multipliers(
            _multiplier(defaults, "cache_read_multiplier", name),
            _multiplier(defaults, "cache_write_multiplier", name),
        ),
    )


@cache
def builtin_book() -> PriceBook:
    """The prices that come with the package, read at the first call.

    The seeds, written by hand, win over the table that a script rebuilds.
    """
    models: dict[str, Entry] = {}
    families: dict[str, Entry] = {}
    for name in ("builtin.yaml", _SEEDS):
        for vendor, block in _blocks(name).items():
            source = f"{vendor}, {block['last_verified']}"
            stated = block["models"]
            for section, into in ((stated, models), (block.get("families", {}), families)):
                # A text in place of rates names the id of this block that has the same ones.
                rates = {
                    key: {**(stated[raw] if isinstance(raw, str) else raw), "_source": source}
                    for key, raw in section.items()
                }
                into.update((_key(entry), entry) for entry in parse_entries(rates, name))
    return PriceBook(models, _longest_first(families))


def seeded_block(vendor: str) -> dict[str, Any]:
    """A vendor's block of the prices kept by hand, as written there."""
    block: dict[str, Any] = _blocks(_SEEDS)[vendor]
    return block


def _blocks(name: str) -> dict[str, Any]:
    blocks: dict[str, Any] = yaml.load((_HERE / name).read_bytes(), Loader=Loader)
    return blocks


def load_mapping(text: bytes) -> dict[Any, Any]:
    """The whole of a price file as YAML has it. Raises PricingFileError if it is malformed."""
    try:
        root = yaml.load(text, Loader=Loader)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        problem = " ".join(str(fault.problem or fault.context).split())
        raise _fault(problem, mark) from None
    except yaml.reader.ReaderError as fault:
        before = text[: fault.position].decode(errors="replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise PricingFileError(f"line {line}, column {column}: {fault.reason}") from None
    except RecursionError:
        raise PricingFileError("line 1, column 1: nested too deeply") from None
    except ValueError as fault:  # a date such as 2026-13-45
        raise PricingFileError(f"line 1, column 1: {fault}") from None
    if root is None:
        return {}
    if not isinstance(root, dict):
        raise PricingFileError("line 1, column 1: not a mapping")
    for section in _SECTIONS:
        if root.get(section) is not None and not isinstance(root[section], dict):
            raise _fault(f"{section} is not a mapping", _mark_of(text, section))
    return root


def _fault(problem: str, mark: Any) -> PricingFileError:
    if mark is None:
        return PricingFileError(problem)
    return PricingFileError(f"line {mark.line + 1}, column {mark.column + 1}: {problem}")


def _mark_of(text: bytes, section: str) -> Any:
    root: Any = yaml.compose(text, Loader=Loader)
    for key, value in root.value:
        if key.value == section:
            return value.start_mark
    return None


def _multiplier(defaults: Mapping[Any, Any], key: str, name: str) -> Decimal | None:
    try:
        return rate(defaults, key)
    except ValueError as fault:
        logger.warning("%s, defaults: %s; it is ignored", name, fault)
        return None


def _key(entry: Entry) -> str:
    return entry.id.strip().lower()


def _longest_first(families: dict[str, Entry]) -> tuple[tuple[str, Entry], ...]:
    return tuple(sorted(families.items(), key=lambda family: len(family[0]), reverse=True))
