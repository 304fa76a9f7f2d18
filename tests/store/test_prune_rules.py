"""Which failed attempts a rule takes: by age and filter, but never the newest of a group."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_telemetry.store.migrations import _ensure_schema, migrate
from hermes_telemetry.store.retention import (
    Preview,
    PreviewGroup,
    PruneRule,
    Pruning,
    parse_before,
    parse_status,
    preview,
    prune,
)
from support.failures import ids, to_stay
from support.ledger import HandMadeLedger

NOW = datetime(2026, 7, 1, 12, 0, 0, 500_000, tzinfo=UTC)
JUNE = "2026-06-01T00:00:00"


@pytest.mark.parametrize(
    ("text", "zone", "before"),
    [
        ("90d", "UTC", "2026-04-02T12:00:00"),
        ("12h", "UTC", "2026-07-01T00:00:00"),
        ("4w", "UTC", "2026-06-03T12:00:00"),
        ("0h", "UTC", "2026-07-01T12:00:00"),
        (" 1d ", "UTC", "2026-06-30T12:00:00"),
        ("2026-06-01", "UTC", "2026-06-01T00:00:00"),
        # A date is a local day: Madrid is two hours ahead in summer, New York four behind.
        ("2026-06-01", "Europe/Madrid", "2026-05-31T22:00:00"),
        ("2026-07-01", "America/New_York", "2026-07-01T04:00:00"),
        # Names of days mean the first instant of them: 2026-07-01 is a Wednesday.
        ("yesterday", "Europe/Madrid", "2026-06-29T22:00:00"),
        ("last-week", "UTC", "2026-06-22T00:00:00"),
        # An age counts hours, whatever the zone.
        ("1d", "Europe/Madrid", "2026-06-30T12:00:00"),
        ("2026-06-01T08:30:00+02:00", "UTC", "2026-06-01T06:30:00"),
        ("2026-06-01T08:30:00", "Europe/Madrid", "2026-06-01T08:30:00"),
        ("2026-06-01T08:30:00.999999+00:00", "UTC", "2026-06-01T08:30:00"),
        ("2026-07-01T12:00:00.400000+00:00", "UTC", "2026-07-01T12:00:00"),
    ],
)
def test_an_age_a_date_and_an_instant_become_a_bound(text: str, zone: str, before: str) -> None:
    assert parse_before(text, NOW, zone) == before
    # What a preview resolved, a later request carries: it must mean the same then.
    assert parse_before(before, NOW + timedelta(days=3), "Asia/Tokyo") == before


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "before when"),
        ("  ", "before when"),
        ("90", "'90' has no unit: 90d is an age in days"),
        ("90m", "not an age"),
        ("-5d", "not an age"),
        ("1.5d", "not an age"),
        ("٣d", "not an age"),
        ("tomorrow", "not an age"),
        ("2026-02-30", "not an age"),
        ("2026-06-01; drop table runs", "not an age"),
        ("99999999999d", "not an age"),
        ("9999999d", "not an age"),
        ("0001-01-01T00:00:00+14:00", "not an age"),
        ("2026-07-02", "future"),
        ("2026-07-01T12:00:01", "future"),
        ("9999-12-31T23:59:59-12:00", "not an age"),
    ],
)
def test_what_is_empty_unreadable_or_in_the_future_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint) as refused:
        parse_before(text, NOW, "UTC")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("text", "status"), [("429", 429), ("none", None), (" None ", None)])
def test_a_status_code_as_users_write_it(text: str, status: int | None) -> None:
    assert parse_status(text) == status


@pytest.mark.parametrize("text", ["", "4xx", "-1", "4e2", "9" * 30])
def test_another_word_is_no_status_code(text: str) -> None:
    with pytest.raises(ValueError, match="not a status code"):
        parse_status(text)


@pytest.mark.parametrize("before", ["", "z", "90d", "2026-06-01", "2026-06-01T00:00:00+00:00"])
def test_a_rule_takes_no_bound_that_would_compare_wrong(before: str) -> None:
    with pytest.raises(ValueError, match=r"Invalid|not a bound"):
        PruneRule(before)


@pytest.mark.parametrize("keep_last", [-1, 2**63])
def test_a_rule_keeps_a_number_of_rows(keep_last: int) -> None:
    with pytest.raises(ValueError, match="number of rows"):
        PruneRule(JUNE, keep_last=keep_last)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Seven failed attempts of May, two of June, by id:

    1-4 sonnet at anthropic, 429, of 1, 2, 3 and 4 May; the third is a Timeout
    5 sonnet at anthropic without a status code, 5 May
    6 sonnet at openrouter, 429, 6 May, stored without a fraction
    7 gpt at openai, 500, 7 May
    8 sonnet at anthropic, 429, the first instant of June
    9 gpt at openai, 500, 2 June
    """
    path = tmp_path / "telemetry.db"
    migrate(path)
    with closing(HandMadeLedger(path)) as ledger:
        for at, columns in (
            ("2026-05-01T10:00:00", {}),
            ("2026-05-02T10:00:00", {}),
            ("2026-05-03T10:00:00", {"error_type": "Timeout"}),
            ("2026-05-04T10:00:00", {}),
            ("2026-05-05T10:00:00", {"status_code": None}),
            ("2026-05-06T10:00:00+00:00", {"provider": "openrouter"}),
            ("2026-05-07T10:00:00", {"model": "gpt", "provider": "openai", "status_code": 500}),
            ("2026-06-01T00:00:00", {}),
            ("2026-06-02T10:00:00", {"model": "gpt", "provider": "openai", "status_code": 500}),
        ):
            row: dict[str, Any] = {
                "model": "sonnet",
                "provider": "anthropic",
                "error_type": "RateLimitError",
            }
            ledger.failure("s", at, **(row | columns))
    return path


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ({}, [8, 9]),
        ({"status_codes": (429,)}, [5, 7, 8, 9]),
        ({"status_codes": (None,)}, [1, 2, 3, 4, 6, 7, 8, 9]),
        ({"status_codes": (None, 500)}, [1, 2, 3, 4, 6, 8, 9]),
        ({"error_types": ("Timeout",)}, [1, 2, 4, 5, 6, 7, 8, 9]),
        ({"error_types": ("Timeout", "' or 1=1 --")}, [1, 2, 4, 5, 6, 7, 8, 9]),
        ({"model": "gpt"}, [1, 2, 3, 4, 5, 6, 8, 9]),
        ({"provider": "anthropic"}, [6, 7, 8, 9]),
        (
            {"model": "sonnet", "provider": "openrouter", "status_codes": (429,)},
            [1, 2, 3, 4, 5, 7, 8, 9],
        ),
        ({"model": ""}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        # One of each group: 8 and 9 are the newest of theirs, so only lone 5 and 6 gain by it.
        ({"keep_last": 1}, [5, 6, 8, 9]),
        # The group of 8 is 8, 4, 3, 2, 1; that of 9 is 9, 7.
        ({"keep_last": 3}, [3, 4, 5, 6, 7, 8, 9]),
        ({"keep_last": 100}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        # The group is counted whole: 8 and 4 are kept, so the Timeout, third newest, may go.
        ({"keep_last": 2, "error_types": ("Timeout",)}, [1, 2, 4, 5, 6, 7, 8, 9]),
        ({"keep_last": 3, "error_types": ("Timeout",)}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ({"keep_last": 1, "model": "gpt"}, [1, 2, 3, 4, 5, 6, 8, 9]),
    ],
)
def test_a_rule_takes_what_it_says(path: Path, filters: dict[str, Any], left: list[int]) -> None:
    rule = PruneRule(JUNE, **filters)
    with closing(sqlite3.connect(path)) as connection:
        seen = preview(connection, rule)
        assert ids(path) == [1, 2, 3, 4, 5, 6, 7, 8, 9]

    done = prune(path, rule)

    assert ids(path) == left
    assert (done.deleted, done.remaining) == (9 - len(left), len(left))
    assert (seen.total, seen.remaining) == (done.deleted, done.remaining)
    assert seen.oldest_remaining == done.oldest_remaining
    assert sum(group.rows for group in seen.groups) == seen.total


def test_a_preview_counts_by_model_provider_and_status(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        seen = preview(connection, PruneRule(JUNE, keep_last=1))
    assert seen == Preview(
        groups=(
            PreviewGroup("sonnet", "anthropic", 429, 4),
            PreviewGroup("gpt", "openai", 500, 1),
        ),
        total=5,
        remaining=4,
        oldest_remaining="2026-05-05T10:00:00.000000+00:00",
    )


def test_a_preview_of_an_empty_table(tmp_path: Path) -> None:
    with closing(memory()) as connection:
        assert preview(connection, PruneRule(JUNE)) == Preview((), 0, 0, None)


def memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    _ensure_schema(connection)
    return connection


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    with closing(memory()) as connection:
        yield connection


STATUSES = st.sampled_from([None, 429, 500])
TYPES = st.sampled_from(["Timeout", "RateLimitError", ""])
MODELS = st.sampled_from(["", "m", "n"])
TIMES = st.sampled_from(
    [
        f"2026-05-{day}T10:00:00{fraction}+00:00"
        for day in ("30", "31")
        for fraction in ("", ".000000", ".5")
    ]
    + [f"{JUNE}+00:00", f"{JUNE}.000000+00:00", "2026-06-01T00:00:01.000000+00:00"]
)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(TIMES, MODELS, MODELS, STATUSES, TYPES), max_size=40),
    statuses=st.none() | st.lists(STATUSES, min_size=1, max_size=2),
    types=st.none() | st.lists(TYPES, min_size=1, max_size=2),
    model=st.none() | MODELS,
    provider=st.none() | MODELS,
    keep_last=st.integers(0, 4),
)
def test_any_rule_leaves_what_each_row_judged_by_itself_would_leave(
    connection: sqlite3.Connection,
    rows: list[tuple[Any, ...]],
    statuses: list[int | None] | None,
    types: list[str] | None,
    model: str | None,
    provider: str | None,
    keep_last: int,
) -> None:
    connection.execute("delete from llm_call_errors")
    connection.executemany(
        "insert into llm_call_errors (session_id, ts, model, provider, status_code, error_type)"
        " values ('s', ?, ?, ?, ?, ?)",
        rows,
    )
    expected = to_stay(connection, JUNE, keep_last, statuses, types, model, provider)
    rule = PruneRule(JUNE, tuple(statuses or ()), tuple(types or ()), model, provider, keep_last)

    seen = preview(connection, rule)
    pruning = Pruning(connection, rule)
    while not pruning.finished:
        pruning.chunk(connection)

    left = connection.execute("select id, ts from llm_call_errors order by id").fetchall()
    assert [id for id, _ in left] == expected
    assert seen.total == pruning.deleted == len(rows) - len(expected)
    assert seen.oldest_remaining == min((ts for _, ts in left), default=None)
