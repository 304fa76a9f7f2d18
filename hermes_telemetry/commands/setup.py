"""`setup`: the files that a telemetry home starts with; in chat, `/setup`. It overwrites none."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .options import InputError, add_command, screen

if TYPE_CHECKING:
    from .options import Commands, Screen

_CHOICES = {"pricing": ("auto", "minimal", "skip"), "budget": ("default", "custom", "skip")}
_ALL = {"pricing": "minimal", "budget": "default"}


def add_parser(commands: Commands) -> None:
    """`setup [pricing auto|minimal|skip] [budget default|custom|skip]`."""
    parser = add_command(
        commands,
        "setup",
        does="write pricing.yaml and budget.yaml where they are missing",
        example="pricing auto budget default",
        handler=run,
    )
    parser.add_argument(
        "words",
        metavar="WHAT",
        nargs="*",
        help="pricing auto (list prices are fetched), minimal (built-in prices, no network) or"
        " skip; budget default (5 USD a day, 100 a month, reached limits block), custom (a file to"
        " fill in) or skip; without words: pricing minimal budget default",
    )
    parser.set_defaults(telemetry_writes=True)


def run(namespace: argparse.Namespace) -> int:
    """Writes what is asked for; 1 if a list of prices could not be had."""
    from .. import first_load, paths
    from .price_sources import prices_home

    chosen, to = _chosen(namespace.words), screen(namespace)
    auto = chosen["pricing"] == "auto"
    home = prices_home() if auto else paths.telemetry_home()
    failed = False
    if chosen["pricing"] != "skip":
        _tell(to, paths.pricing_path(home), first_load.write_pricing(home))
    if auto:
        failed = _fetch_prices(to, home)
    if chosen["budget"] != "skip":
        custom = chosen["budget"] == "custom"
        text = first_load.BUDGET_TO_FILL_IN if custom else first_load.BUDGET
        written = first_load.write_budget(home, text)
        _tell(to, home / "budget.yaml", written)
        if written:
            _say_what_holds(to, custom=custom)
    return int(failed)


def _chosen(words: Sequence[str]) -> dict[str, str]:
    chosen: dict[str, str] = {}
    for part, choice in zip(words[::2], [*words[1::2], ""], strict=False):
        if part not in _CHOICES:
            raise InputError(f"{part!r} is not a part of the setup: {' or '.join(_CHOICES)}")
        if choice not in _CHOICES[part]:
            given = f"{part} {choice}".rstrip()
            raise InputError(f"{given!r}: name {part} {'|'.join(_CHOICES[part])}")
        if chosen.setdefault(part, choice) != choice:
            raise InputError(f"{part} is to be {chosen[part]} and {choice}: name one")
    return dict.fromkeys(_CHOICES, "skip") | (chosen or _ALL)


def _tell(to: Screen, path: Path, written: bool) -> None:
    from .output import say

    say(to, f"{path}: written" if written else f"{path}: there already, left as it is")


def _fetch_prices(to: Screen, home: Path) -> bool:
    from ..pricing.refresh import refresh
    from .output import say
    from .price_sources import counts_in_words, failures_in_words

    report = refresh(home)
    for line in failures_in_words(report):
        say(to, line)
    say(to, counts_in_words(report))
    return bool(report.failures)


def _say_what_holds(to: Screen, *, custom: bool) -> None:
    from .output import say

    if custom:
        say(to, "nothing is limited until you take a # away there, or use `budget set`")
    else:
        say(to, "5 USD a day, 100 a month; a limit that is reached stops tools and cron jobs")
