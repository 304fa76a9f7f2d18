"""A long outage leaves thousands of records: they come in by portions, in order, none twice."""

import threading
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store import spill
from support.hook_payloads import tool_done
from support.ledger_facts import (
    ask_ledger,
    dropped_records,
    faults,
    marked_batches,
    waiting_files,
)
from support.locks import write_transaction_elsewhere
from support.processes import fork
from support.stopped_clock import StoppedClock

RECORDS = 2000


class Host:
    """A recorder whose time passes when it sleeps, and also, if told so, whenever it looks."""

    def __init__(self, home: Path) -> None:
        self._time = StoppedClock()
        self.look_s = 0.0
        stopped = self._time.clock
        clock = type(stopped)(now=stopped.now, monotonic=self._look, sleep=stopped.sleep)
        self._hooks = Recorder(home, clock=clock).hooks()

    def fire(self, hook: str, **payload: Any) -> None:
        self._hooks[hook](**payload)

    def tools_done(self, session: str, numbers: range) -> None:
        for number in numbers:
            self.fire("post_tool_call", **tool_done(session, number))

    def _look(self) -> float:
        # The thread that reads the price files looks too, and at times of its own.
        if threading.current_thread() is threading.main_thread():
            self._time.advance(self.look_s)
        return self._time.seconds


@pytest.fixture
def ledger(home: Path, path: Path) -> Path:
    """A ledger exists."""
    assert fork(lambda: Host(home).tools_done("before", range(1))) == 0
    return path


@pytest.fixture
def no_spill_file(home: Path) -> Path:
    """Where the spill file should be there is a folder: records wait in memory."""
    folder = home / "telemetry.spill.ndjson"
    folder.mkdir()
    return folder


def rows(path: Path, session: str) -> list[str]:
    """A session's tool rows in the order in which they came in."""
    found = ask_ledger(
        path, "select tool_call_id from tool_calls where session_id = ? order by id", session
    )
    return [tool_call_id for (tool_call_id,) in found]


def in_order(session: str, records: int) -> list[str]:
    return [tool_done(session, number)["tool_call_id"] for number in range(records)]


def test_the_spill_file_comes_in_as_several_batches(
    ledger: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spill, "BATCH_BYTES", 50_000)
    with write_transaction_elsewhere(ledger):
        assert fork(lambda: Host(home).tools_done("outage", range(RECORDS))) == 0
    batches = len(waiting_files(ledger))
    assert batches > 5

    host = Host(home)
    host.look_s = 0.05
    host.tools_done("after", range(1))
    # A hook goes on for a quarter of a second and leaves the rest to the next.
    assert 0 < len(rows(ledger, "outage")) < RECORDS
    host.tools_done("after", range(1, 20))

    assert rows(ledger, "outage") == in_order("outage", RECORDS)
    assert rows(ledger, "after") == in_order("after", 20)
    assert marked_batches(ledger) == batches
    assert waiting_files(ledger) == []
    assert faults(ledger) == []


def test_a_session_that_ends_while_its_turn_still_waits_has_ended(
    ledger: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spill, "BATCH_BYTES", 50_000)
    host = Host(home)
    with write_transaction_elsewhere(ledger):
        host.tools_done("outage", range(RECORDS))
        host.fire("pre_llm_call", session_id="s", turn_id="t")

    host.look_s = 0.05
    host.fire("on_session_end", session_id="s", turn_id="t", completed=True, interrupted=False)
    assert ask_ledger(ledger, "select * from runs where session_id = 's'") == []
    host.tools_done("after", range(20))

    assert ask_ledger(ledger, "select status from runs where session_id = 's'") == [("ok",)]
    assert waiting_files(ledger) == []


def test_what_waits_in_memory_comes_in_by_portions(
    ledger: Path, home: Path, no_spill_file: Path
) -> None:
    host = Host(home)
    with write_transaction_elsewhere(ledger):
        host.tools_done("outage", range(RECORDS))

    host.look_s = 0.05
    host.tools_done("after", range(1))
    assert 0 < len(rows(ledger, "outage")) < RECORDS
    host.tools_done("after", range(1, 5))

    assert rows(ledger, "outage") == in_order("outage", RECORDS)
    assert rows(ledger, "after") == in_order("after", 5)
    assert dropped_records(ledger) == 0


def test_what_waits_in_memory_is_on_disk_as_soon_as_the_disk_takes_it(
    ledger: Path, home: Path, no_spill_file: Path
) -> None:
    def outlive_the_disk_s_fault_and_leave() -> None:
        host = Host(home)
        host.tools_done("outage", range(RECORDS))
        no_spill_file.rmdir()
        host.tools_done("room again", range(1))

    with write_transaction_elsewhere(ledger):
        assert fork(outlive_the_disk_s_fault_and_leave) == 0

    Host(home).tools_done("after", range(1))

    assert rows(ledger, "outage") == in_order("outage", RECORDS)
    assert rows(ledger, "room again") == in_order("room again", 1)
    assert rows(ledger, "after") == in_order("after", 1)
