"""Far below a limit a call does not ask what was spent, and still it is the very call that crosses
a threshold which is noted.
"""

import pytest

from support.budgets import (
    CRON,
    DAILY_DOLLAR,
    Jobs,
    another_process,
    begin,
    delegate,
    levels,
    limit,
    spend,
)
from support.recording import Recording

pytestmark = pytest.mark.usefixtures("known_prices")


def crossed(recording: Recording) -> list[str]:
    return [row[-1] for row in levels(recording)]


def test_the_call_that_reaches_a_threshold_is_the_one_after_which_it_is_noted(
    recording: Recording,
) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    for _ in range(7):
        spend(recording, "s", 0.1)
    assert crossed(recording) == [], "seven tenths of a dollar"
    spend(recording, "s", 0.1)
    assert crossed(recording) == ["soft"], "eight tenths"
    spend(recording, "s", 0.1)
    assert crossed(recording) == ["soft"], "nine tenths"
    spend(recording, "s", 0.1)
    assert crossed(recording) == ["soft", "hard"]


def test_sessions_that_share_a_limit_use_up_what_is_left_together(recording: Recording) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    for session in ("one", "two"):
        begin(recording, session)
    for session in ("one", "two", "one"):
        spend(recording, session, 0.25)
    assert crossed(recording) == [], "three quarters of a dollar"
    spend(recording, "two", 0.25)
    assert crossed(recording) == ["hard"]


def test_what_another_process_spent_is_noted_by_a_call_five_seconds_later(
    recording: Recording,
) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 0.1)
    other = another_process(recording)
    spend(other, "other", 0.65)  # 0.75 by then: it has crossed nothing itself
    other.close()
    recording.time.advance(5)
    spend(recording, "s", 0.05)
    assert crossed(recording) == ["soft"]


def test_a_session_that_becomes_a_jobs_subagent_is_under_the_jobs_limit_at_once(
    recording: Recording, jobs: Jobs
) -> None:
    limit(recording, {"global": {"daily_usd": 100}, "per_cron_job": {"default": DAILY_DOLLAR}})
    begin(recording, CRON, "cron")
    spend(recording, CRON, 0.7)
    begin(recording, "child")
    spend(recording, "child", 0.1)
    assert crossed(recording) == []
    delegate(recording, CRON, "child")
    spend(recording, "child", 0.1)
    assert crossed(recording) == ["soft"], "0.7 of its own, 0.2 of the subagent's"


def test_a_limit_that_is_lowered_meanwhile_is_the_one_that_counts(recording: Recording) -> None:
    limit(recording, {"global": {"daily_usd": 100}})
    begin(recording, "s")
    spend(recording, "s", 0.5)
    limit(recording, {"global": DAILY_DOLLAR})
    spend(recording, "s", 0.35)
    assert crossed(recording) == ["soft"]
