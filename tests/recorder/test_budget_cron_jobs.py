"""A cron job that has spent its limit is paused in the host, once in the window of the limit."""

from pathlib import Path

import pytest

from support.budgets import (
    CRON,
    DAILY_DOLLAR,
    JOB,
    Jobs,
    another_process,
    begin,
    blocked,
    call,
    delegate,
    levels,
    limit,
    name_job,
    spend,
    without_threads,
)
from support.recording import Recording
from support.threads import wait_for_threads

SPENT = "The cron job nightly-report has spent $1.00 of its daily limit of $1.00"

pytestmark = pytest.mark.usefixtures("known_prices")


def test_it_is_paused_once_in_a_window_even_if_somebody_resumes_it(
    recording: Recording, jobs: Jobs
) -> None:
    limit(recording, {"per_cron_job": {"default": DAILY_DOLLAR}})
    begin(recording, CRON, "cron")
    spend(recording, CRON, 1)
    assert jobs.paused == [
        (
            JOB,
            "Paused by the budget. The cron job nightly-report has spent $1.00 of its daily limit"
            " of $1.00; the limit resets at 2026-07-02 00:00 (Europe/Madrid).",
        )
    ]
    blocked(recording, CRON)
    spend(recording, CRON, 1)
    again = another_process(recording)
    for number, day in ((1, "2026-07-01"), (2, "2026-07-02")):
        session = f"cron_{JOB}_20260701_13000{number}"
        begin(again, session, "cron")
        spend(again, session, 1)
        assert len(jobs.paused) == number, day
        again.time.advance(24 * 3600)
    again.close()

    assert levels(recording) == [
        ("cron_job", JOB, "daily", "2026-07-01", "hard"),
        ("cron_job", JOB, "daily", "2026-07-01", "paused"),
        ("cron_job", JOB, "daily", "2026-07-02", "hard"),
        ("cron_job", JOB, "daily", "2026-07-02", "paused"),
    ]


def test_one_that_is_resumed_with_a_higher_limit_is_paused_again_at_that(
    recording: Recording, jobs: Jobs
) -> None:
    limit(recording, {"per_cron_job": {"default": DAILY_DOLLAR}})
    begin(recording, CRON, "cron")
    spend(recording, CRON, 1)
    assert len(jobs.paused) == 1

    limit(recording, {"per_cron_job": {"default": {"daily_usd": 5}}})
    resumed = f"cron_{JOB}_20260701_130000"
    begin(recording, resumed, "cron")
    spend(recording, resumed, 3.9)
    assert len(jobs.paused) == 1
    for _ in range(2):
        spend(recording, resumed, 0.1)
    another = another_process(recording)
    begin(another, f"cron_{JOB}_20260701_140000", "cron")
    spend(another, f"cron_{JOB}_20260701_140000", 0.1)
    another.close()
    _, (job, reason) = jobs.paused
    assert job == JOB
    assert "has spent $5.00 of its daily limit of $5.00" in reason
    assert [(row["level"], row["limit_usd"]) for row in recording.rows("budget_alerts")] == [
        ("hard", 5),
        ("paused", 5),
        ("soft", 5),
    ]


def test_limits_of_two_windows_that_break_at_once_pause_it_once(
    recording: Recording, jobs: Jobs
) -> None:
    limits = {"daily_usd": 1, "monthly_usd": 2}
    limit(recording, {"per_cron_job": {"default": limits}})
    begin(recording, CRON, "cron")
    spend(recording, CRON, 2)
    ((_, reason),) = jobs.paused
    assert "its daily limit of $1.00" in reason
    assert "its monthly limit of $2.00" in reason
    assert [(row[2], row[4]) for row in levels(recording)] == [
        ("daily", "hard"),
        ("monthly", "hard"),
        ("daily", "paused"),
        ("monthly", "paused"),
    ]


def test_a_pause_that_the_host_refuses_is_tried_again_by_the_next_run(
    recording: Recording, jobs: Jobs
) -> None:
    limit(recording, {"per_cron_job": {"default": DAILY_DOLLAR}})
    jobs.works = False
    begin(recording, CRON, "cron")
    spend(recording, CRON, 1)
    spend(recording, CRON, 1)
    assert [line for line in recording.said if "cannot be paused" in line] == [
        f"WARNING: the cron job {JOB} cannot be paused: OSError('No space left on device')"
    ]
    assert [row[-1] for row in levels(recording)] == ["hard"]

    jobs.works = True
    begin(recording, f"cron_{JOB}_20260701_130000", "cron")
    spend(recording, f"cron_{JOB}_20260701_130000", 1)
    assert [job for job, _ in jobs.paused] == [JOB]


def test_a_host_that_takes_long_to_pause_does_not_hold_up_the_run(
    recording: Recording, jobs: Jobs
) -> None:
    limit(recording, {"per_cron_job": {"default": DAILY_DOLLAR}})
    begin(recording, CRON, "cron")
    with jobs.lock:
        call(recording, CRON, 1)
        assert blocked(recording, CRON) is not None
        assert (jobs.paused, [row[-1] for row in levels(recording)]) == ([], ["hard"])
    wait_for_threads()
    assert [job for job, _ in jobs.paused] == [JOB]
    assert [row[-1] for row in levels(recording)] == ["hard", "paused"]


def test_a_pause_for_which_no_thread_is_to_be_had_is_tried_again_by_the_next_run(
    recording: Recording, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(recording, {"per_cron_job": {"default": DAILY_DOLLAR}})
    begin(recording, CRON, "cron")
    with monkeypatch.context() as crowded:
        without_threads(crowded)
        call(recording, CRON, 1)
        assert SPENT in (blocked(recording, CRON) or "")
    assert jobs.paused == []
    assert f"ERROR: the cron job {JOB} was not paused: can't start new thread" in recording.said
    begin(recording, f"cron_{JOB}_20260701_130000", "cron")
    spend(recording, f"cron_{JOB}_20260701_130000", 0.01)
    assert [job for job, _ in jobs.paused] == [JOB]


def test_what_a_subagent_spends_pauses_the_job(recording: Recording, jobs: Jobs) -> None:
    limit(recording, {"per_cron_job": {"default": DAILY_DOLLAR}, "global": {"daily_usd": 9}})
    begin(recording, CRON, "cron")
    delegate(recording, CRON, "child")
    spend(recording, "child", 1)
    assert [job for job, _ in jobs.paused] == [JOB]


def test_a_limit_that_is_not_the_jobs_own_does_not_pause_it(
    recording: Recording, jobs: Jobs
) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, CRON, "cron")
    spend(recording, CRON, 1)
    assert "This agent as a whole" in (blocked(recording, CRON) or "")
    assert jobs.paused == []


def test_a_job_that_gets_another_name_gets_the_limit_of_that_name(
    recording: Recording, jobs: Jobs, hermes_home: Path
) -> None:
    limits = {"default": {"daily_usd": 5}, "overrides": {"nightly-report": DAILY_DOLLAR}}
    limit(recording, {"per_cron_job": limits})
    begin(recording, CRON, "cron")
    spend(recording, CRON, 1)
    assert SPENT in (blocked(recording, CRON) or "")
    name_job(hermes_home, "weekly-report")
    assert blocked(recording, CRON) is None
    spend(recording, CRON, 4)
    assert "The cron job weekly-report has spent $5.00 of its daily limit of $5.00" in (
        blocked(recording, CRON) or ""
    )
