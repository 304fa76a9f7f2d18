"""Where a limit stands and where it goes, asked of ledgers: the object of `forecast --json`."""

import json
from datetime import date, timedelta
from random import Random
from typing import Any

import pytest

from support.ledger import HandMadeLedger
from support.outlook import ask, budget
from support.plain_spend import on_days, plain_spend
from support.random_ledger import scatter
from support.rows import insert

MADRID = "Europe/Madrid"

KEYS = {
    "scope": str,
    "scope_id": str,
    "scope_name": str,
    "window": str,
    "timezone": str,
    "limit_usd": float,
    "spent_usd": float,
    "firm_usd": float,
    "spent_pct": float,
    "verdict": str,
    "degraded": bool,
    "based_on_estimates": bool,
    "estimated_calls": int,
    "unpriced_calls": int,
    "over_by_usd": float,
    "window_start": str,
    "window_end": str,
    "elapsed_fraction": float,
    "history_days": int,
    "mean_daily_usd": float,
    "projected_usd": float,
    "projected_low_usd": float,
    "projected_high_usd": float,
    "breach_probability": float,
    "breach_at": str,
    "status": str,
    "method": str,
    "enabled": bool,
}
"""The keys in their order, and what stands under each where it is not null."""


def each_day(ledger: HandMadeLedger, first: str, last: str, usd: float, at: str = "09:00") -> None:
    """A call of the session 's' on each of these days, at this time, UTC."""
    day = date.fromisoformat(first)
    while day <= date.fromisoformat(last):
        ledger.call("s", usd, f"{day}T{at}")
        day += timedelta(days=1)


def show(standing: dict[str, Any], keys: str) -> tuple[Any, ...]:
    return tuple(standing[key] for key in keys.split())


# --- the object


def test_the_object_has_these_keys_in_this_order(ledger: HandMadeLedger) -> None:
    each_day(ledger, "2026-05-01", "2026-07-09", 2.0, "15:00")
    standing = ask(ledger.path, "2026-07-10T12:00", budget({"global": {"monthly_usd": 31.0}}))
    assert list(standing) == list(KEYS)
    assert {key: type(value) for key, value in standing.items()} == KEYS
    assert json.loads(json.dumps(standing, allow_nan=False)) == standing
    # 9 days of 2 are spent, today's 2 and 21 days are to come. 31 is 18, 2 for the 10th, 10 for the
    # five days to the 15th, and half of the 16th.
    assert show(standing, "scope scope_id scope_name window timezone limit_usd") == (
        ("global", "", "", "monthly", "UTC", 31.0)
    )
    assert show(standing, "spent_usd firm_usd spent_pct verdict degraded over_by_usd") == (
        (18.0, 18.0, 18 / 31, "ok", False, 0.0)
    )
    assert show(standing, "based_on_estimates estimated_calls unpriced_calls") == (False, 0, 0)
    assert show(standing, "projected_usd projected_low_usd projected_high_usd") == pytest.approx(
        (62, 62, 62)
    )
    assert show(standing, "window_start window_end elapsed_fraction history_days") == (
        "2026-07-01T00:00:00.000000+00:00",
        "2026-08-01T00:00:00.000000+00:00",
        9.5 / 31,
        56,
    )
    assert show(standing, "mean_daily_usd breach_probability status method enabled") == (
        (2.0, 1.0, "hard", "weekdays_differ", True)
    )
    assert standing["breach_at"][:16] == "2026-07-16T12:00"


def test_without_a_limit_there_is_spend_and_projection_and_nothing_to_breach(
    ledger: HandMadeLedger,
) -> None:
    each_day(ledger, "2026-06-20", "2026-07-09", 2.0)
    standing = ask(ledger.path, "2026-07-10T08:00")
    assert list(standing) == list(KEYS)
    assert show(standing, "enabled spent_usd projected_usd history_days") == (
        (False, 18.0, pytest.approx(62), 19)
    )
    nothing = "limit_usd spent_pct verdict over_by_usd breach_probability breach_at status"
    assert show(standing, nothing) == (None,) * 7
    assert standing["degraded"] is False


def test_an_empty_ledger_has_spent_nothing(ledger: HandMadeLedger) -> None:
    standing = ask(ledger.path, "2026-07-10T08:00", budget({"global": {"monthly_usd": 5}}))
    assert list(standing) == list(KEYS)
    assert show(standing, "spent_usd spent_pct verdict history_days status") == (
        (0.0, 0.0, "ok", 0, "insufficient_history")
    )
    unknown = "mean_daily_usd projected_usd projected_low_usd projected_high_usd method"
    assert show(standing, f"{unknown} breach_probability breach_at") == (None,) * 7


# --- what counts


def test_a_session_begun_nine_days_ago_counts_with_its_calls_of_today(
    ledger: HandMadeLedger,
) -> None:
    ledger.run("s", "2026-06-22T09:00", sender_id="ann", profile="work", cron_job_id="j")
    ledger.call("s", 1.0, "2026-06-22T09:00")
    for hour in ("00", "05", "11", "12"):
        ledger.call("s", 2.5, f"2026-07-01T{hour}:00")
    for owner in (("global", ""), ("sender", "ann"), ("profile", "work"), ("cron_job", "j")):
        standing = ask(
            ledger.path, "2026-07-01T12:30", scope=owner[0], scope_id=owner[1], window="daily"
        )
        assert (standing["scope"], standing["spent_usd"]) == (owner[0], 10.0)


def test_estimated_and_unpriced_calls_are_counted_and_firm_spend_is_told_apart(
    ledger: HandMadeLedger,
) -> None:
    for usd, estimated in ((1.0, 0), (2.0, 1), (None, 0), (None, 1), (4.0, None)):
        ledger.call("s", usd, "2026-07-01T09:00", estimated=estimated)
    standing = ask(ledger.path, "2026-07-01T12:00", window="daily")
    assert show(standing, "spent_usd firm_usd estimated_calls unpriced_calls") == (7.0, 5.0, 2, 2)
    assert standing["based_on_estimates"] is True


@pytest.mark.parametrize(
    ("at", "day", "month"),
    [
        ("2026-10-31T22:59:59.999999", 0.0, 0.0),  # the last microsecond of October in Madrid
        ("2026-10-31T23:00:00", 0.0, 1.0),
        ("2026-11-29T22:59:59.999999", 0.0, 1.0),
        ("2026-11-29T23:00:00.000001", 1.0, 1.0),
        ("2026-11-30T22:59:59.999999", 1.0, 1.0),
        ("2026-11-30T23:00:00", 0.0, 0.0),
    ],
)
def test_a_call_counts_in_the_local_day_and_month_of_its_own_time(
    at: str, day: float, month: float, ledger: HandMadeLedger
) -> None:
    ledger.call("s", 1.0, at)
    for window, usd in (("daily", day), ("monthly", month)):
        standing = ask(ledger.path, "2026-11-30T22:59:59", window=window, zone=MADRID)
        assert standing["spent_usd"] == usd


def test_a_time_without_a_fraction_is_of_the_day_that_begins_then(ledger: HandMadeLedger) -> None:
    # As another build stores it.
    insert(ledger.path, "llm_calls", session_id="s", ts="2026-07-02T00:00:00", cost_usd=1.0)
    for now, usd in (("2026-07-01T12:00", 0.0), ("2026-07-02T12:00", 1.0)):
        assert ask(ledger.path, now, window="daily")["spent_usd"] == usd


@pytest.mark.parametrize("seed", range(3))
def test_everyone_of_a_random_ledger_stands_at_the_sum_of_their_calls(
    seed: int, ledger: HandMadeLedger
) -> None:
    chance = Random(seed)
    scatter(ledger, chance)
    june = on_days(date(2026, 6, 1), date(2026, 6, 30), MADRID)
    sums = plain_spend(ledger.path, june)
    assert len(sums) > 3
    for (scope, scope_id), spend in sums.items():
        standing = ask(ledger.path, "2026-06-30T20:00", scope=scope, scope_id=scope_id, zone=MADRID)
        assert show(standing, "spent_usd firm_usd estimated_calls unpriced_calls") == pytest.approx(
            (spend.spent, spend.firm, spend.estimated_calls, spend.unpriced_calls)
        )


# --- days of a kind


def test_the_rest_of_today_is_what_used_to_come_after_this_time_on_the_clock(
    ledger: HandMadeLedger,
) -> None:
    # Madrid changes its clocks in the night to 29 March: 11:30 and 15:00 were 10:30 and 14:00 UTC.
    each_day(ledger, "2026-02-25", "2026-03-28", 3.0, "10:30")
    each_day(ledger, "2026-02-25", "2026-03-28", 1.0, "14:00")
    standing = ask(ledger.path, "2026-03-29T10:00", window="daily", zone=MADRID)
    # At noon by the clock, only the call of 15:00 is expected; noon comes after 11 of 23 hours.
    assert show(standing, "spent_usd projected_usd") == (0.0, pytest.approx(1))
    assert standing["elapsed_fraction"] == pytest.approx(11 / 23)
    # At 11:00, both.
    standing = ask(ledger.path, "2026-03-29T09:00", window="daily", zone=MADRID)
    assert standing["projected_usd"] == pytest.approx(4)


def test_a_day_of_25_hours_is_over_an_hour_later(ledger: HandMadeLedger) -> None:
    each_day(ledger, "2026-10-01", "2026-10-25", 1.0, "12:00")
    standing = ask(ledger.path, "2026-10-25T12:30", window="daily", zone=MADRID)
    assert show(standing, "window_start window_end spent_usd projected_usd") == (
        "2026-10-24T22:00:00.000000+00:00",
        "2026-10-25T23:00:00.000000+00:00",
        1.0,
        # By the clock it came at 14:00, and today at 13:00: at 13:30 one seems still to come.
        pytest.approx(2),
    )
    assert standing["elapsed_fraction"] == pytest.approx(14.5 / 25)


def test_29_february_is_the_last_day_of_its_month(ledger: HandMadeLedger) -> None:
    each_day(ledger, "2027-12-01", "2028-02-28", 1.0, "09:00")
    each_day(ledger, "2027-12-01", "2028-02-28", 1.0, "15:00")
    ledger.call("s", 1.0, "2028-02-29T09:00")
    standing = ask(ledger.path, "2028-02-29T12:00")
    assert show(standing, "spent_usd projected_usd") == (57.0, pytest.approx(58))
    assert standing["window_end"] == "2028-03-01T00:00:00.000000+00:00"
    assert standing["elapsed_fraction"] == pytest.approx(28.5 / 29)


def test_in_the_last_second_of_a_month_nothing_more_is_expected(ledger: HandMadeLedger) -> None:
    each_day(ledger, "2026-05-01", "2026-07-31", 2.0)
    standing = ask(ledger.path, "2026-07-31T23:59:59.5")
    amounts = "spent_usd projected_usd projected_low_usd projected_high_usd"
    assert show(standing, amounts) == (62.0,) * 4
    assert 0.999999 < standing["elapsed_fraction"] < 1


@pytest.mark.parametrize(
    ("now", "days"),
    [("2026-07-01T12:00", 0), ("2026-07-02T12:00", 0), ("2026-07-04T23:59", 2)],
)
def test_up_to_the_fourth_day_there_is_too_little_history(
    now: str, days: int, ledger: HandMadeLedger
) -> None:
    each_day(ledger, "2026-07-01", now[:10], 2.0)
    limits = budget({"global": {"monthly_usd": 1}})
    standing = ask(ledger.path, now, limits)
    assert show(standing, "history_days status projected_usd method") == (
        (days, "insufficient_history", None, None)
    )
    # What is spent is known all the same: 1 USD was reached with the first call.
    assert show(standing, "verdict breach_probability breach_at") == (
        ("hard", 1.0, "2026-07-01T09:00:00.000000+00:00")
    )


def test_on_the_fifth_day_three_complete_ones_are_enough(ledger: HandMadeLedger) -> None:
    each_day(ledger, "2026-07-01", "2026-07-04", 2.0)
    standing = ask(ledger.path, "2026-07-05T00:00")
    assert show(standing, "history_days projected_usd method") == (
        (3, pytest.approx(62), "weekdays_alike")
    )


@pytest.mark.parametrize(
    ("first", "days"),
    [
        ("2026-04-30", 56),  # long ago, and nothing since
        ("2026-05-31", 29),  # in the middle of what is read
    ],
)
def test_quiet_days_since_the_first_call_count_as_history(
    first: str, days: int, ledger: HandMadeLedger
) -> None:
    ledger.run("child")
    ledger.run("s", first, sender_id="ann")
    ledger.edge("child", "s")
    ledger.call("child", 28.0, f"{first}T09:00")
    ledger.call("s", 14.0, "2026-06-29T09:00")
    for owner in (("global", ""), ("sender", "ann")):
        standing = ask(ledger.path, "2026-06-30T00:00", scope=owner[0], scope_id=owner[1])
        assert show(standing, "history_days mean_daily_usd") == (days, 1.0)


# --- breaches


def test_a_breach_is_at_the_call_that_reached_the_limit(ledger: HandMadeLedger) -> None:
    each_day(ledger, "2026-07-01", "2026-07-09", 1.0)
    ledger.call("other", 1.0, "2026-07-04T08:00")
    limits = budget({"global": {"monthly_usd": 10.0}}, hard_pct=0.5, soft_pct=0.4)
    standing = ask(ledger.path, "2026-07-10T00:00", limits)
    # 5 USD: a call on each of the first three days, and the two of the fourth.
    assert show(standing, "verdict breach_probability breach_at status over_by_usd") == (
        ("hard", 1.0, "2026-07-04T09:00:00.000000+00:00", "hard", 0.0)
    )


def test_a_breach_is_an_instant_whatever_form_its_call_has_it_in(ledger: HandMadeLedger) -> None:
    insert(ledger.path, "llm_calls", session_id="s", ts="2026-07-01T09:00:00", cost_usd=9.0)
    limits = budget({"global": {"daily_usd": 5}})
    standing = ask(ledger.path, "2026-07-01T12:00", limits, window="daily")
    assert standing["breach_at"] == "2026-07-01T09:00:00.000000+00:00"


def test_a_breach_of_a_scope_is_at_a_call_of_its_own(ledger: HandMadeLedger) -> None:
    ledger.run("s", sender_id="ann")
    ledger.edge("child", "s")
    ledger.call("stranger", 50.0, "2026-07-01T01:00")
    ledger.call("s", 1.0, "2026-07-01T02:00")
    ledger.call("child", 1.0, "2026-07-01T03:00")
    ledger.call("s", 1.0, "2026-07-01T04:00")
    limits = budget({"per_sender": {"default": {"daily_usd": 2}}})
    standing = ask(
        ledger.path, "2026-07-01T12:00", limits, scope="sender", scope_id="ann", window="daily"
    )
    assert show(standing, "verdict breach_at over_by_usd") == (
        ("hard", "2026-07-01T03:00:00.000000+00:00", 1.0)
    )


ESTIMATED_THEN_FIRM = (
    (1.0, 1, "2026-07-01T01:00"),
    (1.0, 1, "2026-07-01T02:00"),
    (2.0, 0, "2026-07-01T03:00"),
)


@pytest.mark.parametrize(
    ("calls", "mode", "facts"),
    [
        pytest.param(2, "warn_only", ("soft", True, 1.0, "02:00"), id="only with estimates"),
        pytest.param(2, "enforce", ("hard", False, 1.0, "02:00"), id="estimates count"),
        pytest.param(3, "warn_only", ("hard", False, 1.0, "03:00"), id="without estimates"),
        pytest.param(3, "enforce", ("hard", False, 1.0, "02:00"), id="first with estimates"),
    ],
)
def test_a_breach_is_of_what_the_verdict_counts(
    calls: int, mode: str, facts: tuple[Any, ...], ledger: HandMadeLedger
) -> None:
    for usd, estimated, at in ESTIMATED_THEN_FIRM[:calls]:
        ledger.call("s", usd, at, estimated=estimated)
    limits = budget({"global": {"daily_usd": 2}}, on_estimated=mode, soft_pct=0.5)
    standing = ask(ledger.path, "2026-07-01T12:00", limits, window="daily")
    verdict = show(standing, "verdict degraded breach_probability")
    assert (*verdict, standing["breach_at"][11:16]) == facts


def test_a_call_without_a_price_can_be_the_breach(ledger: HandMadeLedger) -> None:
    ledger.call("s", 1.0, "2026-07-01T01:00")
    ledger.call("s", None, "2026-07-01T02:00")
    ledger.call("s", None, "2026-07-01T03:00")
    limits = budget({"global": {"daily_usd": 2}}, on_unpriced="block")
    standing = ask(ledger.path, "2026-07-01T12:00", limits, window="daily")
    assert show(standing, "verdict breach_probability breach_at spent_usd") == (
        ("hard", 1.0, "2026-07-01T02:00:00.000000+00:00", 1.0)
    )


def test_a_breach_by_a_call_without_a_price_is_one_until_the_window_ends(
    ledger: HandMadeLedger,
) -> None:
    each_day(ledger, "2026-06-20", "2026-06-30", 1.0)
    ledger.call("s", None, "2026-07-01T02:00")
    # 31 of 100 USD are expected, which alone is no breach.
    for mode, status in (("block", "hard"), ("warn", "ok")):
        limits = budget({"global": {"monthly_usd": 100}}, on_unpriced=mode)
        standing = ask(ledger.path, "2026-07-01T03:00", limits)
        assert show(standing, "projected_usd verdict status") == (
            (pytest.approx(31), status, status)
        )


@pytest.mark.parametrize(
    ("limit", "status", "breach_at"),
    [
        (120.0, "ok", None),  # 62 is 52 %
        (77.5, "soft", None),  # 62 is 80 %
        (62.0, "hard", None),  # as the month ends, which is another month
        (31.0, "hard", "2026-07-16T12:00"),
        (30.0, "hard", "2026-07-16T00:00"),
    ],
)
def test_the_status_is_that_of_what_is_expected(
    limit: float, status: str, breach_at: str | None, ledger: HandMadeLedger
) -> None:
    each_day(ledger, "2026-05-01", "2026-07-09", 2.0)
    standing = ask(ledger.path, "2026-07-10T00:00", budget({"global": {"monthly_usd": limit}}))
    assert show(standing, "verdict status") == ("ok", status)
    assert (standing["breach_at"] and standing["breach_at"][:16]) == breach_at
    assert standing["breach_probability"] == float(limit <= 62)


def test_a_limit_of_nothing_stands_until_something_is_spent(ledger: HandMadeLedger) -> None:
    each_day(ledger, "2026-05-01", "2026-06-30", 2.0)
    limits = budget({"global": {"monthly_usd": 0}})
    standing = ask(ledger.path, "2026-07-01T06:00", limits)
    # The next call is expected in the 18 hours of today in which it used to come: at once.
    assert show(standing, "verdict spent_pct status breach_probability breach_at") == (
        ("ok", None, "hard", 1.0, "2026-07-01T06:00:00.000000+00:00")
    )
    each_day(ledger, "2026-07-01", "2026-07-01", 2.0)
    standing = ask(ledger.path, "2026-07-01T12:00", limits)
    assert show(standing, "verdict spent_pct over_by_usd breach_at") == (
        ("hard", None, 2.0, "2026-07-01T09:00:00.000000+00:00")
    )
