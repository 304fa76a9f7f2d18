"""A reader pins the write-ahead log while 100,000 rows are written; afterwards it is cut again."""

import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import pytest

from hermes_telemetry.store import checkpoint
from hermes_telemetry.store.connection import Ledger
from hermes_telemetry.store.writes import Write
from support.ledger_facts import ask_ledger, faults
from support.locks import reader_elsewhere

MB = 1024 * 1024
LIMIT = 64 * MB
PATIENCE_S = 60

ROWS, ROWS_A_TRANSACTION = 100_000, 50


def tool_rows() -> Iterator[Write]:
    for number in count():
        yield Write(
            "record_tool_call",
            {
                "session_id": f"session {number // 100:06}",
                "ts": f"2026-07-01T12:00:00.{number:06}+00:00",
                "tool_name": f"tool {number % 5}",
                "ok": 1,
                "latency_ms": number % 997,
                "turn_id": f"turn {number // 5:06}",
            },
        )


@pytest.mark.slow
def test_after_a_reader_has_left_the_log_is_under_64_mb_although_writing_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "PINNED_PAUSE_S", 0.01)  # the rows come that much faster
    ledger = Ledger(path)
    log = path.with_name(path.name + "-wal")
    rows = tool_rows()

    def write(transactions: int) -> None:
        for _ in range(transactions):
            assert ledger.apply(list(islice(rows, ROWS_A_TRANSACTION))) is not None

    write(1)
    with reader_elsewhere(path):
        write(ROWS // ROWS_A_TRANSACTION)
        assert log.stat().st_size > LIMIT, "the reader has pinned nothing"

    # How soon depends on how long the disk takes for a log of that length.
    transactions = 1
    until = time.monotonic() + PATIENCE_S
    while log.stat().st_size >= LIMIT and time.monotonic() < until:
        write(100)
        transactions += 100
    assert log.stat().st_size < LIMIT
    ledger.close()
    [(rows_there,)] = ask_ledger(path, "select count(*) from tool_calls")
    assert rows_there == ROWS + transactions * ROWS_A_TRANSACTION
    assert faults(path) == []
