"""A run that says `running` but has long been silent is called lost, wherever its status stands.

It is noon of 1 July 2026, so six hours ago was 06:00.
"""

import pytest

from support.ledger import HandMadeLedger

QUERIES = ["newest_runs", "cost_by_session", "cron_runs"]


@pytest.fixture
def silent(ledger: HandMadeLedger) -> HandMadeLedger:
    """A run of 02:00 with a call of 05:59:59 that still says that it runs."""
    ledger.run("s", "2026-07-01T02:00", status="running", cron_job_id="j")
    ledger.call("s", 1.0, "2026-07-01T05:59:59")
    return ledger


def status(ledger: HandMadeLedger, query: str) -> list[tuple[str | None]]:
    job = {"cron_job_id": "j"} if query == "cron_runs" else {}
    return ledger.ask(query, "status", **job)


@pytest.mark.parametrize("query", QUERIES)
def test_after_six_hours_without_a_call_it_is_lost(query: str, silent: HandMadeLedger) -> None:
    assert status(silent, query) == [("lost",)]


@pytest.mark.parametrize("query", QUERIES)
def test_a_call_of_the_last_six_hours_keeps_it_running(query: str, silent: HandMadeLedger) -> None:
    silent.call("s", None, "2026-07-01T06:00:00")
    assert status(silent, query) == [("running",)]


@pytest.mark.parametrize("query", QUERIES)
def test_the_call_of_another_does_not(query: str, silent: HandMadeLedger) -> None:
    silent.run("child", "2026-07-01T02:30", status="ok", cron_job_id="k")
    silent.edge("child", "s")
    silent.call("child", 0.5, "2026-07-01T11:59")
    assert ("lost",) in status(silent, query)
    assert ("running",) not in status(silent, query)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("ended", ["ok", "error", "interrupted"])
def test_a_run_that_ended_is_what_it_was(query: str, ended: str, silent: HandMadeLedger) -> None:
    silent.change("update runs set status = ?", ended)
    assert status(silent, query) == [(ended,)]


@pytest.mark.parametrize(
    ("started", "stands"), [("2026-07-01T05:59:59", "lost"), ("2026-07-01T06:00", "running")]
)
def test_before_its_first_call_a_run_is_as_old_as_its_start(
    started: str, stands: str, ledger: HandMadeLedger
) -> None:
    ledger.run("s", started, status="running")
    assert status(ledger, "newest_runs") == [(stands,)]


def test_a_call_after_the_window_keeps_it_running_too(silent: HandMadeLedger) -> None:
    silent.call("s", 2.0, "2026-07-01T11:00")
    given = {"until": "2026-07-01T08:00:00Z"}
    assert silent.ask("cost_by_session", "cost_usd status", **given) == [(1.0, "running")]


def test_what_looks_wrong_in_it_is_shown_with_that_status(silent: HandMadeLedger) -> None:
    # 51 calls are more than 50.
    silent.change("update runs set api_calls = 51")
    assert silent.ask("smells", "session_id smell status") == [("s", "massive_session", "lost")]


def test_no_score_is_given_to_it(silent: HandMadeLedger) -> None:
    assert silent.ask("efficiency") == []
