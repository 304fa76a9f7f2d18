"""The overview: what was spent, on what, what is expected, and what is worth a look."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

from datasette import Response

from hermes_telemetry.budget.answers import Outlook
from hermes_telemetry.budget.forecast import LEAST_DAYS, LEVEL_DAYS
from hermes_telemetry.money import UNKNOWN
from hermes_telemetry.store.files import db_option
from hermes_telemetry.windows import local_day, parse_timestamp, time_zone

from . import links, overview_bars, overview_figures, spend_charts
from .figures import query_links
from .frame import Page, RefusedError, view
from .overview_notices import noticed
from .period import Period, span
from .standing import budget_file, spend_figures, verdict_word

PATH = "/-/telemetry"
TODAY = "Today"

# What is read by itself: Datasette has some threads for it.
_PARTS: Mapping[str, overview_figures.Part] = {
    "spend": overview_figures.spend,
    "estimates": overview_figures.estimates,
    "sessions": overview_figures.sessions,
    "reconcile": overview_figures.unreconciled,
    "anomalies": overview_figures.anomalies,
    "notices": overview_figures.notices,
    "cron_jobs": overview_figures.cron_jobs,
    "preset_calls": overview_figures.preset_calls,
    "failed_attempts": overview_figures.failed_attempts,
}


@view(PATH)
async def overview(page: Page) -> Response:
    """The figures of the period, and where today and this month go."""
    if overview_figures.SPEND not in page.ledger.queries:
        if page.wants_json:
            raise RefusedError(
                409, page.ledger.note or f"this file lacks what {overview_figures.SPEND} needs"
            )
        return await page.answer("telemetry_base.html", {}, period=False, status=409)
    parts = [
        page.figures(f"overview: {part}", partial(compute, page))
        for part, compute in _PARTS.items()
    ]
    outlooks, *found = await asyncio.gather(_day_and_month(page), *parts)
    figures = dict(zip(_PARTS, found, strict=True))
    spend, notices = figures.pop("spend"), figures.pop("notices")
    trust = {part: figures.pop(part) for part in ("estimates", "reconcile", "preset_calls")}
    day, month = outlooks or (None, None)
    said = {
        **spend,
        "today": day and overview_figures.today(day),
        "budgets": [each.answer() for each in outlooks],
        **figures,
        "look_at": notices,
        "config_error": budget_file(page).error,
        "trust": {
            **(trust["estimates"] or {}),
            "unreconciled_sessions": trust["reconcile"],
            "preset_calls": trust["preset_calls"],
        },
    }
    if page.wants_json:
        return await page.answer("", said)
    limited = next((each for each in (month, day) if each and each.verdict.limit is not None), None)
    here = page.now.astimezone(time_zone(page.zone))
    before = page.period.before()
    return await page.answer(
        "telemetry_overview.html",
        said,
        month=month,
        month_name=f"{here:%B}",
        weekday=f"{here:%A}",
        clock=f"{here:%H:%M}",
        breach=month and _breach(page, month),
        least_days=LEAST_DAYS,
        is_rough=month and month.history_days < LEVEL_DAYS,
        limited=limited,
        verdict_word=verdict_word,
        budget_page=page.url("/-/telemetry/budget"),
        limit_bar=limited and spend_charts.limit_bar("limit", limited),
        bars=overview_bars.picture(page, said),
        heading=_heading(page.period),
        # The card of today, else that of the period is the same twice.
        is_today=day is not None and _heading(page.period) == TODAY,
        compared=before and _compared(before),
        compared_at=before and page.url(since=before.since, until=before.until),
        bar_url=partial(overview_bars.bar_url, page),
        links_of=partial(query_links, page),
        rows_of=partial(links.rows_url, page),
        minutes=_minutes,
        noticed=noticed(page, notices),
        file=page.ledger.path and db_option(Path(page.ledger.path)),
    )


async def _day_and_month(page: Page) -> list[Outlook]:
    """None of both where the file is too old to say."""
    compute = partial(overview_figures.day_and_month, page)
    try:
        return await spend_figures(page, "day and month", compute)
    except RefusedError:
        return []


def _heading(period: Period) -> str:
    if period.goes_on and period.begins_with_a_day and period.days is not None:
        if period.days == 1:
            return TODAY
        if period.first == period.today.replace(day=1):
            return "This month"
    return period.words


def _compared(before: Period) -> str:
    if before.begins_with_a_day and before.first == before.today - timedelta(days=1):
        return before.words.replace(span(before.first, before.first), "yesterday")
    return before.words


def _breach(page: Page, month: Outlook) -> str | None:
    """When this month's limit is, or was, reached: the words of its day."""
    if month.breach_at is None:
        return None
    moment = parse_timestamp(month.breach_at)
    day = local_day(moment, page.zone)
    return f"{'breached' if moment <= page.now else 'breach'} {day.day} {day:%b}"


def _minutes(ms: float | None) -> str:
    if ms is None:
        return UNKNOWN
    return "< 1" if 0 < ms < 60_000 else f"{ms / 60_000:,.0f}"
