"""Whatever was spent, a projection is made of finite amounts that make sense together."""

import math
from datetime import UTC, date, datetime, time, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_telemetry.budget.backtest import backtest
from hermes_telemetry.budget.forecast import (
    PastDay,
    burn_rate_projection,
    daily_spend_series,
    mean_daily_usd,
)

amounts = st.one_of(
    st.just(0.0), st.floats(0, 1e12), st.sampled_from([5e-324, 1e-300, 1e-9, 0.01, 1.0])
)
days = st.dates(date(2024, 1, 1), date(2028, 12, 31))


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[PastDay], date]:
    today = draw(days)
    spend = draw(st.lists(st.tuples(amounts, st.floats(0, 1)), max_size=60))
    by_day = {
        today - timedelta(days=number): (usd, usd * rest)
        for number, (usd, rest) in enumerate(spend, 1)
    }
    return daily_spend_series(by_day, min(by_day, default=None), today), today


@settings(max_examples=150, deadline=None)
@given(histories(), amounts, st.integers(0, 31), amounts)
def test_every_figure_is_finite_and_none_is_below_what_is_spent(
    history_and_today: tuple[list[PastDay], date], spent: float, left: int, limit: float
) -> None:
    history, today = history_and_today
    mean = mean_daily_usd(history)
    assert mean is None or (math.isfinite(mean) and mean >= 0)
    projection = burn_rate_projection(
        history, spent, [today + timedelta(days=number) for number in range(left)]
    )
    if len(history) < 3:
        assert projection is None
        return
    assert projection is not None
    low, high = projection.interval
    for figure in (projection.usd, low, high, *projection.expected, *sum(projection.band(), ())):
        assert math.isfinite(figure)
        assert figure >= spent
    assert low <= projection.usd <= high
    assert list(projection.expected) == sorted(projection.expected)
    share = projection.share(lambda total: total >= limit)
    assert 0 <= share <= 1
    if spent >= limit:
        assert share == 1
        return
    now = datetime.combine(today, time(12), UTC)
    meets = projection.meets(limit, now, "UTC")
    if meets is not None:
        end = datetime.combine(today, time(), UTC) + timedelta(days=left)
        assert now <= meets < end
        assert projection.usd >= limit


@settings(max_examples=10, deadline=None)
@given(st.lists(amounts, min_size=1, max_size=100), days, st.sampled_from(["daily", "monthly"]))
def test_a_backtest_of_any_history_is_finite(usd: list[float], first: date, window: str) -> None:
    spend = {first + timedelta(days=number): amount for number, amount in enumerate(usd)}
    came = backtest(spend, first, first + timedelta(days=len(usd)), window)  # type: ignore[arg-type]
    assert came.count >= 0
    for figure in (came.wape, came.wape_ratio, came.coverage):
        assert figure is None or (math.isfinite(figure) and figure >= 0)
