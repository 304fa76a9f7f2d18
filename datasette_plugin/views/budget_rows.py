"""The rows of the budget page: a limit each, in words, with its bar and where its spend is."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from markupsafe import Markup

from hermes_telemetry.budget.answers import Outlook
from hermes_telemetry.budget.forecast import LEAST_DAYS, LEVEL_DAYS
from hermes_telemetry.budget.verdicts import window_days, window_of
from hermes_telemetry.money import usd
from hermes_telemetry.store.spend import EVERYONE, Owner
from hermes_telemetry.windows import local_day, parse_timestamp, time_zone

from . import links
from .formats import name
from .frame import Page
from .spend_charts import limit_bar, sentence
from .standing import verdict_word

SHOWN = 100
"""Rows on the page; all of them stand in the JSON."""

_SCOPES = {"cron_job": "Cron job", "sender": "Sender", "profile": "Profile"}
_WORST_FIRST = {"hard": 0, "soft": 1, "ok": 2, None: 3}


@dataclass(frozen=True)
class Row:
    """One owner's day or month as the page shows it.

    `said` is the object of the JSON API. `scope` is "Everyone" or what kind of owner has `name`;
    `spent_at` leads to the rows of what was spent. `breach` says when, `method` how it is expected,
    `before` what the picture draws beside it; None where there is nothing to say.
    """

    key: str
    outlook: Outlook
    said: dict[str, Any]
    scope: str
    name: str | None
    word: str
    bar: Markup | None
    sentence: str
    breach: str | None
    method: str
    before: str | None
    spent_at: str
    arguments: dict[str, str]
    backtest: str


def rows(page: Page, outlooks: Iterable[Outlook]) -> list[Row]:
    """Everyone first, then whoever is nearest to a limit, or over it."""
    ordered = sorted(
        outlooks,
        key=lambda each: (
            each.owner != EVERYONE,
            _WORST_FIRST[each.verdict.level],
            -(each.verdict.spent_pct or 0),
        ),
    )
    return [_row(page, each, f"budget-{number}") for number, each in enumerate(ordered)]


def _row(page: Page, outlook: Outlook, key: str) -> Row:
    scope, scope_id = outlook.owner
    said = outlook.answer()
    options = [f"--window {outlook.window}"]
    if outlook.owner != EVERYONE:
        options = [f"--scope {scope} --id {shlex.quote(scope_id)}", *options]
    return Row(
        key=key,
        outlook=outlook,
        said=said,
        scope=_SCOPES.get(scope, "Everyone"),
        name=name(said["scope_name"]) if scope_id else None,
        word=verdict_word(outlook),
        bar=None if outlook.verdict.limit is None else limit_bar(key, outlook),
        sentence=sentence(outlook),
        breach=_breach(page, outlook),
        method=_method(outlook),
        before=_before(outlook),
        spent_at=_spent_at(page, outlook),
        arguments={"scope": scope, "scope_id": scope_id, "window": outlook.window},
        backtest=f"hermes-telemetry forecast --backtest {' '.join(options)}",
    )


def _breach(page: Page, outlook: Outlook) -> str | None:
    if outlook.breach_probability is None:
        return None
    if outlook.breach_at is None:
        return "not expected"
    moment = parse_timestamp(outlook.breach_at)
    day = local_day(moment, page.zone)
    when = f"{moment.astimezone(time_zone(page.zone)):%H:%M}"
    if outlook.window == "monthly":
        when = f"{day.day} {day:%b} {when}"
    return f"reached {when}" if moment <= outlook.now else when


def _method(outlook: Outlook) -> str:
    """How the forecast is made, in words; docs/budgets.md has more of them."""
    days = outlook.history_days
    if outlook.projection is None:
        return f"forecast needs {LEAST_DAYS} days, has {days}"
    mean, level = usd(outlook.mean_daily_usd), min(days, LEVEL_DAYS)
    if days < LEVEL_DAYS:
        goes_on = (
            f"Rough, from {days} complete days: each day left counts as an average one, {mean}"
        )
    else:
        goes_on = (
            f"The average of the last {level} days, {mean} a day, spread over the weekdays as in"
            f" the last {days} days"
        )
    return (
        f"{goes_on}; the rest of today is estimated from what was spent after this time of day"
        " before."
        f" The range holds 4 of 5 of 2,000 random draws from those {level} days."
    )


def _before(outlook: Outlook) -> str | None:
    """The window before, unless nothing was spent in it, and `spend_path` leaves it out."""
    first = window_days(outlook.window, outlook.today)[0]
    days = window_days(outlook.window, first - timedelta(days=1))
    if not any(outlook.days[day].spend.spent for day in days if day in outlook.days):
        return None
    return f"the {'day' if outlook.window == 'daily' else 'month'} before"


def _spent_at(page: Page, outlook: Outlook) -> str:
    """Where the rows of what was spent are: a query for the local days if the file can run it."""
    scope, scope_id = outlook.owner
    days = window_days(outlook.window, outlook.today)
    query, given = "cost_by_session", {"profile": scope_id if scope == "profile" else ""}
    if scope == "sender":
        return links.rows_url(page, "runs", sender_id=scope_id)
    if scope == "cron_job":
        query, given = "cron_runs", {"cron_job_id": scope_id}
    if query not in page.ledger.queries:
        return links.rows_url(page, "llm_calls", window_of(outlook.window, days[0], page.zone))
    since, until = days[0].isoformat(), days[-1].isoformat()
    return page.query_url(query, since=since, until=until, **given)


def chosen(given: Owner, window: str, shown: Iterable[Row]) -> str | None:
    """The key of the row that an address asks for."""
    return next(
        (row.key for row in shown if (row.outlook.owner, row.outlook.window) == (given, window)),
        None,
    )
