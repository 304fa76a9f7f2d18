"""Records that wait beside the ledger: they come in once and in order, whatever lies among them."""

import signal
import sqlite3
import threading
from pathlib import Path

import pytest

from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store.connection import Ledger
from hermes_telemetry.store.health import examine
from support.hook_payloads import answered, tool_done
from support.ledger_facts import ask_ledger, marked_batches, tool_call_ids, waiting_files
from support.locks import write_transaction_elsewhere
from support.processes import PATIENCE_S, fork, run, running
from support.stopped_clock import StoppedClock

SIGNALLED = """
import sys
from hermes_telemetry.recorder import Recorder
from support.hook_payloads import tool_done

print("ready", flush=True)
sys.stdin.readline()
Recorder().hooks()["post_tool_call"](**tool_done(sys.argv[1], 0))
"""

PAUSES_BEFORE_THE_REMOVAL = """
import sys
from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store.spill import Spill
from support.hook_payloads import tool_done

def pause(*arguments):
    print("committed", flush=True)
    sys.stdin.readline()
    discard(*arguments)

discard, Spill.discard = Spill.discard, pause
Recorder().hooks()["post_tool_call"](**tool_done(sys.argv[1], 0))
"""

DIES_BEHIND_THE_COMMIT = """
import os, signal
from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store.spill import Spill
from support.hook_payloads import tool_done

Spill.discard = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
Recorder().hooks()["post_tool_call"](**tool_done("never", 0))
"""

DAMAGED = [
    pytest.param(b'{"at": "2026-07-01T12:00:00.000000+00:00", "wri', id="cut in half"),
    pytest.param(b"not JSON", id="not JSON"),
    pytest.param(b"\0" * 100, id="zeros"),
    pytest.param(b"\xff\xfe", id="not UTF-8"),
    pytest.param(b"null", id="nothing"),
    pytest.param(b"[]", id="not a record"),
    pytest.param(b"[" * 100_000, id="nested without end"),
    pytest.param(b'{"writes": [["record_tool_call"]]}', id="without fields"),
    pytest.param(b'{"writes": [["drop_everything", {}]]}', id="unknown write"),
    pytest.param(b'{"writes": [["record_tool_call", {"a": 1}]]}', id="unknown fields"),
    pytest.param(
        b'{"writes": [["start_edge", {"child_session_id": "s", "parent_session_id": null,'
        b' "ts": ""}]]}',
        id="missing value",
    ),
    pytest.param(
        b'{"writes": [["touch_run", {"session_id": "s", "ts": {"a": 1}}]]}', id="wrong kind"
    ),
    pytest.param(
        b'{"writes": [["touch_run", {"session_id": 99999999999999999999, "ts": ""}]]}',
        id="too large a number",
    ),
]


def record_spilled(home: Path, session: str, numbers: range) -> None:
    """Record tool calls in another process while the ledger is locked."""

    def record() -> None:
        hooks = Recorder(home, clock=StoppedClock().clock).hooks()
        for number in numbers:
            hooks["post_tool_call"](**tool_done(session, number))

    assert fork(record) == 0


def write_once(home: Path, session: str) -> None:
    hooks = Recorder(home).hooks()
    assert fork(lambda: hooks["post_tool_call"](**tool_done(session, 0))) == 0


def ids(session: str, numbers: range) -> list[str]:
    return sorted(tool_done(session, number)["tool_call_id"] for number in numbers)


def rejected(home: Path) -> list[bytes]:
    file = home / "telemetry.spill.rejected"
    return file.read_bytes().splitlines() if file.exists() else []


@pytest.fixture
def spill_file(home: Path) -> Path:
    """A ledger exists, and nothing waits."""
    write_once(home, "before")
    return home / "telemetry.spill.ndjson"


@pytest.mark.parametrize("damaged", DAMAGED)
def test_a_damaged_line_is_set_aside_and_the_others_come_in(
    damaged: bytes, spill_file: Path, home: Path, path: Path
) -> None:
    with write_transaction_elsewhere(path):
        record_spilled(home, "s", range(2))
        with spill_file.open("ab") as file:
            file.write(damaged + b"\n")
        record_spilled(home, "s", range(2, 4))

    write_once(home, "after")

    assert tool_call_ids(path) == ["after/0", "before/0", "s/0", "s/1", "s/2", "s/3"]
    assert len(rejected(home)) == 1
    if damaged.isascii():
        assert rejected(home) == [damaged]
    assert waiting_files(path) == []
    assert ask_ledger(path, "select session_id from runs order by 1") == [
        ("after",),
        ("before",),
        ("s",),
    ]


def test_a_record_behind_half_a_record_comes_in(spill_file: Path, home: Path, path: Path) -> None:
    with write_transaction_elsewhere(path):
        record_spilled(home, "s", range(1))
        half = spill_file.read_bytes()[:50]
        with spill_file.open("ab") as file:
            file.write(half)  # as a kill in the middle of a write leaves it
        record_spilled(home, "s", range(1, 2))

    write_once(home, "after")

    assert tool_call_ids(path) == ["after/0", "before/0", "s/0", "s/1"]
    assert rejected(home) == [half]


def test_half_a_record_at_the_end_is_set_aside(spill_file: Path, home: Path, path: Path) -> None:
    with write_transaction_elsewhere(path):
        record_spilled(home, "s", range(2))
        whole = spill_file.read_bytes()
        spill_file.write_bytes(whole[:-20])

    write_once(home, "after")

    assert tool_call_ids(path) == ["after/0", "before/0", "s/0"]
    assert rejected(home) == [whole.splitlines()[1][:-19]]


def test_a_damaged_line_is_set_aside_though_the_process_dies_behind_the_commit(
    spill_file: Path, home: Path, path: Path
) -> None:
    spill_file.write_bytes(b"damaged\n")

    assert run(DIES_BEHIND_THE_COMMIT) == -signal.SIGKILL
    write_once(home, "after")

    assert rejected(home) == [b"damaged"]
    assert waiting_files(path) == []


def test_what_is_set_aside_is_for_nobody_else_to_read(spill_file: Path, home: Path) -> None:
    spill_file.write_bytes(b"damaged\n")
    write_once(home, "after")
    assert (home / "telemetry.spill.rejected").stat().st_mode & 0o777 == 0o600


def test_a_batch_that_cannot_be_removed_comes_in_once_and_holds_up_no_other(
    spill_file: Path, home: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for session in ("one", "two"):
        with write_transaction_elsewhere(path):
            record_spilled(home, session, range(2))
        spill_file.rename(spill_file.with_name(f"telemetry.spill.{session}.ndjson"))
    unlink = Path.unlink

    def refuse(file: Path, missing_ok: bool = False) -> None:
        if ".one." in file.name:
            raise PermissionError(1, "a sticky folder", str(file))
        unlink(file, missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    for process in ("a", "b"):
        write_once(home, process)

    assert tool_call_ids(path) == ["a/0", "b/0", "before/0", "one/0", "one/1", "two/0", "two/1"]
    assert waiting_files(path) == ["telemetry.spill.one.ndjson"]
    assert marked_batches(path) == 2


def test_two_processes_with_the_same_batch_bring_it_in_once(
    spill_file: Path, home: Path, path: Path
) -> None:
    with write_transaction_elsewhere(path):
        record_spilled(home, "s", range(100))
        with spill_file.open("ab") as file:
            file.write(b"damaged\n")

    with running(PAUSES_BEFORE_THE_REMOVAL, "slow") as slow:
        assert slow.hear() == "committed"
        write_once(home, "quick")
        slow.say()
        assert slow.end() == 0

    everything = ids("s", range(100)) + ["before/0", "quick/0", "slow/0"]
    assert tool_call_ids(path) == sorted(everything)
    assert rejected(home) == [b"damaged"]
    assert marked_batches(path) == 1
    assert waiting_files(path) == []


def test_processes_that_find_the_same_records_at_once_bring_them_in_once(
    spill_file: Path, home: Path, path: Path
) -> None:
    with write_transaction_elsewhere(path):
        record_spilled(home, "s", range(400))

    with (
        running(SIGNALLED, "a") as first,
        running(SIGNALLED, "b") as second,
        running(SIGNALLED, "c") as third,
    ):
        for process in (first, second, third):
            assert process.hear() == "ready"
        for process in (first, second, third):
            process.say()
        assert [process.end() for process in (first, second, third)] == [0, 0, 0]

    write_once(home, "after")
    everything = ids("s", range(400)) + ["a/0", "after/0", "b/0", "before/0", "c/0"]
    assert tool_call_ids(path) == sorted(everything)


def test_threads_that_find_the_same_records_at_once_bring_them_in_once(
    spill_file: Path, home: Path, path: Path
) -> None:
    with write_transaction_elsewhere(path):
        record_spilled(home, "s", range(400))

    def record_in_four_threads() -> None:
        hooks = Recorder(home).hooks()
        start = threading.Barrier(4)

        def record(number: int) -> None:
            start.wait(PATIENCE_S)
            hooks["post_tool_call"](**tool_done("threads", number))

        threads = [threading.Thread(target=record, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)

    assert fork(record_in_four_threads) == 0

    write_once(home, "after")
    everything = ids("s", range(400)) + ids("threads", range(4)) + ["after/0", "before/0"]
    assert tool_call_ids(path) == sorted(everything)


def test_a_session_that_ends_in_the_spill_file_has_ended(
    spill_file: Path, home: Path, path: Path
) -> None:
    def live_and_die() -> None:
        hooks = Recorder(home, clock=StoppedClock().clock).hooks()
        hooks["on_session_start"](session_id="s", platform="cli", model="fake-model")
        hooks["post_api_request"](**answered("s", 1))
        hooks["on_session_end"](session_id="s", turn_id="t", completed=True, interrupted=False)

    with write_transaction_elsewhere(path):
        assert fork(live_and_die) == 0

    write_once(home, "after")

    assert ask_ledger(
        path, "select status, api_calls, platform from runs where session_id = 's'"
    ) == [("ok", 1, "cli")]


def test_a_command_that_cannot_bring_records_in_says_so(
    spill_file: Path, home: Path, path: Path
) -> None:
    with write_transaction_elsewhere(path):
        record_spilled(home, "s", range(1))
        ledger = Ledger(path, clock=StoppedClock().clock, patient=True)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            ledger.bring_in()

    ledger.bring_in()

    ledger.close()
    assert tool_call_ids(path) == ["before/0", "s/0"]


def test_doctor_counts_nothing_that_a_recorder_brings_in_meanwhile(
    spill_file: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = path.with_name("telemetry.spill.batch.ndjson")
    batch.write_text("{}\n")
    read_bytes = Path.read_bytes

    def read_too_late(file: Path) -> bytes:
        batch.unlink(missing_ok=True)
        return read_bytes(file)

    monkeypatch.setattr(Path, "read_bytes", read_too_late)
    [finding] = [finding for finding in examine(path) if finding.check == "spill"]
    assert (finding.state, finding.text) == ("ok", "no record waits beside the ledger")
