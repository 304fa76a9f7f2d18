"""Ctrl-C while a hook records: the host sees it, and the record is there once all the same."""

import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store.connection import LedgerConnection
from support.hook_payloads import tool_done
from support.ledger_facts import faults, tool_call_ids, waiting_files
from support.locks import write_transaction_elsewhere
from support.processes import fork, run
from support.stopped_clock import StoppedClock

INTERRUPTED_WHILE_IT_WAITS = """
import signal
from dataclasses import replace
from hermes_telemetry.recorder import Recorder
from hermes_telemetry.windows import SYSTEM_CLOCK
from support.hook_payloads import tool_done

signal.signal(signal.SIGINT, signal.default_int_handler)  # it may have been inherited as ignored
clock = replace(SYSTEM_CLOCK, sleep=lambda seconds: signal.raise_signal(signal.SIGINT))
Recorder(clock=clock).hooks()["post_tool_call"](**tool_done("s", 0))
"""


@contextmanager
def interrupted_behind(statement: str) -> Iterator[None]:
    """The signal comes while SQLite is at work on the statement: Python raises it afterwards."""

    def execute(connection: sqlite3.Connection, sql: str, *values: Any) -> sqlite3.Cursor:
        cursor = sqlite3.Connection.execute(connection, sql, *values)
        if " ".join(sql.split()).startswith(statement):
            raise KeyboardInterrupt
        return cursor

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LedgerConnection, "execute", execute, raising=False)
        yield


class Host:
    """A recorder that has written before."""

    def __init__(self, home: Path) -> None:
        self._hooks = Recorder(home, clock=StoppedClock().clock).hooks()
        self.tool_done(0)

    def tool_done(self, number: int) -> None:
        self._hooks["post_tool_call"](**tool_done("s", number))


def test_while_a_hook_waits_for_the_lock(home: Path, path: Path) -> None:
    assert fork(lambda: Host(home)) == 0
    with write_transaction_elsewhere(path):
        # The host sees the interrupt: it is not the recorder's to swallow.
        assert run(INTERRUPTED_WHILE_IT_WAITS) == -signal.SIGINT

    Host(home)

    assert tool_call_ids(path) == ["s/0", "s/0", "s/0"]


@pytest.mark.parametrize("statement", ["begin immediate", "insert into tool_calls", "commit"])
def test_while_a_record_is_written(statement: str, home: Path, path: Path) -> None:
    host = Host(home)
    with interrupted_behind(statement), pytest.raises(KeyboardInterrupt):
        host.tool_done(1)

    # Nobody is locked out: not this thread, not other processes.
    assert fork(lambda: Host(home)) == 0
    host.tool_done(2)

    assert tool_call_ids(path) == ["s/0", "s/0", "s/1", "s/2"]
    assert waiting_files(path) == []
    assert faults(path) == []


@pytest.mark.parametrize("statement", ["begin immediate", "insert into tool_calls", "commit"])
@pytest.mark.parametrize("place", ["in the spill file", "in memory"])
def test_while_records_come_in_that_waited(
    place: str, statement: str, home: Path, path: Path
) -> None:
    host = Host(home)
    spill_file = home / "telemetry.spill.ndjson"
    if place == "in memory":
        spill_file.mkdir()
    with write_transaction_elsewhere(path):
        host.tool_done(1)
        host.tool_done(2)

    with interrupted_behind(statement), pytest.raises(KeyboardInterrupt):
        host.tool_done(3)
    if place == "in memory":
        spill_file.rmdir()
    host.tool_done(4)

    assert tool_call_ids(path) == [f"s/{number}" for number in range(5)]
    assert waiting_files(path) == []
    assert faults(path) == []
