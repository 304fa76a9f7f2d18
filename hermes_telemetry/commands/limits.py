"""The limits that commands judge by, and how they and what is spent of them read on a screen."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..budget.config import BudgetFile, Limits
from ..budget.verdicts import WINDOWS
from ..money import usd
from ..paths import budget_path
from ..reports import configured_zone
from . import output

if TYPE_CHECKING:
    from ..budget.config import Budget
    from .options import Screen

# A scope as it reads before an id, and for all of its ids that have no limit of their own.
_ONE = {"global": "global", "cron_job": "cron job", "sender": "sender", "profile": "profile"}
_EVERY = {
    "global": "global",
    "cron_job": "every cron job",
    "sender": "every sender",
    "profile": "every profile",
}
_PER = {"daily": "a day", "monthly": "a month"}
# With it, what is spent and its limit fit into a chat.
_LONGEST_NAME = 28
_UNITS = {
    "used": "share",
    "spent": "usd",
    "limit": "usd",
    "projected": "usd",
    "unpriced": "count",
}


def budget_and_zone(ledger: Path) -> tuple[BudgetFile, str]:
    """The budget.yaml that belongs to a ledger, and the zone of its local days.

    One that cannot be used limits nothing; its ``error``, which `say_fault` tells, is not logged to
    the terminal besides.
    """
    file = BudgetFile(budget_path(ledger))
    with _quiet():
        file.current()
        return file, configured_zone(database=ledger)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps what is shown as a part of the answer from being logged to the terminal as well."""
    logger, handler = logging.getLogger("hermes_telemetry"), logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def say_fault(screen: Screen, file: BudgetFile) -> None:
    """Why a budget.yaml cannot be used and what follows, above an answer without limits; nothing of
    a sound one.
    """
    if file.error is not None:
        output.say(screen, file.error)
        output.say(
            screen,
            "Until this is corrected, a host that runs keeps the limits that it read before; one"
            " that starts enforces nothing.",
        )
        screen.to.write("\n")


def whose(scope: str, scope_id: str | None) -> str:
    """Whom a limit is for: ``global``, ``cron job nightly-report``, ``every sender``."""
    return f"{_ONE[scope]} {scope_id}" if scope_id else _EVERY[scope]


def in_force(budget: Budget) -> Iterator[str]:
    """A line for each limit of a budget, and one for what follows when it is reached."""
    for scope, limits in budget.limits.items():
        yield from _line(whose(scope, None), limits.default, Limits())
        for scope_id, own in limits.overrides.items():
            yield from _line(whose(scope, scope_id), own, limits.default)
    if budget.has_limits:
        follows = {"block": "blocks", "notify": "gives notice, blocks nothing"}[budget.on_breach]
        counted = {"warn_only": "only warns", "enforce": "counts"}[budget.on_estimated]
        missing = {"warn": "only warns", "block": "is a breach"}[budget.on_unpriced]
        yield (
            f"notice at {budget.soft_pct:.0%}, breach at {budget.hard_pct:.0%}; a breach {follows};"
            f" estimated spend {counted}; a call without a price {missing}"
        )


def _line(who: str, limits: Limits, default: Limits) -> Iterator[str]:
    """``default`` is what would hold without these limits: one that they lift is named."""
    amounts = []
    for window in WINDOWS:
        amount = limits.of(window)
        if amount is not None:
            amounts.append(in_words(amount, window))
        elif default.of(window) is not None:
            amounts.append(in_words(None, window))
    if amounts:
        yield f"{who}: {', '.join(amounts)}"


def in_words(limit: float | None, window: str) -> str:
    """A limit in USD, or that there is none: ``$3.00 a day``, ``no daily limit``."""
    return f"no {window} limit" if limit is None else f"{usd(limit)} {_PER[window]}"


def write_standings(screen: Screen, standings: Sequence[Mapping[str, Any]]) -> None:
    """A line for each (`budget.answers.standing`): where it stands, where it goes."""
    columns = ["budget", "window", "verdict", "spent", "limit", "used", "projected", "unpriced"]
    names = (whose(each["scope"], each["scope_name"] or each["scope_id"]) for each in standings)
    rows = [
        (
            name if screen.columns is None else output.cut(name, _LONGEST_NAME),
            each["window"],
            verdict(each),
            each["spent_usd"],
            each["limit_usd"],
            each["spent_pct"],
            each["projected_usd"],
            each["unpriced_calls"],
        )
        for name, each in zip(names, standings, strict=True)
    ]
    lower_bounds = {"spent": "unpriced", "projected": "unpriced"}
    output.write_table(screen.to, columns, rows, _UNITS, lower_bounds, screen.columns)


def verdict(standing: Mapping[str, Any]) -> str:
    """The verdict of a standing in words."""
    if standing["limit_usd"] is None:
        return "no limit"
    return "over, estimated" if standing["degraded"] else str(standing["verdict"])
