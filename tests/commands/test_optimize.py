"""`hermes-telemetry optimize`: indexes, views, statistics, an empty log, no stale markers."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.paths import spill_path
from hermes_telemetry.store import maintenance
from hermes_telemetry.windows import timestamp
from support import old_ledger
from support.locks import reader_elsewhere, write_transaction_elsewhere
from support.rows import insert
from support.schema import V18, shape_of


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def as_another_build_made_it(tmp_path: Path) -> Path:
    return old_ledger.build(tmp_path / "foreign.db", 18)


def test_a_ledger_of_another_build_gets_what_reports_want(cli, tmp_path: Path) -> None:
    path = as_another_build_made_it(tmp_path)

    answer = cli("optimize", "--db", path)

    assert (answer.code, answer.err) == (0, "")
    made, log = answer.out.splitlines()
    assert {
        "index idx_speed_calls_ts",
        "index idx_speed_errors_group",
        "table prices_used",
        "view daily_costs_utc",
    } <= set(made.removeprefix("made: ").split(", "))
    assert log == "write-ahead log: 0 bytes"
    assert shape_of(path) == V18
    assert ("llm_calls",) in rows(path, "select distinct tbl from sqlite_stat1")
    assert cli("optimize", "--db", path).out.startswith("made: nothing")


def test_the_log_is_emptied(cli, ledger: Path) -> None:
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("pragma wal_autocheckpoint = 0")
        with connection:
            connection.execute("update llm_calls set latency_ms = 5")
        log = ledger.with_name(ledger.name + "-wal")
        assert log.stat().st_size > 0
        assert json.loads(cli("optimize", "--json", "--db", ledger).out) == {
            "file": str(ledger),
            "made": [],
            "markers_removed": 0,
            "log_bytes": 0,
            "log_emptied": True,
        }
        assert log.stat().st_size == 0


def test_markers_go_a_month_after_their_batch_came_in(cli, ledger: Path) -> None:
    waiting = spill_path(ledger).with_name("telemetry.spill.waiting.ndjson")
    waiting.write_text("")
    now = datetime.now(UTC)
    for key, days in (("old", 31), ("dropped", 31), (waiting.name, 31), ("recent", 29)):
        marker(ledger, "spill", key, now - timedelta(days=days))
    marker(ledger, "hooks", "old", now - timedelta(days=31))

    answer = cli("optimize", "--db", ledger)

    assert "removed: markers of spilled batches that came in: 1\n" in answer.out
    assert rows(
        ledger, "select cache_name, cache_key from endpoint_payload_cache order by 1, 2"
    ) == [
        ("hooks", "old"),
        ("spill", "dropped"),
        ("spill", "recent"),
        ("spill", waiting.name),
    ]


def test_a_log_that_a_reader_keeps_is_said_to_be_kept(
    cli, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "PATIENCE_S", 0.1)
    with reader_elsewhere(ledger):
        with closing(sqlite3.connect(ledger)) as writer, writer:
            writer.execute("update llm_calls set latency_ms = 5")
        answer = cli("optimize", "--db", ledger)
        told = json.loads(cli("optimize", "--json", "--db", ledger).out)
    size = told["log_bytes"]
    assert (answer.code, size > 0, told["log_emptied"]) == (0, True, False)
    assert answer.out.splitlines()[-1].endswith(
        " bytes, since a reader holds on to it: close what reads the ledger for long (a browser, a"
        f" stuck query), then run `hermes-telemetry optimize --db {ledger}` again"
    )


def marker(path: Path, name: str, key: str, built: datetime) -> None:
    insert(
        path,
        "endpoint_payload_cache",
        cache_name=name,
        cache_key=key,
        payload_json="{}",
        rows_count=1,
        built_at=timestamp(built),
    )


def test_an_older_ledger_is_sent_to_migrate(refused: Callable[..., str], tmp_path: Path) -> None:
    path = old_ledger.build(tmp_path / "v12.db", 12)
    assert f"run `hermes-telemetry migrate --db {path}` first" in refused("optimize", "--db", path)


def test_a_ledger_that_another_program_writes_is_told_as_such(
    refused: Callable[..., str], ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_telemetry.store.locking.PATIENCE_S", 0.05)  # half a minute, else
    with write_transaction_elsewhere(ledger):
        assert refused("optimize", "--db", ledger) == (
            f"hermes-telemetry optimize: the ledger {ledger} is locked by another program:"
            " try again when that is done"
        )
