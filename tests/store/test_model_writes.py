"""What the ledger keeps about models: free ones, the first that cost, the host's tariffs."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.store.connection import Ledger
from hermes_telemetry.store.writes import Write

JULY = "2026-07-01T12:00:00.000000+00:00"
AUGUST = "2026-08-01T12:00:00.000000+00:00"

TARIFF: dict[str, Any] = {
    "provider": "deepseek",
    "model": "deepseek-chat",
    "input_cost_per_million": 0.28,
    "output_cost_per_million": 0.42,
    "cache_read_cost_per_million": 0.028,
    "cache_write_cost_per_million": None,
    "request_cost": None,
    "source": "docs",
    "source_url": "https://example.org/prices",
    "pricing_version": None,
    "fetched_at": JULY,
    "captured_at": JULY,
    "base_url": None,
    "api_mode": None,
    "resolved_model": None,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "telemetry.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    ledger = Ledger(path)
    yield ledger
    ledger.close()


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_a_free_model_keeps_the_time_at_which_it_was_first_seen(ledger: Ledger, path: Path) -> None:
    for ts in (JULY, AUGUST):
        free = {"model": "m:free", "provider": "openrouter", "ts": ts}
        ledger.apply([Write("record_free_model", free)])
    assert rows(path, "select * from known_free_models") == [("m:free", "openrouter", JULY)]


def test_only_the_first_flip_of_a_model_is_kept(ledger: Ledger, path: Path) -> None:
    def flip(session_id: str, cost: float) -> Write:
        return Write(
            "record_free_paid_transition",
            {
                "model": "m",
                "provider": "p",
                "session_id": session_id,
                "first_paid_cost_usd": cost,
                "first_free_seen_at": JULY,
                "ts": AUGUST,
            },
        )

    assert ledger.apply([flip("first", 0.5)]) == [True]
    assert ledger.apply([flip("second", 0.7)]) == [False]
    assert rows(path, "select * from free_paid_transitions") == [
        ("m", "p", AUGUST, "first", 0.5, JULY)
    ]


def test_a_model_that_is_gone_again_is_seen_once_more_and_said_to_be_gone_as_at_first(
    ledger: Ledger, path: Path
) -> None:
    def gone(ts: str, code: int, message: str) -> None:
        alert = {
            "model": "m",
            "provider": "p",
            "error_code": code,
            "error_message": message,
            "ts": ts,
        }
        ledger.apply([Write("record_model_unavailable", alert)])

    gone(JULY, 404, "no such model")
    gone(AUGUST, 410, "never heard of it")
    gone(JULY, 404, "out of the spill file, where it waited")
    assert rows(path, "select * from model_unavailable_alerts") == [
        ("m", "p", 404, "no such model", JULY, AUGUST, 3)
    ]


def test_of_what_a_provider_says_of_a_model_that_is_gone_500_characters_are_kept(
    ledger: Ledger, path: Path
) -> None:
    alert = {"model": "m", "provider": "p", "error_code": 404, "ts": JULY}
    ledger.apply([Write("record_model_unavailable", {**alert, "error_message": "é" * 501})])
    assert rows(path, "select error_message from model_unavailable_alerts") == [("é" * 500,)]


@pytest.mark.parametrize(
    "change",
    [
        {"input_cost_per_million": 0.3},
        {"output_cost_per_million": 0.5},
        {"cache_read_cost_per_million": None},
        {"cache_write_cost_per_million": 0.28},
        {"request_cost": 0.001},
        {"source": "api"},
        {"pricing_version": "2026-08"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_tariff_is_news_when_a_rate_its_source_or_its_version_changed(
    ledger: Ledger, path: Path, change: dict[str, Any]
) -> None:
    def capture(**fields: Any) -> bool:
        results = ledger.apply([Write("record_pricing_snapshot", TARIFF | fields)])
        assert results is not None
        return bool(results[0])

    assert capture() is True
    assert capture(captured_at=AUGUST, fetched_at=AUGUST, source_url=None) is False
    assert capture(captured_at=AUGUST, **change) is True
    # Back to what it was: the newest row is what counts.
    assert capture() is True
    assert len(rows(path, "select id from pricing_snapshots")) == 3


def test_tariffs_of_two_providers_are_kept_apart(ledger: Ledger, path: Path) -> None:
    ledger.apply(
        [
            Write("record_pricing_snapshot", TARIFF),
            Write("record_pricing_snapshot", TARIFF | {"provider": "openrouter"}),
            Write("record_pricing_snapshot", TARIFF),
        ]
    )
    assert rows(path, "select provider from pricing_snapshots order by id") == [
        ("deepseek",),
        ("openrouter",),
    ]
