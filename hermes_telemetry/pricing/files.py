"""Reading price files: the user's ``pricing.yaml``, followed as it changes, and the built-in table.

A session never fails for a price file. When ``pricing.yaml`` cannot be read the prices of its last
good version stay in force, and one log line says where the fault is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ..windows import SYSTEM_CLOCK, Clock
from ..yaml_files.followed import FollowedFile
from ..yaml_files.text import ConfigFileError, Loader, compose, fault_at, load
from .entries import Entry, Multipliers, parse_entries, rate

logger = logging.getLogger(__name__)

_SECTIONS = ("models", "families", "defaults", "refresh", "_meta")
_HERE = Path(__file__).parent
_SEEDS = "seeds.yaml"
_KEPT = "the prices read before stay in force"


@dataclass(frozen=True, slots=True)
class PriceBook:
    """What a price file says, ready for lookups: keys are lower case, families longest first."""

    models: Mapping[str, Entry] = field(default_factory=dict)
    families: tuple[tuple[str, Entry], ...] = ()
    fill: Multipliers = field(default_factory=Multipliers)


class PriceFile(FollowedFile[PriceBook]):
    """``pricing.yaml`` as it is now; a faulty version leaves the last good prices in force."""

    def __init__(self, path: Path, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(
            path,
            lambda path: parse_book(path.read_bytes(), path.name),
            absent=PriceBook(),
            kept=_KEPT,
            none=_KEPT,
            log=logger,
            clock=clock,
        )


def parse_book(text: bytes, name: str) -> PriceBook:
    """The prices in the text of a ``pricing.yaml``; ``name`` stands for the file in log lines.

    Raises ConfigFileError if the text is no such file. An entry that cannot be charged is left
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
    """The whole of a price file as YAML has it. Raises ConfigFileError if it is malformed."""
    root = load(text)
    if root is None:
        return {}
    if not isinstance(root, dict):
        raise ConfigFileError("line 1, column 1: not a mapping")
    for section in _SECTIONS:
        if root.get(section) is not None and not isinstance(root[section], dict):
            raise fault_at(_mark_of(text, section), f"{section} is not a mapping")
    return root


def _mark_of(text: bytes, section: str) -> Any:
    for key, value in compose(text).value:
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
