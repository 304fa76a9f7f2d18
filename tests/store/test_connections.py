"""How a ledger is opened: by one thread at a time."""

import gc
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.store import migrations
from hermes_telemetry.store.connection import Ledger
from hermes_telemetry.store.writes import Write
from support.ledger_facts import ask_ledger
from support.processes import PATIENCE_S

LONG_NAME = "t" * 500


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "telemetry.db"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    ledger = Ledger(path)
    yield ledger
    ledger.close()


def tool_rows(rows: int) -> list[Write]:
    row = {"session_id": "s", "ts": "t", "tool_name": LONG_NAME, "ok": 1, "latency_ms": 1}
    return [Write("record_tool_call", row)] * rows


def test_threads_prepare_a_new_ledger_one_after_the_other(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = threading.Semaphore(1)
    met: list[bool] = []
    another_is_there = threading.Event()
    ensure_schema: Callable[..., list[int]] = migrations._ensure_schema

    def ensure_slowly(*arguments: Any) -> list[int]:
        met.append(not inside.acquire(blocking=False))
        if met[-1]:
            another_is_there.set()
        else:
            another_is_there.wait(0.1)
            inside.release()
        return ensure_schema(*arguments)

    monkeypatch.setattr(migrations, "_ensure_schema", ensure_slowly)
    start = threading.Barrier(3)

    def write() -> None:
        start.wait(PATIENCE_S)
        ledger.apply(tool_rows(1))
        ledger.close()

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)

    assert met == [False, False, False]
    ledger.apply(tool_rows(1))
    assert ask_ledger(path, "select count(*) from tool_calls") == [(4,)]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system lists no open files")
def test_a_thread_that_ends_leaves_no_file_open(ledger: Ledger) -> None:
    ledger.apply(tool_rows(1))
    before = len(os.listdir("/proc/self/fd"))
    gc.disable()  # as in a large process, where a full collection is rare
    try:
        for _ in range(5):
            thread = threading.Thread(target=ledger.apply, args=(tool_rows(1),))
            thread.start()
            thread.join(PATIENCE_S)
        # SQLite keeps the file of a connection that closes beside another for the next one.
        assert len(os.listdir("/proc/self/fd")) <= before + 2
    finally:
        gc.enable()


def test_the_log_stays_where_each_turn_has_a_thread_of_its_own(ledger: Ledger, path: Path) -> None:
    logs = set()
    for _ in range(5):
        thread = threading.Thread(target=ledger.apply, args=(tool_rows(1),))
        thread.start()
        thread.join(PATIENCE_S)
        logs.add(path.with_name(path.name + "-wal").stat().st_ino)
    assert len(logs) == 1
