"""The times that commands are asked about, as their options say them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from .options import InputError

# As in windows, whose import would cost every --help.
PERIODS = ("today", "yesterday", "week", "last-week", "month", "last-month")
WHEN = f"a date, {', '.join(PERIODS)}, an age such as 24h or 7d, an instant or all"
"""What a bound may be, for a help text."""

_MONTHS = ("month", "last-month")


def add_bounds(parser: argparse.ArgumentParser) -> None:
    """``--since`` and ``--until``, also called ``--from`` and ``--to``."""
    parser.add_argument("--since", "--from", dest="since", metavar="WHEN", help=WHEN)
    parser.add_argument(
        "--until",
        "--to",
        dest="until",
        metavar="WHEN",
        help="likewise; a day is included, and of a week or month its last day",
    )


def month(text: str) -> str:
    """``YYYY-MM``, ``month`` or ``last-month``, for argparse. Raises ArgumentTypeError."""
    try:
        date.fromisoformat(f"{text}-01")
    except ValueError:
        if text not in _MONTHS:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a month (2026-07), nor {' or '.join(_MONTHS)}"
            ) from None
    return text


def first_of(month: str, zone: str) -> date:
    """The first day of what `month` has let through; "last-month" is the one before today's."""
    from ..windows import SYSTEM_CLOCK, local_day, named_days

    days = named_days(month, local_day(SYSTEM_CLOCK.now(), zone))
    return days[0] if days else date.fromisoformat(f"{month}-01")


def since_bound(text: str, ledger: Path) -> str:
    """Where the ``--since`` of a command begins, as a 19-character UTC bound; a date is a local day
    of the reports on ``ledger``.

    Raises InputError for what is no time, or one that is yet to come.
    """
    from .. import reports
    from ..windows import SYSTEM_CLOCK, Window, bound

    zone, now = reports.configured_zone(database=ledger), SYSTEM_CLOCK.now()
    try:
        start = Window.asked(text, "", None, zone, now).start
    except ValueError as error:
        raise InputError(f"--since: {error}") from error
    if start > now:
        raise InputError(f"--since: {text!r} lies in the future")
    return bound(start)


def require_window(given: Mapping[str, str], zone: str) -> None:
    """InputError where ``until`` lies before ``since``, or ``since`` in the future: an empty answer
    would look like no spend.

    What is no bound at all is left for `figures.ask` to name.
    """
    from ..windows import SYSTEM_CLOCK, Window

    since, until = given.get("since", ""), given.get("until", "")
    now = SYSTEM_CLOCK.now()
    try:
        window = Window.asked(since, until, None, zone, now)
    except ValueError:
        return
    if window.start >= window.end:
        raise InputError(f"until: {until!r} lies before since: {since!r}")
    if window.start > now:
        raise InputError(f"since: {since!r} lies in the future")
