"""What the ledger knows of prices: the host's tariffs, and the models seen."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.store import migrations, price_history
from hermes_telemetry.store.maintenance import open_writable
from hermes_telemetry.store.price_history import SNAPSHOT_COLUMNS, SeenPair, SeenUsage
from support.ledger import NOON, HandMadeLedger, stored
from support.ledger_facts import ask_ledger


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("blank") / "telemetry.db"
    migrations.migrate(path)
    return path


@pytest.fixture
def ledger(blank: Path, tmp_path: Path) -> Iterator[HandMadeLedger]:
    ledger = HandMadeLedger(Path(shutil.copy(blank, tmp_path)))
    yield ledger
    ledger.close()


@pytest.fixture
def connection(ledger: HandMadeLedger) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(ledger.path)) as connection:
        yield connection


def test_pairs_seen_are_summed_up_the_busiest_first(
    ledger: HandMadeLedger, connection: sqlite3.Connection
) -> None:
    ledger.call("a", 4.0, provider="q")
    ledger.call("a", 0.5, tokens_in=1, tokens_out=2, cache_read_tokens=3, cache_write_tokens=4)
    ledger.call("b", None, tokens_in=10, reasoning_tokens=5, cache_read_tokens=None)
    ledger.call("b", None, provider=None, tokens_in=None)
    ledger.call("b", None, provider="")
    ledger.call("b", 8.0, model=None)
    ledger.call("b", 8.0, model="")
    assert price_history.pairs_seen(connection) == [
        SeenPair("m", "", 2, 2, None),
        SeenPair("m", "p", 2, 1, 0.5),
        SeenPair("m", "q", 1, 0, 4.0),
    ]
    noon = stored(NOON)

    def prompt_size(model: str, provider: str, ts: str, prompt: int) -> str:
        assert ts == noon
        return "short" if prompt < 10 else "long"

    # Of 1 + 3 + 4 and of 10 tokens. The 5 of reasoning are more than the call's whole output.
    assert price_history.usage_seen(connection, prompt_size) == [
        SeenUsage("m", "", "short", 2, noon, 0, 0, 0, 0, 0, 0),
        SeenUsage("m", "p", "long", 1, noon, 10, 10, 0, 0, 0, 0),
        SeenUsage("m", "p", "short", 1, noon, 8, 1, 2, 3, 4, 0),
        SeenUsage("m", "q", "short", 1, noon, 0, 0, 0, 0, 0, 0),
    ]


def test_the_newest_snapshot_of_a_pair_is_the_one_taken_last(
    ledger: HandMadeLedger, connection: sqlite3.Connection
) -> None:
    ledger.tariff(1.0, 2.0, "2026-07-02")
    ledger.tariff(3.0, 4.0, "2026-07-01")  # came in late
    ledger.tariff(5.0, 6.0, "2026-07-01", provider="q")
    ledger.tariff(7.0, 8.0, "2026-07-01", provider="q")
    rows = price_history.newest_snapshots(connection)
    assert [(row["provider"], row["input_cost_per_million"]) for row in rows] == [
        ("p", 1.0),
        ("q", 7.0),
    ]
    assert tuple(rows[0]) == SNAPSHOT_COLUMNS
    assert rows[0]["captured_at"] == stored("2026-07-02")


def snapshot(**fields: Any) -> dict[str, Any]:
    return dict.fromkeys(SNAPSHOT_COLUMNS) | {
        "provider": "p",
        "model": "m",
        "input_cost_per_million": 1.0,
        "output_cost_per_million": 2.0,
        "captured_at": stored("2026-07-01"),
        **fields,
    }


def test_only_news_are_recorded(ledger: HandMadeLedger) -> None:
    with closing(open_writable(ledger.path)) as connection:
        rows = [snapshot(), snapshot(provider="q")]
        assert price_history.record_snapshots(connection, rows) == 2
        rows = [snapshot(), snapshot(source="list"), snapshot(provider="q", request_cost=0.5)]
        assert price_history.record_snapshots(connection, rows) == 2
    assert ask_ledger(
        ledger.path, "select provider, source, request_cost from pricing_snapshots"
    ) == [
        ("p", None, None),
        ("q", None, None),
        ("p", "list", None),
        ("q", None, 0.5),
    ]


def test_a_snapshot_that_cannot_be_written_takes_the_others_with_it(
    ledger: HandMadeLedger,
) -> None:
    with (
        closing(open_writable(ledger.path)) as connection,
        pytest.raises(sqlite3.IntegrityError),
    ):
        price_history.record_snapshots(
            connection, [snapshot(), snapshot(provider="q", captured_at=None)]
        )
    assert ask_ledger(ledger.path, "select * from pricing_snapshots") == []
