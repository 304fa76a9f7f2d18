"""What a limit says of a spend, at each threshold and one hair on either side of it.

The limit is 10 USD throughout, soft from 8 USD on and hard at 10, unless a row says otherwise.
"""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from hermes_telemetry.budget.config import NO_BUDGET, Budget
from hermes_telemetry.budget.verdicts import (
    WINDOWS,
    Verdict,
    judge,
    period_key,
    window_days,
    window_of,
)
from hermes_telemetry.store.spend import Spend

ENFORCE = replace(NO_BUDGET, on_estimated="enforce")
BLOCK_UNPRICED = replace(NO_BUDGET, on_unpriced="block")
# A sum of floats may lack 1e-9 USD of an amount and still reach it.
WITHIN, BEYOND = 0.5e-9, 2e-9


def firm(usd: float) -> Spend:
    return Spend(usd, usd, calls=1)


def estimated(firm: float, estimated: float) -> Spend:
    return Spend(firm + estimated, firm, calls=2, estimated_calls=1)


@pytest.mark.parametrize(
    ("spend", "level"),
    [
        (Spend(), "ok"),
        (firm(7.99), "ok"),
        (firm(8 - BEYOND), "ok"),
        (firm(8 - WITHIN), "soft"),
        (firm(8), "soft"),
        (firm(9.99), "soft"),
        (firm(10 - BEYOND), "soft"),
        (firm(10 - WITHIN), "hard"),
        (firm(10), "hard"),
        (firm(10.01), "hard"),
        (firm(1000), "hard"),
    ],
)
def test_firm_spend_is_soft_from_80_percent_and_hard_from_the_limit_on(
    spend: Spend, level: str
) -> None:
    verdict = judge(NO_BUDGET, 10, spend)
    assert (verdict.level, verdict.degraded) == (level, False)
    # Without estimates it does not matter what is done about them.
    assert judge(ENFORCE, 10, spend) == verdict


@pytest.mark.parametrize(
    ("spend", "warned", "enforced"),
    [
        # In all 7.99: below soft.
        (estimated(4, 3.99), ("ok", False), ("ok", False)),
        (estimated(4, 4), ("soft", False), ("soft", False)),
        (estimated(4, 5.99), ("soft", False), ("soft", False)),
        # In all 10, of which 4 are firm: over, but not surely so.
        (estimated(4, 6), ("soft", True), ("hard", False)),
        (estimated(0, 10), ("soft", True), ("hard", False)),
        (estimated(0, 1000), ("soft", True), ("hard", False)),
        (estimated(9.99, 5), ("soft", True), ("hard", False)),
        # 10 are firm: the estimates change nothing.
        (estimated(10, 0.01), ("hard", False), ("hard", False)),
        (estimated(10, 90), ("hard", False), ("hard", False)),
    ],
)
def test_estimates_degrade_a_breach_unless_they_are_enforced(
    spend: Spend, warned: tuple[str, bool], enforced: tuple[str, bool]
) -> None:
    for budget, expected in ((NO_BUDGET, warned), (ENFORCE, enforced)):
        verdict = judge(budget, 10, spend)
        assert (verdict.level, verdict.degraded) == expected


@pytest.mark.parametrize(
    ("limit", "spend", "level"),
    [
        # Ten times 0.1 is 0.9999999999999999 in floats; 80 % of 3 is 2.4000000000000004.
        (1.0, firm(sum([0.1] * 10)), "hard"),
        (3.0, firm(2.4), "soft"),
    ],
)
def test_what_adds_up_to_a_threshold_in_decimals_reaches_it(
    limit: float, spend: Spend, level: str
) -> None:
    assert judge(NO_BUDGET, limit, spend).level == level


@pytest.mark.parametrize(
    ("spend", "level"), [(4.99, "ok"), (5, "soft"), (8.99, "soft"), (9, "hard"), (9.5, "hard")]
)
def test_the_thresholds_are_shares_of_the_limit(spend: float, level: str) -> None:
    budget = replace(NO_BUDGET, soft_pct=0.5, hard_pct=0.9)
    verdict = judge(budget, 10, firm(spend))
    assert (verdict.level, verdict.soft, verdict.hard) == (level, 5, 9)


def test_equal_thresholds_leave_no_soft() -> None:
    budget = replace(NO_BUDGET, soft_pct=1.0)
    assert [judge(budget, 10, firm(usd)).level for usd in (9.99, 10)] == ["ok", "hard"]


@pytest.mark.parametrize(
    ("budget", "spend", "level", "degraded"),
    [
        (NO_BUDGET, Spend(), "ok", False),
        (NO_BUDGET, Spend(calls=5), "ok", False),  # free calls
        (NO_BUDGET, firm(1e-12), "hard", False),
        (NO_BUDGET, estimated(0, 1e-12), "soft", True),
        (ENFORCE, estimated(0, 1e-12), "hard", False),
    ],
)
def test_a_limit_of_nothing_is_passed_as_soon_as_something_is_spent(
    budget: Budget, spend: Spend, level: str, degraded: bool
) -> None:
    verdict = judge(budget, 0, spend)
    assert (verdict.level, verdict.degraded, verdict.spent_pct) == (level, degraded, None)
    assert verdict.over_by == spend.spent


@pytest.mark.parametrize(
    ("budget", "spend", "level", "because_of_it"),
    [
        (NO_BUDGET, Spend(1, 1, calls=3, unpriced_calls=2), "ok", False),
        (BLOCK_UNPRICED, Spend(1, 1, calls=3, unpriced_calls=0), "ok", False),
        (BLOCK_UNPRICED, Spend(1, 1, calls=3, unpriced_calls=1), "hard", True),
        (BLOCK_UNPRICED, Spend(0, 0, calls=1, unpriced_calls=1), "hard", True),
    ],
)
def test_a_call_without_a_price_is_a_breach_where_the_budget_says_so(
    budget: Budget, spend: Spend, level: str, because_of_it: bool
) -> None:
    verdict = judge(budget, 10, spend)
    assert (verdict.level, verdict.unpriced_breach) == (level, because_of_it)


def test_without_a_limit_there_is_no_verdict() -> None:
    spend = Spend(50, 50, calls=9, unpriced_calls=1)
    assert judge(BLOCK_UNPRICED, None, spend) == Verdict()
    assert Verdict().level is None


@pytest.mark.parametrize(
    ("spent", "share", "over_by"), [(0, 0, 0), (7.5, 0.75, 0), (10, 1, 0), (12.5, 1.25, 2.5)]
)
def test_share_and_excess_are_of_the_limit(spent: float, share: float, over_by: float) -> None:
    # Not of the hard threshold, which is at 9 here.
    verdict = judge(replace(NO_BUDGET, hard_pct=0.9), 10, firm(spent))
    assert (verdict.limit, verdict.spent_pct, verdict.over_by) == (10, share, over_by)


def test_no_limit_is_so_small_that_its_share_becomes_infinite() -> None:
    assert judge(NO_BUDGET, 5e-324, firm(100)).spent_pct is None


@pytest.mark.parametrize(
    ("day", "daily", "monthly", "days_of_month"),
    [
        (date(2028, 2, 29), "2028-02-29", "2028-02", 29),
        (date(2026, 12, 31), "2026-12-31", "2026-12", 31),
    ],
)
def test_the_window_of_a_day_is_that_day_or_its_month(
    day: date, daily: str, monthly: str, days_of_month: int
) -> None:
    assert WINDOWS == ("daily", "monthly")
    assert (period_key("daily", day), period_key("monthly", day)) == (daily, monthly)
    assert window_days("daily", day) == [day]
    month = window_days("monthly", day)
    assert (month[0], month[-1]) == (day.replace(day=1), day)
    assert len(month) == len(set(month)) == days_of_month


def test_windows_are_local() -> None:
    # Madrid is at UTC+1 before 2026-03-29 and at UTC+2 after it: that day has 23 hours.
    spring = date(2026, 3, 29)
    day = window_of("daily", spring, "Europe/Madrid")
    assert (day.start, day.end) == (
        datetime(2026, 3, 28, 23, tzinfo=UTC),
        datetime(2026, 3, 29, 22, tzinfo=UTC),
    )
    month = window_of("monthly", spring, "Europe/Madrid")
    assert (month.start, month.end) == (
        datetime(2026, 2, 28, 23, tzinfo=UTC),
        datetime(2026, 3, 31, 22, tzinfo=UTC),
    )
