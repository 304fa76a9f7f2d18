"""The figures that are more than sums, against plain Python on ledgers filled by chance."""

import sqlite3
import statistics
from collections import defaultdict
from contextlib import closing
from datetime import date, datetime, timedelta

import pytest

from support.ledger import HandMadeLedger, Row


def rows(ledger: HandMadeLedger, sql: str) -> list[Row]:
    with closing(sqlite3.connect(ledger.path)) as connection:
        return connection.execute(sql).fetchall()


@pytest.mark.parametrize(
    ("query", "column"), [("cost_by_profile", "profile"), ("cost_by_sender", "sender_id")]
)
def test_calls_are_of_their_session_else_of_its_root(
    query: str, column: str, filled: HandMadeLedger
) -> None:
    parents = dict(rows(filled, "select child_session_id, parent_session_id from subagent_edges"))
    own = dict(rows(filled, f"select session_id, {column} from runs"))

    def belongs_to(session: str) -> str | None:
        root, seen = session, {session}
        while root in parents:
            root = parents[root]
            if root in seen:  # a cycle
                return own.get(session) or None
            seen.add(root)
        return own.get(session) or own.get(root) or None

    calls: dict[str | None, int] = defaultdict(int)
    for (session,) in rows(filled, "select session_id from llm_calls"):
        calls[belongs_to(session)] += 1
    assert dict(filled.ask(query, f"{column} calls", since="all")) == calls
    for profile in ("work", "home"):
        if query == "cost_by_profile":
            assert filled.ask(query, "profile calls", since="all", profile=profile) == [
                (profile, calls[profile])
            ]


def test_percentiles_are_the_nearest_ranks(filled: HandMadeLedger) -> None:
    latencies: dict[str, list[int]] = defaultdict(list)
    for name, ms in rows(
        filled,
        "select model, latency_ms from llm_calls union all select tool_name, latency_ms"
        " from tool_calls where tool_name <> 'delegate_task/subagent'",
    ):
        if ms is not None:
            latencies[name].append(ms)
    answered = filled.ask("latency_percentiles", "name calls p50_ms p90_ms p99_ms", since="all")
    assert len(answered) == len(latencies)
    for name, calls, *percentiles in answered:
        ordered = sorted(latencies[name])
        assert calls == len(ordered)
        for share, percentile in zip((50, 90, 99), percentiles, strict=True):
            within = sum(ms <= percentile for ms in ordered) * 100
            below = sum(ms < percentile for ms in ordered) * 100
            assert below < share * calls <= within


@pytest.mark.parametrize(("failures", "minutes"), [(2, 240), (3, 600), (4, 1440), (1, 1)])
def test_storms_are_the_attempts_that_lie_in_a_burst(
    failures: int, minutes: int, filled: HandMadeLedger
) -> None:
    attempts: dict[tuple[str, str], list[datetime]] = defaultdict(list)
    for model, provider, ts in rows(
        filled, "select model, provider, ts from llm_call_errors order by ts"
    ):
        attempts[model, provider].append(datetime.fromisoformat(ts))
    expected = []
    for (model, provider), times in attempts.items():
        bursts = [
            set(range(first, first + failures))
            for first in range(len(times) - failures + 1)
            if times[first + failures - 1] - times[first] <= timedelta(minutes=minutes)
        ]
        storms: list[set[int]] = []
        for burst in bursts:
            if storms and storms[-1] & burst:
                storms[-1] |= burst
            else:
                storms.append(burst)
        expected += [(model, provider, len(storm)) for storm in storms]
    answered = filled.ask(
        "retry_storms",
        "model provider attempts",
        since="all",
        failures=str(failures),
        minutes=str(minutes),
    )
    assert sorted(answered) == sorted(expected)
    assert answered


def test_anomalies_are_the_days_above_three_deviations(filled: HandMadeLedger) -> None:
    spent: dict[date, float] = {}
    for ts, usd in rows(filled, "select ts, cost_usd from llm_calls where cost_usd is not null"):
        day = date.fromisoformat(ts[:10])
        spent[day] = spent.get(day, 0.0) + usd
    expected = []
    for day, usd in sorted(spent.items(), reverse=True):
        before = [
            spent[day - timedelta(days=back)]
            for back in range(1, 29)
            if day - timedelta(days=back) in spent
        ]
        if len(before) >= 7:
            median = statistics.median(before)
            deviation = statistics.median(abs(each - median) for each in before)
            if usd > median + max(3 * deviation, 0.2 * median) + 1e-9:
                expected.append((str(day), usd, median, deviation))
    columns = "day cost_usd median_usd deviation_usd"
    assert filled.ask("spend_anomalies", columns, since="all") == expected
