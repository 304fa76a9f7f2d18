"""What the model is told of its limits, once in their windows, and what of it the ledger shows."""

import time

import pytest

from hermes_telemetry.store.totals import Totals
from support.budgets import (
    CRON,
    DAILY_DOLLAR,
    JOB,
    Jobs,
    another_process,
    begin,
    blocked,
    delegate,
    levels,
    limit,
    spend,
    told,
)
from support.locks import write_transaction_elsewhere
from support.recording import Recording

pytestmark = pytest.mark.usefixtures("known_prices")


def test_notify_tells_of_a_breach_and_blocks_nothing(recording: Recording, jobs: Jobs) -> None:
    limit(recording, {"per_cron_job": {"default": DAILY_DOLLAR}}, on_breach="notify")
    begin(recording, CRON, "cron")
    spend(recording, CRON, 1)
    assert (blocked(recording, CRON), jobs.paused) == (None, [])
    assert told(recording, CRON) == (
        "Budget: the cron job nightly-report has spent $1.00 of its daily limit of $1.00; the limit"
        " resets at 2026-07-02 00:00 (Europe/Madrid). Nothing is blocked. Tell the operator."
    )
    assert told(recording, CRON) is None
    assert levels(recording) == [("cron_job", JOB, "daily", "2026-07-01", "hard")]


def test_a_soft_notice_is_told_once_by_whichever_process_comes_first(recording: Recording) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 0.79)
    assert told(recording, "s") is None
    spend(recording, "s", 0.01)
    other = another_process(recording)
    assert begin(other, "other") == (
        "Budget: this agent as a whole has spent $0.80 of its daily limit of $1.00; the limit"
        " resets at 2026-07-02 00:00 (Europe/Madrid). Be sparing, and tell the operator."
    )
    assert [told(other, "other"), told(recording, "s"), begin(other, "third")] == [None] * 3
    other.close()
    assert levels(recording) == [("global", "", "daily", "2026-07-01", "soft")]


def test_a_notice_waits_for_a_turn_in_which_somebody_hears_it(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 0.9)
    unanswered = [{"role": "user"}, {"role": "user"}]
    assert told(recording, "s", conversation_history=unanswered) is None
    delegate(recording, "s", "child")
    assert told(recording, "child", platform="subagent") is None
    with monkeypatch.context() as review:
        review.setattr("threading.current_thread", lambda: type("T", (), {"name": "bg-review-1"}))
        assert told(recording, "s") is None
    assert "$0.90" in (told(recording, "s") or "")


def test_crossing_both_thresholds_at_once_gives_the_hard_notice_only(recording: Recording) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 1)
    assert (told(recording, "s") or "").endswith(
        "No tool runs until then. Tell the user, and ask the operator."
    )
    assert told(recording, "s") is None
    assert [row[-1] for row in levels(recording)] == ["hard"]


def test_a_turn_waits_a_moment_for_what_was_spent_before_its_process_began(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 0.9)
    load = Totals.load

    def load_slowly(totals: Totals) -> bool:
        time.sleep(0.03)
        return load(totals)

    monkeypatch.setattr(Totals, "load", load_slowly)
    one_turn = another_process(recording)
    one_turn.fire("on_session_start", session_id="other", platform="cli")
    assert "$0.90" in (told(one_turn, "other") or "")
    one_turn.close()


def test_a_notice_that_the_ledger_cannot_note_is_told_later(recording: Recording) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 0.9)
    with write_transaction_elsewhere(recording.path):
        assert told(recording, "s") is None, "another process may tell it as well"
    assert "$0.90" in (told(recording, "s") or "")
    assert told(recording, "s") is None


@pytest.mark.parametrize(
    ("mode", "usd", "level", "ending"),
    [
        ("block", 0.9, "soft", "Be sparing, and tell the operator."),
        ("block", 1.0, "hard", "Tell the user, and ask the operator."),
        ("notify", 1.0, "hard", "Nothing is blocked. Tell the operator."),
    ],
)
def test_what_the_last_call_of_a_process_crosses_is_noted_and_logged_and_told_to_the_next(
    recording: Recording, mode: str, usd: float, level: str, ending: str
) -> None:
    limit(recording, {"global": DAILY_DOLLAR}, on_breach=mode)
    begin(recording, "s")
    spend(recording, "s", usd)
    (alert,) = recording.rows("budget_alerts")
    assert (alert["level"], alert["spent_usd"], alert["limit_usd"]) == (level, usd, 1)
    assert len([line for line in recording.said if line.endswith(ending)]) == 1

    following = [another_process(recording) for _ in range(2)]
    heard = [begin(process, f"s{number}") for number, process in enumerate(following)]
    assert (heard[0] or "").endswith(ending)
    assert (heard[1], told(recording, "s")) == (None, None)
    for process in following:
        assert not any(line.endswith(ending) for line in process.said), "it is logged already"
        process.close()
    assert len(levels(recording)) == 1


def test_a_session_that_is_begun_anew_hears_what_the_former_one_crossed(
    recording: Recording,
) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 0.9)
    recording.fire("on_session_finalize", session_id="s")
    recording.fire("on_session_reset", session_id="new")
    assert "$0.90" in (begin(recording, "new") or "")


def test_what_another_build_has_noted_it_has_told(recording: Recording) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    recording.change(
        "insert into budget_alerts (scope, window, period_key, level, fired_at)"
        " values ('global', 'daily', '2026-07-01', 'soft', '2026-07-01T11:00:00+00:00')"
    )
    spend(recording, "s", 0.9)
    assert told(recording, "s") is None


def test_what_was_crossed_softly_and_then_hard_is_noted_twice_and_told_as_it_is(
    recording: Recording,
) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 0.9)
    spend(recording, "s", 0.1)
    assert [row[-1] for row in levels(recording)] == ["soft", "hard"]
    assert "$1.00 of its daily limit" in (told(recording, "s") or "")
    assert told(recording, "s") is None


def test_what_nobody_heard_yesterday_is_not_told_today(recording: Recording) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 0.9)
    recording.time.advance(24 * 3600)
    spend(recording, "s", 0.1)
    assert told(recording, "s") is None
    spend(recording, "s", 0.75)
    assert "$0.85" in (told(recording, "s") or "")
    assert [row[3:] for row in levels(recording)] == [
        ("2026-07-01", "soft"),
        ("2026-07-02", "soft"),
    ]


def test_what_a_blocked_tool_has_said_no_turn_is_told_again(recording: Recording) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 1)
    assert blocked(recording, "s") is not None
    other = another_process(recording)
    assert (told(recording, "s"), begin(other, "other")) == (None, None)
    other.close()


def test_a_session_that_is_not_blocked_is_not_told_that_it_is(recording: Recording) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "free")
    spend(recording, "free", 1, model="gift")
    spend(recording, "paying", 1)
    assert told(recording, "free") is None
    assert "No tool runs" in (told(recording, "paying") or "")


def test_what_was_crossed_while_the_ledger_was_held_is_noted_and_told_later(
    recording: Recording,
) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 0.5)
    other = another_process(recording)
    begin(other, "other")
    with write_transaction_elsewhere(recording.path):
        spend(other, "other", 0.5)  # it waits in the spill file, where it does not count
        assert (blocked(recording, "s"), blocked(other, "other")) == (None, None)
    assert levels(recording) == []
    spend(recording, "s", 0.01)
    assert [row[-1] for row in levels(recording)] == ["hard"]
    assert "$1.01" in (told(other, "other") or "")
    assert told(recording, "s") is None
    other.close()


def test_a_breach_for_want_of_a_price_is_told_as_such(recording: Recording) -> None:
    limit(recording, {"global": DAILY_DOLLAR}, on_unpriced="block", on_breach="notify")
    begin(recording, "s")
    spend(recording, "s", 1, model="unheard-of")
    notice = told(recording, "s") or ""
    assert "and one call without a known price, which counts as a breach" in notice
    assert "Nothing is blocked" in notice
    other = another_process(recording)
    begin(other, "other")
    spend(other, "other", 1, model="unheard-of")
    limit(other, {"global": {"daily_usd": 2}}, on_unpriced="block", on_breach="notify")
    notice = told(other, "other") or ""
    assert "and 2 calls without a known price, which count as a breach" in notice
    other.close()


def test_the_limits_of_a_day_and_of_a_month_are_told_together(recording: Recording) -> None:
    limit(recording, {"global": {"daily_usd": 1, "monthly_usd": 1.2}})
    begin(recording, "s")
    spend(recording, "s", 1)
    daily, monthly = (told(recording, "s") or "").split("\n\n")
    assert "its daily limit of $1.00; the limit resets at 2026-07-02 00:00" in daily
    assert daily.endswith("ask the operator.")
    assert "its monthly limit of $1.20; the limit resets at 2026-08-01 00:00" in monthly
    assert monthly.endswith("Be sparing, and tell the operator.")


RAISED = {"global": {"daily_usd": 5}}


def test_a_limit_that_was_raised_is_noted_logged_and_told_again_when_it_is_spent_too(
    recording: Recording,
) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 1)
    assert "$1.00 of its daily limit of $1.00" in (told(recording, "s") or "")

    limit(recording, RAISED)
    assert (blocked(recording, "s"), told(recording, "s")) == (None, None)
    spend(recording, "s", 3.2)  # 4.20, above 80 % of 5
    assert "$4.20 of its daily limit of $5.00" in (told(recording, "s") or "")
    spend(recording, "s", 1.5)
    assert "$5.70 of its daily limit of $5.00" in (told(recording, "s") or "")
    assert told(recording, "s") is None
    assert [
        (row["level"], row["spent_usd"], row["limit_usd"])
        for row in recording.rows("budget_alerts")
    ] == [("hard", pytest.approx(5.7), 5), ("soft", pytest.approx(4.2), 5)]
    logged = [line for line in recording.said if "its daily limit of $5.00" in line]
    assert ["Be sparing" in line for line in logged] == [True, False]

    # Neither for one of the two limits that were told already, nor for one in between.
    for usd in (1, 3, 5):
        limit(recording, {"global": {"daily_usd": usd}})
        assert told(recording, "s") is None


def test_a_process_that_still_holds_the_old_limit_does_not_speak_for_the_raised_one(
    recording: Recording,
) -> None:
    limit(recording, {"global": DAILY_DOLLAR})
    begin(recording, "s")
    spend(recording, "s", 1)
    assert told(recording, "s") is not None
    limit(recording, RAISED)
    spend(recording, "s", 4)  # noted, and for the next turn to tell
    # Its file is of before, and looked at once a second.
    limit(recording, {"global": DAILY_DOLLAR})
    behind = another_process(recording)
    assert begin(behind, "behind") is None
    limit(behind, RAISED)
    ahead = another_process(recording)
    assert "$5.00 of its daily limit of $5.00" in (begin(ahead, "ahead") or "")
    assert [told(each, "s") for each in (recording, behind, ahead)] == [None] * 3
    behind.close()
    ahead.close()


def test_a_limit_that_was_lowered_before_anybody_heard_of_it_is_told_as_it_is(
    recording: Recording,
) -> None:
    limit(recording, RAISED)
    begin(recording, "s")
    spend(recording, "s", 5)
    limit(recording, {"global": DAILY_DOLLAR})
    assert "$5.00 of its daily limit of $1.00" in (told(recording, "s") or "")
    other = another_process(recording)
    assert begin(other, "other") is None
    # Of the higher one, which is spent as well, nobody has heard yet.
    limit(other, RAISED)
    assert "$5.00 of its daily limit of $5.00" in (told(other, "other") or "")
    recording.time.advance(1)
    assert (told(other, "other"), told(recording, "s")) == (None, None)
    other.close()
