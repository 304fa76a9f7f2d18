"""The times that commands are asked about, as their options say them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from .options import InputError


def month(text: str) -> date:
    """The first day of the month ``YYYY-MM``, for argparse. Raises ArgumentTypeError."""
    try:
        return date.fromisoformat(f"{text}-01")
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no month (2026-07)") from None


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
