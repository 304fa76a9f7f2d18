"""cron_attribution and cron_runs."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes_telemetry.store.edges import start_edge
from support.ledger import NOON, HandMadeLedger, stored

RUN_1 = "cron_nightly_20260629_030000"
RUN_2 = "cron_nightly_20260630_030000"
MONEY = "cron_job_id total_usd own_usd delegated_usd"


def job_run(
    ledger: HandMadeLedger, session: str, started: str, job: str, **columns: object
) -> None:
    ledger.run(session, started, cron_job_id=job, platform="cron", **columns)


@pytest.fixture
def nightly(ledger: HandMadeLedger) -> HandMadeLedger:
    """Two runs of nightly, the first with a child, a grandchild and a late child; one of weekly."""
    job_run(ledger, RUN_1, "2026-06-29T03:00", "nightly", status="ok")
    job_run(ledger, RUN_2, "2026-06-30T03:00", "nightly", status="error")
    job_run(
        ledger, "cron_weekly_20260628_030000", "2026-06-28T03:00", "weekly", status="interrupted"
    )
    ledger.run("child", "2026-06-29T03:01", platform="subagent")
    ledger.run("chat", "2026-06-29T09:00")
    ledger.edge("child", RUN_1, "t1")
    # No run row, no turn id: the edge alone makes it a part of the tree.
    ledger.edge("grandchild", "child", "")
    ledger.edge("late", RUN_1, "t1")
    ledger.call(RUN_1, 1.0, "2026-06-29T03:00:30", "t1")
    ledger.call(RUN_1, None, "2026-06-29T03:00:40", "t1")
    ledger.call("child", 2.0, "2026-06-29T03:02")
    ledger.call("grandchild", 4.0, "2026-06-29T03:03")
    ledger.call("grandchild", None, "2026-06-29T03:03")
    # A background child that outlives the run's turn by a day.
    ledger.call("late", 8.0, "2026-06-30T05:00")
    ledger.call(RUN_2, 16.0, "2026-06-30T03:01")
    ledger.call("cron_weekly_20260628_030000", 32.0, "2026-06-28T03:01")
    ledger.call("chat", 64.0, "2026-06-29T09:01")
    return ledger


def test_a_job_pays_for_its_runs_and_for_the_trees_below_them(nightly: HandMadeLedger) -> None:
    weekly_at, nightly_at = stored("2026-06-28T03:00"), stored("2026-06-30T03:00")
    assert nightly.ask("cron_attribution") == [
        ("weekly", 32.0, 32.0, None, 1, 0, 32.0, 0, weekly_at, 0, "weekly", 0, 0),
        ("nightly", 31.0, 17.0, 14.0, 2, 3, 15.5, 1, nightly_at, 2, "nightly", 1, 1),
    ]


def test_each_run_pays_for_its_own_tree_newest_first(nightly: HandMadeLedger) -> None:
    assert nightly.ask("cron_runs", cron_job_id="nightly") == [
        (RUN_2, 16.0, 16.0, None, stored("2026-06-30T03:00"), "error", 1, 0, 0, 0),
        (RUN_1, 15.0, 1.0, 14.0, stored("2026-06-29T03:00"), "ok", 6, 2, 1, 1),
    ]


def test_calls_count_by_their_own_time_and_runs_by_their_start(nightly: HandMadeLedger) -> None:
    """On 30 June: the second run and its call, and the late child of the first run."""
    assert nightly.ask("cron_attribution", since="2026-06-30", until="2026-06-30") == [
        ("nightly", 24.0, 16.0, 8.0, 1, 1, 24.0, 1, stored("2026-06-30T03:00"), 0, "nightly", 0, 0)
    ]
    # The late child alone: no run starts in these hours.
    assert nightly.ask(
        "cron_attribution", since="2026-06-30T04:00:00Z", until="2026-06-30T06:00:00Z"
    ) == [("nightly", 8.0, None, 8.0, 0, 1, None, 0, None, 0, "nightly", 0, 0)]


def test_a_run_that_starts_in_the_window_is_shown_with_all_of_its_cost(
    nightly: HandMadeLedger,
) -> None:
    assert nightly.ask(
        "cron_runs",
        "session_id total_usd",
        cron_job_id="nightly",
        since="2026-06-29",
        until="2026-06-29",
    ) == [(RUN_1, 15.0)]


def test_a_job_of_any_age_is_shown_run_by_run(ledger: HandMadeLedger) -> None:
    job_run(ledger, "cron_j_20200101_030000", "2020-01-01T03:00", "j")
    assert ledger.ask("cron_runs", "session_id", cron_job_id="j") == [("cron_j_20200101_030000",)]
    assert ledger.ask("cron_attribution") == []
    assert ledger.ask("cron_attribution", "cron_job_id", since="all") == [("j",)]


def test_no_job_gives_no_runs(nightly: HandMadeLedger) -> None:
    nightly.run("odd", cron_job_id="")
    nightly.call("odd", 1.0)
    assert nightly.ask("cron_runs") == []
    assert nightly.ask("cron_runs", cron_job_id="absent") == []
    assert "" not in [row[0] for row in nightly.ask("cron_attribution")]


def test_a_run_without_a_call_is_a_run_without_cost(ledger: HandMadeLedger) -> None:
    job_run(ledger, "cron_j_20260630_030000", "2026-06-30T03:00", "j", status="error")
    assert ledger.ask("cron_attribution") == [
        ("j", None, None, None, 1, 0, None, 1, stored("2026-06-30T03:00"), 0, "j", 0, 0)
    ]
    assert ledger.ask("cron_runs", cron_job_id="j") == [
        ("cron_j_20260630_030000", None, None, None, stored("2026-06-30T03:00"), "error", *[0] * 4)
    ]


def test_a_job_without_a_price_has_no_cost(ledger: HandMadeLedger) -> None:
    job_run(ledger, "r", "2026-06-30T03:00", "j")
    ledger.call("r", None)
    assert ledger.ask("cron_attribution", f"{MONEY} mean_usd_per_run unpriced_calls") == [
        ("j", None, None, None, None, 1)
    ]


def test_a_subagent_with_a_job_of_its_own_counts_there(ledger: HandMadeLedger) -> None:
    job_run(ledger, "outer-run", "2026-06-30T03:00", "outer")
    job_run(ledger, "inner-run", "2026-06-30T03:01", "inner")
    ledger.edge("inner-run", "outer-run", "t")
    ledger.edge("leaf", "inner-run", "u")
    ledger.call("outer-run", 1.0)
    ledger.call("inner-run", 2.0)
    # Its root is the outer run.
    ledger.call("leaf", 4.0)
    assert sorted(ledger.ask("cron_attribution", MONEY)) == [
        ("inner", 2.0, 2.0, None),
        ("outer", 5.0, 1.0, 4.0),
    ]
    assert ledger.ask("cron_runs", "total_usd delegated_usd", cron_job_id="outer") == [(5.0, 4.0)]
    assert ledger.ask("cron_runs", "total_usd delegated_usd", cron_job_id="inner") == [(2.0, None)]


def test_a_run_that_started_a_run_of_its_own_job_pays_for_what_both_delegated(
    ledger: HandMadeLedger,
) -> None:
    job_run(ledger, "first", "2026-06-30T03:00", "j")
    job_run(ledger, "second", "2026-06-30T03:01", "j")
    ledger.edge("second", "first", "t")
    ledger.edge("leaf", "second", "u")
    for session, usd in (("first", 1.0), ("second", 2.0), ("leaf", 4.0)):
        ledger.call(session, usd)
    ledger.call("second", None)
    assert ledger.ask("cron_attribution", f"{MONEY} unpriced_calls") == [("j", 7.0, 3.0, 4.0, 1)]
    assert ledger.ask(
        "cron_runs", "session_id total_usd own_usd delegated_usd unpriced_calls", cron_job_id="j"
    ) == [("second", 2.0, 2.0, None, 1), ("first", 5.0, 1.0, 4.0, 0)]


def test_of_more_than_a_thousand_runs_the_newest_are_shown(ledger: HandMadeLedger) -> None:
    for number in range(1001):
        job_run(ledger, f"r{number:04}", f"2026-06-30T{number // 60:02}:{number % 60:02}", "j")
    rows = ledger.ask("cron_runs", "session_id", cron_job_id="j")
    assert len(rows) == 1000
    assert (rows[0], rows[-1]) == (("r1000",), ("r0001",))


def test_a_tree_that_no_job_started_counts_in_none(ledger: HandMadeLedger) -> None:
    ledger.run("chat", "2026-06-30T03:00")
    ledger.edge("child", "chat", "t")
    ledger.edge("stray", "gone", "t")
    for session in ("chat", "child", "stray"):
        ledger.call(session, 1.0)
    assert ledger.ask("cron_attribution") == []


def test_a_cycle_ends_and_counts_each_session_once(ledger: HandMadeLedger) -> None:
    job_run(ledger, "run", "2026-06-30T03:00", "j")
    ledger.edge("child", "run", "t")
    ledger.edge("run", "child", "u")
    ledger.call("run", 1.0)
    ledger.call("child", 2.0)
    ledger.edge("lost", "strayed", "t")
    ledger.edge("strayed", "lost", "t")
    ledger.edge("below", "lost", "t")
    for session in ("lost", "strayed", "below"):
        ledger.call(session, 4.0)
    # A cycle has no root, so the child hangs on no job although it lies below the run.
    assert ledger.ask("cron_attribution", MONEY) == [("j", 1.0, 1.0, None)]
    assert ledger.ask("cron_runs", "total_usd own_usd delegated_usd", cron_job_id="j") == [
        (1.0, 1.0, None)
    ]


def test_a_second_start_for_one_child_leaves_it_with_its_first_parent(
    ledger: HandMadeLedger,
) -> None:
    job_run(ledger, "run", "2026-06-30T03:00", "first")
    job_run(ledger, "other", "2026-06-30T03:00", "second")
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        for parent in ("run", "other"):
            start_edge(
                connection, child_session_id="child", parent_session_id=parent, ts=stored(NOON)
            )
    ledger.call("child", 1.0)
    assert ledger.ask("cron_attribution", MONEY) == [
        ("first", 1.0, None, 1.0),
        ("second", None, None, None),
    ]


def test_a_profile_restricts_runs_and_calls(ledger: HandMadeLedger) -> None:
    job_run(ledger, "mine", "2026-06-30T03:00", "j", profile="work")
    job_run(ledger, "theirs", "2026-06-30T04:00", "j", profile="home")
    ledger.edge("child", "mine", "t")
    ledger.call("mine", 1.0)
    ledger.call("child", 2.0)
    ledger.call("theirs", 4.0)
    assert ledger.ask("cron_attribution", f"{MONEY} runs", profile="work") == [
        ("j", 3.0, 1.0, 2.0, 1)
    ]
    assert ledger.ask("cron_runs", "session_id", cron_job_id="j", profile="work") == [("mine",)]


def test_a_child_of_another_profile_costs_its_own_profile(ledger: HandMadeLedger) -> None:
    job_run(ledger, "run", "2026-06-30T03:00", "j", profile="work")
    ledger.run("child", profile="home")
    ledger.edge("child", "run", "t")
    ledger.call("run", 1.0)
    ledger.call("child", 2.0)
    for profile, own, delegated in (("work", 1.0, None), ("home", None, 2.0)):
        total = own or delegated
        assert ledger.ask("cron_attribution", MONEY, profile=profile) == [
            ("j", total, own, delegated)
        ]
        assert ledger.ask(
            "cron_runs",
            "session_id total_usd own_usd delegated_usd",
            cron_job_id="j",
            profile=profile,
        ) == [("run", total, own, delegated)]


def test_a_job_is_named_as_the_host_names_it(ledger: HandMadeLedger, hermes_home: Path) -> None:
    job_run(ledger, "a", "2026-06-30T03:00", "0123456789ab")
    job_run(ledger, "b", "2026-06-30T03:00", "unlisted")
    jobs = hermes_home / "cron" / "jobs.json"
    jobs.parent.mkdir()
    jobs.write_text(json.dumps({"jobs": [{"id": "0123456789ab", "name": "Nightly report"}]}))
    assert ledger.ask("cron_attribution", "cron_job_id job_name") == [
        ("0123456789ab", "Nightly report"),
        ("unlisted", "unlisted"),
    ]


def test_the_runs_of_a_job_are_found_by_its_name(ledger: HandMadeLedger, hermes_home: Path) -> None:
    named = {"0123456789ab": "Nightly report", "ba9876543210": "Digest", "twin": "Digest"}
    named |= {"weekly": "daily", "daily": "weekly"}
    for job in named:
        job_run(ledger, f"run of {job}", "2026-06-30T03:00", job)
    jobs = hermes_home / "cron" / "jobs.json"
    jobs.parent.mkdir()
    jobs.write_text(json.dumps([{"id": job, "name": name} for job, name in named.items()]))

    def runs(word: str) -> list[tuple[str]]:
        return sorted(ledger.ask("cron_runs", "session_id", cron_job_id=word))

    assert runs("Nightly report") == [("run of 0123456789ab",)]
    assert runs("Digest") == [("run of ba9876543210",), ("run of twin",)]
    # An id goes before another's name.
    assert runs("weekly") == [("run of weekly",)]
    assert runs("Unheard of") == []


@pytest.mark.parametrize(
    "content", ["", "[", "7", '{"jobs": 7}', '{"jobs": [7, {"id": "j"}]}', '[{"name": "x"}]']
)
def test_a_file_of_jobs_that_cannot_be_read_leaves_the_ids(
    content: str, ledger: HandMadeLedger, hermes_home: Path
) -> None:
    job_run(ledger, "a", "2026-06-30T03:00", "j")
    jobs = hermes_home / "cron" / "jobs.json"
    jobs.parent.mkdir()
    jobs.write_text(content)
    assert ledger.ask("cron_attribution", "job_name") == [("j",)]


def test_an_empty_ledger_has_no_jobs(ledger: HandMadeLedger) -> None:
    assert ledger.ask("cron_attribution", since="all") == []
    assert ledger.ask("cron_runs", cron_job_id="j") == []
