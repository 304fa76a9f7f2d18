"""`hermes-telemetry forecast`: where spend goes, what came of earlier ones, what it refuses."""

import json
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.ledger import HandMadeLedger

Refused = Callable[..., str]

pytestmark = pytest.mark.usefixtures("on_wednesday")


@pytest.fixture
def flat(book: HandMadeLedger) -> HandMadeLedger:
    """From 2026-04-20 on, 2 USD every morning at 09:00, today as well, by the cron job `j`."""
    day = date(2026, 4, 20)
    while day <= date(2026, 7, 1):
        book.run(f"run-{day}", f"{day}T09:00", cron_job_id="j")
        book.call(f"run-{day}", 2.0, f"{day}T09:00")
        day += timedelta(days=1)
    return book


def forecast(cli: Any, path: Path, *arguments: str) -> dict[str, Any]:
    answer = cli("forecast", *arguments, "--db", path, "--json")
    assert (answer.code, answer.err) == (0, "")
    content: dict[str, Any] = json.loads(answer.out)
    return content


def test_a_flat_spend_goes_on(cli, flat: HandMadeLedger) -> None:
    flat.path.with_name("budget.yaml").write_text("budgets: {global: {monthly_usd: 50}}")
    content = forecast(cli, flat.path)
    # 2 USD today, which is over by 12:00, and 2 on each of July's other 30 days.
    assert content["spent_usd"] == 2.0
    assert content["projected_usd"] == pytest.approx(62.0)
    # 50 USD are met after 24 more days: on 25 July at midnight, when the 26th begins.
    assert content["breach_at"].startswith("2026-07-26T00:00:00")
    assert (content["breach_probability"], content["status"]) == (1.0, "hard")
    title, spent, limit, projected, breach = cli("forecast", "--db", flat.path).out.splitlines()
    assert title == "global, monthly: 2026-07-01 00:00 to 2026-08-01 00:00 (UTC)"
    assert spent == "spent:     $2.00, ok"
    assert limit == "limit:     $50.00, 4.0% used"
    assert projected == "projected: $62.00 at the end (4 in 5 cases: $62.00 to $62.00)"
    assert breach == "breach:    100% likely, about 2026-07-26 00:00"


def test_a_faulty_budget_leaves_a_forecast_without_a_limit_and_says_so(
    cli, flat: HandMadeLedger
) -> None:
    flat.path.with_name("budget.yaml").write_text("budgets: {global: {monthly_usd: lots}}")
    answer = cli("forecast", "--db", flat.path)
    assert (answer.code, answer.err) == (0, "")
    fault, follows, blank, title, spent, projected = answer.out.splitlines()
    assert fault.startswith("budget.yaml: line 1, column ")
    assert "one that starts enforces nothing" in follows
    assert (blank, title.split(":")[0], spent) == (
        "",
        "global, monthly",
        "spent:     $2.00, no limit",
    )
    # As with a sound file: 2 USD today and on each of July's other 30 days.
    assert projected.startswith("projected: $62.00")
    content = forecast(cli, flat.path)
    assert (content["config_error"], content["enabled"]) == (fault, False)
    # Earlier forecasts are held against what was spent, whatever the limits were.
    lines = cli("forecast", "--backtest", "--db", flat.path).out.splitlines()
    assert lines[0] == "monthly forecasts compared with what was spent: 9"


def test_a_breach_that_is_there_is_told_with_its_time(cli, flat: HandMadeLedger) -> None:
    flat.path.with_name("budget.yaml").write_text("budgets: {global: {monthly_usd: 1}}")
    lines = cli("forecast", "--db", flat.path).out.splitlines()
    assert lines[-1] == "breach:    since 2026-07-01 09:00"


def test_todays_forecast_follows_the_habit_of_the_hour(cli, flat: HandMadeLedger) -> None:
    content = forecast(cli, flat.path, "--window", "daily")
    assert (content["window"], content["projected_usd"]) == ("daily", 2.0)


def test_an_owner_is_named_by_id_or_by_a_jobs_name(
    cli, refused: Refused, flat: HandMadeLedger, hermes_home: Path
) -> None:
    flat.call("chat", 8.0, "2026-07-01T10:00")
    assert forecast(cli, flat.path)["spent_usd"] == 10.0
    assert forecast(cli, flat.path, "--scope", "cron_job", "--id", "j")["spent_usd"] == 2.0
    jobs = [
        {"id": "j", "name": "morning"},
        {"id": "k", "name": "twin"},
        {"id": "l", "name": "twin"},
    ]
    (hermes_home / "cron").mkdir()
    (hermes_home / "cron" / "jobs.json").write_text(json.dumps({"jobs": jobs}))
    by_name = forecast(cli, flat.path, "--scope", "cron_job", "--id", "morning")
    assert (by_name["scope_id"], by_name["scope_name"]) == ("j", "morning")
    line = refused("forecast", "--scope", "cron_job", "--id", "twin", "--db", flat.path)
    assert line.endswith("2 jobs are called 'twin', give an id: k, l")


def test_too_short_a_history_projects_nothing_and_shows_the_spend(
    cli, book: HandMadeLedger
) -> None:
    book.call("a", 1.5, "2026-07-01T10:00")
    book.call("a", None, "2026-07-01T10:01")
    book.call("a", 0.25, "2026-07-01T10:02", estimated=1)
    content = forecast(cli, book.path)
    assert (content["spent_usd"], content["projected_usd"]) == (1.75, None)
    assert (content["status"], content["enabled"]) == ("insufficient_history", False)
    assert cli("forecast", "--db", book.path).out.splitlines()[1:] == [
        "spent:     ≥ $1.75 (1 unpriced), no limit",
        "           $1.50 of it without estimated calls",
        "projected: – (complete days of history: 0, 3 are needed)",
    ]


def test_a_backtest_holds_earlier_forecasts_against_what_came(cli, flat: HandMadeLedger) -> None:
    # Origins: every 5th day from 19 May (29 days after 20 April) to before today; those of May and
    # June, as their months are over: 19, 24, 29 May, 3, 8, 13, 18, 23, 28 June. A flat spend is
    # forecast without error, as the plain mean does it.
    assert forecast(cli, flat.path, "--backtest") == {
        "count": 9,
        "wape": pytest.approx(0, abs=1e-9),
        "wape_ratio": None,
        "coverage": 1.0,
    }
    lines = cli("forecast", "--backtest", "--db", flat.path).out.splitlines()
    assert lines[0] == "monthly forecasts compared with what was spent: 9"
    assert lines[-1] == "within their interval: 100.0% (80% is meant)"


def test_a_backtest_without_history_says_what_it_takes(cli, book: HandMadeLedger) -> None:
    book.call("a", 1.5, "2026-06-30T10:00")
    assert "that takes 28 days of history" in cli("forecast", "--backtest", "--db", book.path).out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--scope", "cron_job"), "say which cron_job with --id"),
        (("--id", "j"), "global is all that is spent, it takes no --id"),
        (("--scope", "sender", "--id", "x"), "no call of the sender 'x' is recorded"),
        (("--window", "weekly"), "argument --window: invalid choice: 'weekly'"),
    ],
)
def test_what_is_not_understood_is_one_line(
    refused: Refused, flat: HandMadeLedger, arguments: tuple[str, ...], line: str
) -> None:
    assert refused("forecast", *arguments, "--db", flat.path).startswith(
        f"hermes-telemetry forecast: {line}"
    )
