"""`forecast`: what a day or a month will have cost when it is over; in chat, `/budget forecast`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .. import strict_json
from .options import (
    SCOPES,
    WINDOWS,
    InputError,
    add_command,
    add_db_option,
    ledger_path,
    screen,
)

if TYPE_CHECKING:
    import sqlite3

    from ..budget.backtest import Backtest
    from .options import Commands


def add_parser(commands: Commands) -> None:
    """`forecast [--window WINDOW] [--scope SCOPE] [--id ID] [--backtest] [--json]`."""
    parser = add_command(
        commands,
        "forecast",
        does="show where this month's or today's spend goes",
        example="--scope cron_job --id nightly-report",
        handler=run,
    )
    parser.add_argument(
        "--window", choices=WINDOWS, default="monthly", help="(default: %(default)s)"
    )
    parser.add_argument("--scope", choices=SCOPES, default="global", help="(default: %(default)s)")
    parser.add_argument("--id", metavar="ID", help="a job's id or name, a sender, a profile")
    parser.add_argument(
        "--backtest",
        action="store_true",
        help="make every fifth day's forecast again and hold it against what came",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_db_option(parser)


def run(namespace: argparse.Namespace) -> int:
    """Prints the projection, or what came of earlier ones."""
    from ..budget.answers import standing
    from ..budget.backtest import backtest_of
    from ..windows import SYSTEM_CLOCK, local_day
    from . import limits, output
    from .figures import asking

    path = ledger_path(namespace)
    file, zone = limits.budget_and_zone(path)
    now = SYSTEM_CLOCK.now()
    with asking(path, zone) as ledger:
        scope, window = namespace.scope, namespace.window
        scope_id = _known_id(ledger, scope, namespace.id)
        content: dict[str, Any]
        if namespace.backtest:
            today = local_day(now, zone)
            came = backtest_of(ledger, (scope, scope_id), window, zone, today)
            content, lines = asdict(came), _came_of(came, window)
        else:
            content = standing(ledger, file.current(), scope, scope_id, window, zone, now)
            lines = _goes_to(content)
            content["config_error"] = file.error
    shown = screen(namespace)
    if namespace.json:
        shown.to.write(strict_json.text(content) + "\n")
        return 0
    if not namespace.backtest:  # what was spent, whatever the limits were
        limits.say_fault(shown, file)
    for line in lines:
        output.say(shown, line)
    return 0


def _known_id(ledger: sqlite3.Connection, scope: str, given: str | None) -> str:
    """The id that is meant, which may be given as a cron job's name."""
    from ..budget.owners import known_owner

    if scope == "global":
        if given is not None:
            raise InputError("global is all that is spent, it takes no --id")
        return ""
    if given is None:
        raise InputError(f"say which {scope} with --id")
    try:
        _, scope_id = known_owner(ledger, scope, given)
    except ValueError as error:
        raise InputError(str(error)) from error
    return scope_id


def _goes_to(standing: Mapping[str, Any]) -> Iterator[str]:
    from ..budget.forecast import LEAST_DAYS, LEVEL_DAYS
    from ..money import total, usd
    from .limits import verdict, whose

    unpriced = standing["unpriced_calls"]
    who = whose(standing["scope"], standing["scope_name"] or standing["scope_id"])
    period = f"{_local(standing, 'window_start')} to {_local(standing, 'window_end')}"
    yield f"{who}, {standing['window']}: {period} ({standing['timezone']})"
    yield f"spent:     {total(standing['spent_usd'], unpriced)}, {verdict(standing)}"
    if standing["estimated_calls"]:
        yield f"           {usd(standing['firm_usd'])} of it without estimated calls"
    if standing["enabled"]:
        share = standing["spent_pct"]
        used = "" if share is None else f", {share:.1%} used"
        yield f"limit:     {usd(standing['limit_usd'])}{used}"
    days = standing["history_days"]
    if standing["projected_usd"] is None:
        yield f"projected: – (complete days of history: {days}, {LEAST_DAYS} are needed)"
    else:
        low, high = standing["projected_low_usd"], standing["projected_high_usd"]
        rough = f", rough: {days} days of history" if days < LEVEL_DAYS else ""
        yield (
            f"projected: {usd(standing['projected_usd'], unpriced)} at the end"
            f" (4 in 5 cases: {usd(low)} to {usd(high)}{rough})"
        )
    if standing["breach_probability"] is not None:
        when = _local(standing, "breach_at") if standing["breach_at"] else None
        if standing["verdict"] == "hard" or standing["degraded"]:
            yield f"breach:    since {when}"
        else:
            about = f", about {when}" if when else ""
            yield f"breach:    {standing['breach_probability']:.0%} likely{about}"


def _local(standing: Mapping[str, Any], key: str) -> str:
    from ..windows import parse_timestamp, time_zone

    moment = parse_timestamp(standing[key]).astimezone(time_zone(standing["timezone"]))
    return f"{moment:%Y-%m-%d %H:%M}"


def _came_of(came: Backtest, window: str) -> Iterator[str]:
    from ..budget.backtest import LEAST_DAYS_BEHIND

    if not came.count:
        yield (
            f"No {window} forecast can be compared with what was spent: that takes"
            f" {LEAST_DAYS_BEHIND} days of history and a window that is over."
        )
        return
    yield f"{window} forecasts compared with what was spent: {came.count}"
    yield f"off by (WAPE):         {_share(came.wape)} of what was still to be spent"
    yield f"against a plain mean:  {_ratio(came.wape_ratio)} of its errors"
    yield f"within their interval: {_share(came.coverage)} (80% is meant)"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
