"""`hermes-telemetry stats`: which rows a report and a window show, and how they read."""

import csv
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry import windows
from hermes_telemetry.commands import periods
from support.ledger import HandMadeLedger

Refused = Callable[..., str]


pytestmark = pytest.mark.usefixtures("on_wednesday")


@pytest.fixture
def days(book: HandMadeLedger) -> HandMadeLedger:
    """A call a day around the ends of week and month: each costs another power of two in USD."""
    for usd, at in (
        (1.0, "2026-06-28T12:00"),  # Sunday
        (2.0, "2026-06-29T12:00"),  # Monday
        (4.0, "2026-06-30T12:00"),
        (8.0, "2026-07-01T01:00"),  # Wednesday: today, and the first of the month
        (16.0, "2026-07-01T11:00"),
    ):
        book.call("a", usd, at)
    return book


def stats(cli: Any, path: Path, *arguments: str) -> dict[str, Any]:
    answer = cli("stats", *arguments, "--db", path, "--json")
    assert (answer.code, answer.err) == (0, "")
    content: dict[str, Any] = json.loads(answer.out)
    return content


def spent(cli: Any, path: Path, *arguments: str) -> float:
    rows = stats(cli, path, "models", *arguments)["figures"]["cost_by_model"]
    return float(sum(row["cost_usd"] for row in rows))


def test_today_a_week_from_monday_and_a_month_are_local(
    cli, days: HandMadeLedger, hermes_home: Path
) -> None:
    assert spent(cli, days.path, "today") == 24
    assert spent(cli, days.path, "week") == 30
    assert spent(cli, days.path, "month") == 24
    # In New York it is 08:00, and 01:00 UTC was still Tuesday, the last of June.
    days.path.with_name("budget.yaml").write_text("timezone: America/New_York\n", encoding="utf-8")
    assert spent(cli, days.path, "today") == 16
    assert spent(cli, days.path, "week") == 30
    assert spent(cli, days.path, "month") == 16


def test_a_window_is_told_with_its_days(cli, days: HandMadeLedger) -> None:
    content = stats(cli, days.path, "week", "providers")
    assert list(content) == [
        "report",
        "since",
        "until",
        "window_start",
        "window_end",
        "profile",
        "timezone",
        "figures",
    ]
    assert (content["since"], content["until"]) == ("2026-06-29", "2026-07-01")
    assert cli("stats", "week", "--db", days.path).out.startswith(
        "summary: 2026-06-29 to 2026-07-01 (UTC)\n"
    )
    assert cli("stats", "today", "--db", days.path).out.startswith("summary: 2026-07-01 (UTC)\n")
    for words, window in (
        ((), "30 days up to today"),
        (("--from", "2026-06-30"), "2026-06-30 to now"),
        (("--to", "2026-06-30"), "30 days up to 2026-06-30"),
        (("--from", "all"), "all"),
        (("--from", "all", "--to", "2026-06-30"), "all up to 2026-06-30"),
    ):
        text = cli("stats", *words, "--db", days.path).out
        assert text.startswith(f"summary: {window} (UTC)\n")


def test_the_window_is_told_as_instants(cli, days: HandMadeLedger) -> None:
    days.path.with_name("budget.yaml").write_text("timezone: Europe/Madrid\n", encoding="utf-8")
    for words, start, end in (
        (("week",), "2026-06-28T22:00:00.000000+00:00", "2026-07-01T22:00:00.000000+00:00"),
        # The 30 days up to today, which nobody had to name: 2 June to 1 July.
        ((), "2026-06-01T22:00:00.000000+00:00", None),
        (("all",), None, None),
    ):
        content = stats(cli, days.path, *words)
        assert (content["window_start"], content["window_end"]) == (start, end)


def test_a_period_may_stand_behind_an_option(cli, days: HandMadeLedger) -> None:
    answer = cli("stats", "models", "--json", "--db", days.path, "today")
    assert json.loads(answer.out)["since"] == "2026-07-01"
    answer = cli("stats", "--db", days.path, "models", "--json", "today")
    assert json.loads(answer.out)["since"] == "2026-07-01"


def test_from_and_to_are_dates_instants_or_all(cli, days: HandMadeLedger) -> None:
    assert spent(cli, days.path, "--from", "2026-06-29", "--to", "2026-06-30") == 6
    assert spent(cli, days.path, "--from", "2026-07-01T02:00:00Z") == 16
    assert spent(cli, days.path, "--from", "all", "--to", "2026-06-28") == 1


def test_a_profile_restricts_every_table(cli, book: HandMadeLedger) -> None:
    for session, profile, usd in (("w", "work", 1.0), ("h", "home", 2.0)):
        book.run(session, profile=profile)
        book.call(session, usd)
        book.tool(session, f"{profile}-tool")
    figures = stats(cli, book.path, "--from", "all", "--profile", "work")["figures"]
    assert [row["cost_usd"] for row in figures["cost_by_day"]] == [1.0]
    assert [row["tool_name"] for row in figures["tool_reliability"]] == ["work-tool"]
    # What `hermes` leaves to a command.
    assert stats(cli, book.path, "--from", "all", "--of-profile", "work")["figures"] == figures


def test_the_summary_has_costs_tools_and_failures(cli, book: HandMadeLedger) -> None:
    book.call("a", 0.5, "2026-07-01T10:00")
    book.tool("a", "terminal", "2026-07-01T10:00")
    book.failure("a", "2026-07-01T10:00")
    figures = stats(cli, book.path, "today")["figures"]
    assert list(figures) == ["cost_by_day", "tool_reliability", "failed_attempts"]
    assert figures["cost_by_day"][0]["cost_usd"] == 0.5
    assert figures["tool_reliability"][0]["calls"] == 1
    assert figures["failed_attempts"][0]["attempts"] == 1
    text = cli("stats", "today", "--db", book.path).out
    assert [title in text for title in ("Cost per day\n", "tools are\n", "Failed attempts\n")] == (
        [True] * 3
    )


def test_raw_shows_the_newest_runs_first(cli, book: HandMadeLedger) -> None:
    for hour, usd in ((8, 4.0), (10, 1.0), (9, 2.0)):
        book.run(f"run-{hour}", f"2026-07-01T{hour:02}:00")
        book.call(f"run-{hour}", usd, f"2026-07-01T{hour:02}:01")
    # All of its attempts failed: it is a run, too.
    book.run("run-11", "2026-07-01T11:00", status="error")
    rows = stats(cli, book.path, "raw", "2", "today")["figures"]["newest_runs"]
    assert [(row["session_id"], row["cost_usd"]) for row in rows] == [
        ("run-11", None),
        ("run-10", 1),
    ]
    rows = stats(cli, book.path, "today", "raw")["figures"]["newest_runs"]
    assert [row["session_id"] for row in rows] == ["run-11", "run-10", "run-9", "run-8"]


def test_csv_is_the_first_table(cli, days: HandMadeLedger) -> None:
    answer = cli("stats", "today", "--db", days.path, "--csv")
    assert [(row["day"], row["cost_usd"]) for row in csv.DictReader(StringIO(answer.out))] == [
        ("2026-07-01", "24.0")
    ]


def test_a_total_with_unpriced_calls_is_a_lower_bound(cli, book: HandMadeLedger) -> None:
    book.call("a", 0.5, "2026-07-01T10:00")
    book.call("a", 0.25, "2026-07-01T10:01", provider="q")
    assert "\nTotal: $0.75\n" in cli("stats", "providers", "today", "--db", book.path).out
    book.call("a", None, "2026-07-01T10:02")
    book.call("a", None, "2026-07-01T10:03")
    answer = cli("stats", "providers", "today", "--db", book.path)
    assert "\nTotal: ≥ $0.75 (2 unpriced)\n" in answer.out


def test_a_report_without_money_has_no_total(cli, book: HandMadeLedger) -> None:
    book.run("a", "2026-07-01T10:00", status="ok", tokens_in=100, tokens_out=100, api_calls=1)
    text = cli("stats", "efficiency", "today", "--db", book.path).out
    assert "Efficiency" in text
    assert "Total" not in text


def test_every_zero_says_why(cli, book: HandMadeLedger) -> None:
    for model, basis in (("gift", "free"), ("flat", "declared")):
        price = book.price(basis)
        for _ in range(2):
            book.call("a", 0.0, model=model, price=price, tokens_in=10)
    book.call("a", None, model="riddle")
    book.call("a", 0.0, model="mute", tokens_in=10)
    book.call("a", 1.0, model="dear")
    answer = cli("stats", "models", "today", "--db", book.path)
    *_, gap, heading, flat, gift, mute, riddle = answer.out.splitlines()
    assert (gap, heading) == ("", "Models that cost nothing, or nothing that is known:")
    assert flat == "- flat (p): 2 calls declared free"
    assert gift == "- gift (p): 2 calls free"
    assert mute == "- mute (p): 1 call at 0 for no recorded reason"
    assert riddle == "- riddle (p): 1 call without a price"


@pytest.mark.parametrize("report", [("cron",), ("raw", "1")])
def test_a_report_of_some_calls_is_not_followed_by_models_of_others(
    cli, book: HandMadeLedger, report: tuple[str, ...]
) -> None:
    book.run("a", "2026-07-01T10:00")
    book.call("a", None, model="riddle")
    book.run("b", "2026-07-01T11:00")
    assert "riddle" not in cli("stats", *report, "today", "--db", book.path).out


# It is Wednesday, 2026-07-01.
@pytest.mark.parametrize(
    ("period", "bounds", "title"),
    [
        ("yesterday", ("2026-06-30", "2026-06-30"), "2026-06-30"),
        ("week", ("2026-06-29", "2026-07-01"), "2026-06-29 to 2026-07-01"),
        ("last-week", ("2026-06-22", "2026-06-28"), "2026-06-22 to 2026-06-28"),
        ("last-month", ("2026-06-01", "2026-06-30"), "2026-06-01 to 2026-06-30"),
        ("7d", ("7d", None), "last 7d"),
        ("2026-06-30", ("2026-06-30", "2026-06-30"), "2026-06-30"),
        ("all", ("all", None), "all"),
    ],
)
def test_a_period_goes_by_its_name(
    cli, book: HandMadeLedger, period: str, bounds: tuple[str, str | None], title: str
) -> None:
    answer = cli("stats", "models", period, "--json", "--db", book.path)
    said = json.loads(answer.out)
    assert (said["since"], said["until"]) == bounds
    assert cli("stats", period, "--db", book.path).out.startswith(f"summary: {title} (UTC)\n")


def test_the_names_of_periods_are_those_of_the_windows() -> None:
    assert periods.PERIODS == windows.PERIODS


def test_an_estimated_call_without_a_price_is_no_zero(cli, book: HandMadeLedger) -> None:
    book.call("a", None, model="riddle", estimated=1)
    assert cli("stats", "models", "today", "--db", book.path).out.splitlines()[-1] == (
        "- riddle (p): 1 call without a price"
    )


def test_a_window_without_calls_says_so(cli, days: HandMadeLedger) -> None:
    answer = cli("stats", "models", "--to", "2025-01-01", "--db", days.path)
    assert answer.out.splitlines()[-1] == "Cost per model: nothing in this window"


def test_a_ledger_of_another_build_has_totals_and_no_reasons(cli, book: HandMadeLedger) -> None:
    book.call("a", 0.0, "2026-07-01T10:00", tokens_in=10)
    with closing(sqlite3.connect(book.path)) as connection:
        for table in ("llm_call_prices", "prices_used"):
            connection.execute(f"drop table {table}")
    answer = cli("stats", "providers", "today", "--db", book.path)
    assert answer.code == 0
    assert answer.out.splitlines()[-1] == "Total: $0.00"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("frob",), "'frob' is not understood here: name a report (summary, cron, "),
        (("2026-06-31",), "'2026-06-31' is not understood here: name a report (summary, cron, "),
        (("models", "--csv", "modles"), "'modles' is not understood here: did you mean models?"),
        (("modles",), "'modles' is not understood here: did you mean models?"),
        (("models", "cron"), "'cron' is not understood here"),
        (("7", "raw"), "'7' is not understood here"),
        (("raw", "0"), "runs: '0' is not a number from 1 to 999,999"),
        (("week", "--from", "2026-07-01"), "name week or --since and --until, not both"),
        (("--from", "tomorrow"), "since: 'tomorrow' is neither a date (2026-07-01), an ISO "),
        (("--from", "2026-07-02", "--to", "2026-07-01"), "until: '2026-07-01' lies before since: "),
    ],
)
def test_what_is_not_understood_is_one_line(
    refused: Refused, days: HandMadeLedger, arguments: tuple[str, ...], line: str
) -> None:
    assert refused("stats", *arguments, "--db", days.path).startswith(
        f"hermes-telemetry stats: {line}"
    )
