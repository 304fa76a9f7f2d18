"""Running a query by name, and the zone in which days are told."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hermes_telemetry import reports
from support.ledger import HandMadeLedger
from support.stopped_clock import StoppedClock

QUERIES = reports.load_queries()


@pytest.fixture
def connection(ledger: HandMadeLedger) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(ledger.path)) as connection:
        reports.prepare_connection(connection, "Europe/Madrid")
        yield connection


def test_a_query_gives_its_columns_and_rows(
    connection: sqlite3.Connection, ledger: HandMadeLedger
) -> None:
    ledger.call("a", 0.5, "2026-06-30T22:00")
    columns, rows = reports.run(connection, QUERIES["cost_by_day"], {"since": "all"})
    assert columns[:3] == ["day", "cost_usd", "calls"]
    assert [row[:3] for row in rows] == [("2026-07-01", 0.5, 1)]


def test_a_parameter_that_the_query_does_not_take_is_refused(
    connection: sqlite3.Connection,
) -> None:
    with pytest.raises(ValueError, match=r"turn_timeline takes no parameter 'since' .*: turn_id"):
        reports.run(connection, QUERIES["turn_timeline"], {"since": "all"})
    with pytest.raises(ValueError, match="it takes: none"):
        reports.run(connection, QUERIES["free_paid_history"], {"since": "all"})


@pytest.mark.parametrize("name", ["since", "until"])
def test_a_bound_that_is_no_time_is_refused_by_name(
    name: str, connection: sqlite3.Connection
) -> None:
    with pytest.raises(ValueError, match=f"{name}: 'tomorrow' is neither a date"):
        reports.run(connection, QUERIES["cost_by_day"], {name: "tomorrow"})


# Datasette, where a test has loaded it, makes SQLite report what a function raised.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_in_another_shell_a_bound_that_is_no_time_is_an_error_not_an_empty_answer(
    connection: sqlite3.Connection,
) -> None:
    given = {"since": "tomorrow", "until": "", "profile": ""}
    with pytest.raises(sqlite3.OperationalError):
        connection.execute(QUERIES["cost_by_day"].sql, given).fetchall()


def test_both_bounds_are_refused_at_once(connection: sqlite3.Connection) -> None:
    given = {"since": "30", "until": "1.7.2026", "profile": "work"}
    assert list(reports.unreadable(QUERIES["cost_by_day"], given)) == ["since", "until"]
    with pytest.raises(ValueError, match=r"since: '30' is .*; until: '1\.7\.2026' is "):
        reports.run(connection, QUERIES["cost_by_day"], given)


@pytest.mark.parametrize("text", ["0", "-3", "2.5", "many", "1e3", " 7", "٣", "1000000"])
def test_a_number_that_is_none_is_refused_by_name(
    text: str, connection: sqlite3.Connection
) -> None:
    with pytest.raises(ValueError, match=f"minutes: '{text}' is not a number from 1 to 999,999"):
        reports.run(connection, QUERIES["retry_storms"], {"minutes": text, "failures": "3"})


def test_every_query_has_its_default_window() -> None:
    assert {
        name: parameter.default
        for name, query in QUERIES.items()
        for parameter in query.parameters
        if parameter.kind == "since"
    } == {
        "billed_vs_tariff": "30 days",
        "cache_savings": "30 days",
        "cost_by_day": "30 days",
        "cost_by_day_and_model": "30 days",
        "cost_by_model": "30 days",
        "cost_by_platform": "30 days",
        "cost_by_profile": "30 days",
        "cost_by_provider": "30 days",
        "cost_by_sender": "30 days",
        "cost_by_session": "30 days",
        "cost_per_turn": "7 days, or no bound with a session_id",
        "cron_attribution": "30 days",
        "cron_runs": "no bound",
        "efficiency": "30 days",
        "estimated_share": "30 days",
        "failed_attempts": "30 days",
        "failed_attempts_by_status": "30 days",
        "latency_percentiles": "7 days",
        "moa_calls": "30 days",
        "newest_runs": "30 days",
        "reconcile": "30 days",
        "retry_storms": "30 days",
        "smells": "30 days",
        "spend_anomalies": "30 days",
        "subagent_join_health": "30 days",
        "subagent_turns": "30 days",
        "tool_reliability": "30 days",
    }


def test_a_file_without_a_front_matter_is_no_query() -> None:
    with pytest.raises(ValueError, match="spend: no front matter"):
        reports.parse_query("spend", "select 1")


@pytest.mark.parametrize(
    "more", ["colour: red", "parameters: {n: {kind: count, default: 7, or: none}}"]
)
def test_a_front_matter_with_a_word_that_means_nothing_is_refused(more: str) -> None:
    text = f"/*\ntitle: t\ndescription: d\nparameters: {{}}\nunits: {{}}\n{more}\n*/\nselect 1"
    with pytest.raises(TypeError, match="unexpected keyword"):
        reports.parse_query("spend", text)


@pytest.mark.parametrize(
    "front_matter", ["title: t\ndescription: d", "units: {n: count}", "a text"]
)
def test_a_front_matter_that_lacks_what_is_told_is_refused(front_matter: str) -> None:
    with pytest.raises(TypeError):
        reports.parse_query("spend", f"/*\n{front_matter}\n*/\nselect 1 as n")


def test_a_front_matter_may_say_nothing_of_parameters_amounts_and_chart() -> None:
    text = "/*\ntitle: t\ndescription: d\nunits: {n: count}\n*/\nselect 1 as n"
    query = reports.parse_query("spend", text)
    assert (query.parameters, query.unpriced, query.chart) == ((), {}, None)


def test_the_functions_of_the_queries_are_there_for_ones_own(
    connection: sqlite3.Connection,
) -> None:
    assert connection.execute(
        "select telemetry_zone(), day_start_utc('2026-07-01', telemetry_zone()),"
        " day_start_utc(null, 'UTC'), cron_job_name('0123456789ab'), cron_job_name(null)"
    ).fetchone() == ("Europe/Madrid", "2026-06-30T22:00:00", None, "0123456789ab", None)


def test_a_run_is_lost_after_six_hours(connection: sqlite3.Connection) -> None:
    reports.prepare_connection(connection, "Europe/Madrid", StoppedClock().clock)
    # Noon in UTC, whatever the zone.
    assert connection.execute("select lost_before_utc()").fetchone() == ("2026-07-01T06:00:00",)


# --- the zone


def budget(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "budget.yaml").write_text(text)
    return folder / "telemetry.db"


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine in Kathmandu."""
    monkeypatch.setenv("TZ", "Asia/Kathmandu")


def test_the_zone_is_the_one_that_is_set(tmp_path: Path) -> None:
    database = budget(tmp_path, "timezone: Europe/Madrid\n")
    assert reports.configured_zone("America/New_York", database) == "America/New_York"


def test_a_setting_that_is_no_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown time zone 'Mars/Olympus'"):
        reports.configured_zone("Mars/Olympus")


def test_without_a_setting_it_is_that_of_the_budget_beside_the_ledger(
    tmp_path: Path, hermes_home: Path
) -> None:
    database = budget(tmp_path / "elsewhere", "timezone: Europe/Madrid\n")
    budget(hermes_home / "telemetry", "timezone: Asia/Tokyo\n")
    assert reports.configured_zone(None, database) == "Europe/Madrid"
    assert reports.configured_zone("", tmp_path / "bare" / "telemetry.db") == "Asia/Tokyo"
    assert reports.configured_zone() == "Asia/Tokyo"


@pytest.mark.parametrize("text", [None, "", "budgets: {}\n", "- a list\n", "timezone:\n"])
def test_without_one_there_it_is_the_machines(
    text: str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if text is not None:
        budget(tmp_path, text)
    assert reports.configured_zone(None, tmp_path / "telemetry.db") == "Asia/Kathmandu"
    assert caplog.text == ""


@pytest.mark.parametrize(
    "text", ["timezone: [\n", "timezone: Mars/Olympus\n", "timezone: 7\n", "a: !!python/none\n"]
)
def test_a_budget_that_cannot_be_used_is_named_in_one_line(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = budget(tmp_path, text)
    with caplog.at_level(logging.WARNING):
        assert reports.configured_zone(None, database) == "Asia/Kathmandu"
    (record,) = caplog.records
    assert str(tmp_path / "budget.yaml") in record.message
    assert "\n" not in record.message
