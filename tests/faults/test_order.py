"""What a session said last stays its last word, though its beginning waited in the spill file."""

import signal
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store import connection
from hermes_telemetry.store.spill import Batch, Spill
from support.hook_payloads import tool_done
from support.ledger_facts import ask_ledger, tool_call_ids, waiting_files
from support.locks import write_transaction_elsewhere
from support.processes import PATIENCE_S, run
from support.stopped_clock import StoppedClock

TAKES_THE_BATCH_AND_DIES = """
import os, signal
from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store import connection
from support.hook_payloads import tool_done

connection.mark_batch = lambda *arguments, **fields: os.kill(os.getpid(), signal.SIGKILL)
Recorder().hooks()["post_tool_call"](**tool_done("never", 1))
"""


class Host:
    """A recorder for whom a second passes between two hooks, on a ledger beside which nothing
    waits.
    """

    def __init__(self, home: Path) -> None:
        self._time = StoppedClock()
        self._hooks = Recorder(home, clock=self._time.clock).hooks()
        for number in range(2):
            self.tool_done(number)

    def tool_done(self, number: int) -> None:
        self._fire("post_tool_call", **tool_done("other", number))

    def turn_begins(self) -> None:
        self._fire("pre_llm_call", session_id="s", turn_id="t")

    def session_ends(self) -> None:
        self._fire("on_session_end", session_id="s", turn_id="t", completed=True)

    def _fire(self, hook: str, **payload: Any) -> None:
        self._time.advance(1)
        self._hooks[hook](**payload)


@pytest.fixture
def host(home: Path, path: Path) -> Host:
    """Its turn has begun, which waits in the spill file; the ledger is free again."""
    host = Host(home)
    with write_transaction_elsewhere(path):
        host.turn_begins()
    return host


def status(path: Path) -> list[tuple[Any, ...]]:
    return ask_ledger(path, "select status from runs where session_id = 's'")


def test_another_process_has_taken_the_spill_file_away_and_died(host: Host, path: Path) -> None:
    assert run(TAKES_THE_BATCH_AND_DIES) == -signal.SIGKILL

    host.session_ends()

    assert status(path) == [("ok",)]
    assert waiting_files(path) == []


def test_another_thread_is_still_bringing_it_in(
    home: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(home)
    with write_transaction_elsewhere(path):
        monkeypatch.setattr("hermes_telemetry.store.spill.BATCH_BYTES", 0)  # a batch a record
        host.tool_done(2)
        host.turn_begins()
    one_is_in, go_on = threading.Event(), threading.Event()
    discard: Callable[..., None] = Spill.discard

    def pause(*arguments: Any) -> None:
        one_is_in.set()
        go_on.wait(PATIENCE_S)
        discard(*arguments)

    monkeypatch.setattr(Spill, "discard", pause)
    other_thread = threading.Thread(target=lambda: host.tool_done(3))
    other_thread.start()
    assert one_is_in.wait(PATIENCE_S)

    host.session_ends()

    go_on.set()
    other_thread.join(PATIENCE_S)
    host.tool_done(4)
    assert status(path) == [("ok",)]
    assert waiting_files(path) == []


def test_the_disk_was_full_when_it_should_have_come_in(
    host: Host, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> bool:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(connection, "mark_batch", full)
        host.session_ends()

    host.tool_done(2)

    assert status(path) == [("ok",)]
    assert waiting_files(path) == []


def test_a_thread_waits_for_another_that_only_looks_and_spills_nothing(
    home: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking, go_on = threading.Event(), threading.Event()
    oldest = Spill.oldest

    def look_slowly(spill: Spill) -> Batch | None:
        looking.set()
        go_on.wait(0.05)
        return oldest(spill)

    monkeypatch.setattr(Spill, "oldest", look_slowly)
    # A process looks for what others left once a minute: here at the first hook.
    hooks = Recorder(home).hooks()
    other_thread = threading.Thread(target=lambda: hooks["post_tool_call"](**tool_done("t", 0)))
    other_thread.start()
    assert looking.wait(PATIENCE_S)

    kept = []
    monkeypatch.setattr(Spill, "keep", lambda spill, writes: kept.append(writes))
    hooks["post_tool_call"](**tool_done("t", 1))

    other_thread.join(PATIENCE_S)
    assert kept == []
    assert tool_call_ids(path) == ["t/0", "t/1"]
