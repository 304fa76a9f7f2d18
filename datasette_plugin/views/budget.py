"""Budgets: where each limit stands and where its spend goes; a forecast and its picture alone."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, get_args

from datasette import Response
from markupsafe import Markup

from hermes_telemetry.budget.answers import Outlook, outlook, standings
from hermes_telemetry.budget.backtest import Backtest, backtest_of
from hermes_telemetry.budget.config import Budget, BudgetFile, WindowName
from hermes_telemetry.budget.owners import known_owner
from hermes_telemetry.budget.spend_path import spend_path
from hermes_telemetry.cron_jobs import cron_jobs, resume_command
from hermes_telemetry.store.files import db_option
from hermes_telemetry.store.spend import EVERYONE, SCOPES, Owner
from hermes_telemetry.windows import timestamp

from . import budget_rows
from .figures import PICTURE_POLICY, query_links
from .formats import name, share
from .frame import Page, RefusedError, view
from .spend_charts import growth
from .standing import all_outlooks, budget_file, spend_figures

PATH = "/-/telemetry/budget"
_ALERTS_SHOWN = 10
_LONGEST_REASON = 200
_WINDOWS: tuple[WindowName, ...] = get_args(WindowName)


@view(PATH)
async def budget(page: Page) -> Response:
    """The page, and the object of ``budget --json``."""
    file = budget_file(page)
    if page.wants_json:
        said = await spend_figures(
            page,
            "standings",
            lambda conn, _: standings(conn, file, page.database, page.zone, page.now),
        )
        return await page.answer("", said, period=False)
    shown = budget_rows.rows(page, await all_outlooks(page))
    everyone = [row for row in shown if row.outlook.owner == EVERYONE]
    limited = next((row for row in shown if row.outlook.verdict.limit is not None), everyone[-1])
    opened, backtest = limited.key, None
    if "scope" in page.given:
        owner, window = _asked(page)
        asked = budget_rows.chosen(owner, window, shown)
        opened = asked or opened
        if asked and "backtest" in page.given:
            backtest = _came_of(await _backtest(page, owner, window))
    return await page.answer(
        "telemetry_budget.html",
        {},
        period=False,
        rows=shown[: budget_rows.SHOWN],
        more=len(shown) - budget_rows.SHOWN,
        opened=opened,
        backtest=backtest,
        growth=await spend_figures(
            page,
            "growth",
            lambda conn, _: {row.outlook.window: _growth(row.outlook, conn) for row in everyone},
        ),
        chart_url=partial(page.bare_url, f"{PATH}/chart", "svg"),
        forecast_url=partial(page.bare_url, "/-/telemetry/forecast", "json"),
        budget=file.current(),
        file=file,
        changed=_changed(page, file),
        has_limits=any(row.outlook.verdict.limit is not None for row in shown),
        option=db_option(Path(page.ledger.path)) if page.ledger.path else "",
        alerts=await page.figures("alerts", partial(_alerts, page)),
        alert_links=query_links(page, "budget_alert_history"),
        paused=[
            (
                name(job.name),
                job.reason and name(job.reason, _LONGEST_REASON),
                resume_command(job_id),
            )
            for job_id, job in cron_jobs().items()
            if job.paused
        ],
    )


@view("/-/telemetry/forecast")
async def forecast(page: Page) -> Response:
    """The object of ``forecast --json``."""
    asked, window = _asked(page)

    def compute(conn: sqlite3.Connection, budget: Budget) -> dict[str, Any]:
        owner = _known(conn, asked)
        return outlook(conn, budget, owner, window, page.zone, page.now).answer()

    said = await spend_figures(page, ("forecast", asked, window), compute)
    return page.json(said)


@view(f"{PATH}/chart")
async def chart(page: Page) -> Response:
    """How the spend of one row grows, as a picture of its own, loaded when it is opened."""
    owner, window = _asked(page)
    asked = (row for row in await all_outlooks(page) if (row.owner, row.window) == (owner, window))
    found = next(asked, None)
    drawn = None if found is None else await page.read(partial(_growth, found))
    if drawn is None:
        raise RefusedError(404, "there is no such row, or nothing to draw of it")
    headers = {
        "Cache-Control": "private, no-cache",
        "Content-Security-Policy": PICTURE_POLICY,
        "X-Content-Type-Options": "nosniff",
    }
    return Response(drawn, headers=headers, content_type="image/svg+xml")


def _asked(page: Page) -> tuple[Owner, WindowName]:
    """Whose spend and of which window the address asks for; RefusedError 400."""
    scope, scope_id = page.given.get("scope") or "global", page.given.get("scope_id", "")
    given = page.given.get("window") or "monthly"
    window = next((name for name in _WINDOWS if name == given), None)
    if scope not in SCOPES:
        raise RefusedError(400, f"scope: {scope!r} is none of {', '.join(SCOPES)}")
    if window is None:
        raise RefusedError(400, f"window: {given!r} is none of {', '.join(_WINDOWS)}")
    if bool(scope_id) == (scope == EVERYONE[0]):
        why = "global is all that is spent, it takes none" if scope_id else f"say which {scope}"
        raise RefusedError(400, f"scope_id: {why}")
    return (scope, scope_id), window


def _known(conn: sqlite3.Connection, asked: Owner) -> Owner:
    """The owner that is meant, which may be given as a cron job's name; RefusedError 404."""
    if asked == EVERYONE:
        return asked
    try:
        return known_owner(conn, *asked)
    except ValueError as error:
        raise RefusedError(404, str(error)) from error


def _growth(outlook: Outlook, conn: sqlite3.Connection) -> Markup | None:
    return growth(f"growth-{outlook.window}", outlook, spend_path(conn, outlook))


def _alerts(page: Page, conn: sqlite3.Connection) -> list[dict[str, Any]] | None:
    """The newest first; None where the file is too old to have any."""
    if "budget_alert_history" not in page.ledger.queries:
        return None
    return page.rows(conn, "budget_alert_history", _ALERTS_SHOWN)


async def _backtest(page: Page, asked: Owner, window: WindowName) -> Backtest:
    def compute(conn: sqlite3.Connection, _: Budget) -> Backtest:
        return backtest_of(conn, _known(conn, asked), window, page.zone, page.period.today)

    return await spend_figures(page, ("backtest", asked, window), compute)


def _came_of(came: Backtest) -> str:
    """In one sentence how far off earlier forecasts were."""
    if came.wape is None or came.coverage is None:
        return "No earlier forecast can be checked yet: the ledger does not go back far enough."
    forecasts, were = ("forecast", "was") if came.count == 1 else ("forecasts", "were")
    return (
        f"{came.count:,} earlier {forecasts} (one at every fifth midnight) {were} off by"
        f" {share(came.wape)} of what was still to be spent; {share(came.coverage)} of them had"
        " the result within their range (80 % is the aim)."
    )


def _changed(page: Page, file: BudgetFile) -> str | None:
    """When the file was last written, in the reader's words; None while there is none."""
    try:
        written = file.path.stat().st_mtime
    except OSError:
        return None
    return page.local(timestamp(datetime.fromtimestamp(written, UTC)))
