"""The file is moved away or replaced, or the process forks, while a recorder has it open."""

import shutil
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store import connection
from support.hook_payloads import tool_done
from support.ledger_facts import faults, tool_call_ids, waiting_files
from support.locks import write_transaction_elsewhere
from support.processes import PATIENCE_S, fork
from support.stopped_clock import StoppedClock

ToolDone = Callable[[str], None]


def recorder(home: Path, **options: Any) -> ToolDone:
    hooks = Recorder(home, **options).hooks()
    return lambda session: hooks["post_tool_call"](**tool_done(session, 0))


def move(path: Path, folder: str) -> Path:
    """Move a ledger with what belongs to it to another folder; where it is then."""
    target = path.parent / folder
    target.mkdir()
    for file in path.parent.glob(path.name + "*"):
        file.rename(target / file.name)
    return target / path.name


def test_the_next_record_goes_to_the_file_that_the_path_names(home: Path, path: Path) -> None:
    with ThreadPoolExecutor(max_workers=1) as pool:
        main_thread = tool_done_in_pool = recorder(home)
        main_thread("main, before")
        pool.submit(tool_done_in_pool, "pool, before").result(PATIENCE_S)

        moved = move(path, "elsewhere")

        main_thread("main, after")
        pool.submit(tool_done_in_pool, "pool, after").result(PATIENCE_S)
        main_thread("main, again")
    assert tool_call_ids(path) == ["main, after/0", "main, again/0", "pool, after/0"]
    assert tool_call_ids(moved) == ["main, before/0", "pool, before/0"]
    assert faults(path) == faults(moved) == []
    assert waiting_files(path) == []


def test_a_file_moved_without_its_log_takes_its_rows_along(home: Path, path: Path) -> None:
    tool_done_here = recorder(home)
    tool_done_here("before")
    assert path.with_name(path.name + "-wal").stat().st_size > 0
    moved = path.rename(path.with_name("moved.db"))

    tool_done_here("after")

    assert tool_call_ids(moved) == ["before/0"]
    assert tool_call_ids(path) == ["after/0"]
    assert faults(path) == faults(moved) == []


def test_a_file_put_in_the_place_of_the_ledger_is_the_ledger(home: Path, path: Path) -> None:
    assert fork(lambda: recorder(home)("backup")) == 0
    backup = move(path, "backup")
    tool_done_here = recorder(home)
    tool_done_here("before")
    moved = move(path, "elsewhere")
    for file in backup.parent.iterdir():
        file.rename(home / file.name)

    tool_done_here("after")

    assert tool_call_ids(path) == ["after/0", "backup/0"]
    assert tool_call_ids(moved) == ["before/0"]


def test_a_recorder_makes_its_folder_again(home: Path, path: Path) -> None:
    tool_done_here = recorder(home)
    tool_done_here("before")
    shutil.rmtree(home)

    tool_done_here("after")

    assert tool_call_ids(path) == ["after/0"]


def test_a_forked_process_uses_a_connection_of_its_own(
    home: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool_done_here = recorder(home)
    tool_done_here("parent, before")

    def record_in_the_child() -> None:
        opened = []
        connect = sqlite3.connect
        monkeypatch.setattr(
            sqlite3, "connect", lambda *a, **k: opened.append(a) or connect(*a, **k)
        )
        tool_done_here("child")
        assert opened == [(path,)]

    assert fork(record_in_the_child) == 0

    tool_done_here("parent, after")
    assert tool_call_ids(path) == ["child/0", "parent, after/0", "parent, before/0"]
    assert faults(path) == []


def test_what_waits_in_the_memory_of_a_process_is_not_written_by_its_children(
    home: Path, path: Path
) -> None:
    assert fork(lambda: recorder(home)("first")) == 0
    tool_done_here = recorder(home, clock=StoppedClock().clock)
    with write_transaction_elsewhere(path):
        # Where the spill file should be there is a folder: nothing can be written to it.
        (home / "telemetry.spill.ndjson").mkdir()
        tool_done_here("parent")
    (home / "telemetry.spill.ndjson").rmdir()

    assert fork(lambda: tool_done_here("child")) == 0

    assert tool_call_ids(path) == ["child/0", "first/0"]
    tool_done_here("parent, after")
    assert tool_call_ids(path) == ["child/0", "first/0", "parent, after/0", "parent/0"]


def test_a_process_forked_while_a_thread_opens_the_ledger_can_record(
    home: Path, path: Path
) -> None:
    tool_done_here = recorder(home, clock=StoppedClock().clock)
    locked, enough = threading.Event(), threading.Event()

    def hold() -> None:
        with connection._schema_lock:
            locked.set()
            enough.wait(PATIENCE_S)

    holder = threading.Thread(target=hold)
    holder.start()
    assert locked.wait(PATIENCE_S)
    try:
        assert fork(lambda: tool_done_here("child")) == 0
    finally:
        enough.set()
        holder.join(PATIENCE_S)

    assert tool_call_ids(path) == ["child/0"]
