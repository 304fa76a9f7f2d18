"""Disk full, database full, directory closed: no hook raises, no record is lost uncounted."""

import os
import resource
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hermes_telemetry.paths import database_path, pricing_path
from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store import spill
from hermes_telemetry.store.connection import Ledger
from hermes_telemetry.store.files import NotALedgerError, open_ledger
from hermes_telemetry.store.migrations import migrate
from hermes_telemetry.store.writes import Write
from hermes_telemetry.windows import SYSTEM_CLOCK
from support.hook_payloads import PRICES, answered, tool_done
from support.ledger_facts import (
    api_request_ids,
    ask_ledger,
    dropped_records,
    faults,
    waiting_files,
)
from support.processes import fork

CALLS = 200
NOBODY = 65534

Fire = Callable[[str, int], None]


def start_recorder(home: Path, caplog: pytest.LogCaptureFixture) -> Fire:
    """A recorder whose hooks say it aloud when they fail."""
    hooks = Recorder(home).hooks()

    def fire(session: str, number: int) -> None:
        hooks["post_tool_call"](**tool_done(session, number))
        hooks["post_api_request"](**answered(session, number))
        assert "was not recorded" not in caplog.text

    return fire


def limit_files(size: int) -> None:
    """No file of this process grows beyond ``size`` bytes: the disk is full."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))


def lift_limit() -> None:
    limit_files(resource.RLIM_INFINITY)


def tool_rows(path: Path, session: str) -> list[str]:
    """A session's tool rows in the order in which they came in."""
    return [
        tool_call_id
        for (tool_call_id,) in ask_ledger(
            path, "select tool_call_id from tool_calls where session_id = ? order by id", session
        )
    ]


def in_order(session: str, calls: int = CALLS) -> list[str]:
    return [tool_done(session, number)["tool_call_id"] for number in range(calls)]


def has_calls_once(path: Path, session: str, calls: int = CALLS) -> bool:
    wanted = sorted(answered(session, number)["api_request_id"] for number in range(calls))
    return [name for name in api_request_ids(path) if name.startswith(session)] == wanted


@pytest.mark.parametrize(
    ("limit", "ledger_is_open"),
    [
        pytest.param(1_000_000, True, id="the spill file takes what the ledger does not"),
        pytest.param(20_000, True, id="the spill file takes a little"),
        pytest.param(20_000, False, id="the disk is full when the recorder starts"),
        pytest.param(0, False, id="not a byte is free"),
    ],
)
def test_after_a_full_disk_every_call_is_there(
    limit: int, ledger_is_open: bool, home: Path, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def outlive_a_full_disk() -> None:
        fire = start_recorder(home, caplog)
        if ledger_is_open:
            # Until it holds as much as the disk will: not a page more goes in.
            number = 0
            while size_of_log(path) < limit:
                fire("before", number)
                number += 1
        limit_files(limit)
        for number in range(CALLS):
            fire("full", number)
        assert "the ledger takes no records" in caplog.text
        lift_limit()
        fire("after", 0)

    assert fork(outlive_a_full_disk) == 0

    assert tool_rows(path, "full") == in_order("full")
    assert has_calls_once(path, "full")
    assert tool_rows(path, "after") == in_order("after", 1)
    assert dropped_records(path) == 0
    assert waiting_files(path) == []
    assert not path.with_name("telemetry.spill.rejected").exists()
    assert faults(path) == []


def test_what_the_memory_cannot_hold_is_counted(
    home: Path, path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spill, "MEMORY_LINES", 150)

    def outlive_a_full_disk() -> None:
        fire = start_recorder(home, caplog)
        limit_files(0)
        for number in range(CALLS):
            fire("full", number)
        lift_limit()
        fire("after", 0)
        fire("after", 1)

    assert fork(outlive_a_full_disk) == 0

    # 400 hooks fired, the first 150 could be kept: 75 calls and 75 tool calls.
    assert tool_rows(path, "full") == in_order("full", 75)
    assert has_calls_once(path, "full", 75)
    assert dropped_records(path) == 400 - 150
    assert tool_rows(path, "after") == in_order("after", 2)
    assert faults(path) == []


def test_after_a_full_database_every_record_is_there(path: Path) -> None:
    ledger = Ledger(path)
    connection = ledger._get_conn(SYSTEM_CLOCK.monotonic() + 1)
    [(pages,)] = connection.execute("pragma page_count").fetchall()
    connection.execute(f"pragma max_page_count = {pages}")

    taken = [ledger.apply([tool_row("full", number)]) for number in range(CALLS)]

    assert None in taken, "the database was never full"
    connection.execute("pragma max_page_count = 1073741823")
    assert ledger.apply([tool_row("after", 0)]) is not None
    ledger.close()
    assert tool_rows(path, "full") == in_order("full")
    assert tool_rows(path, "after") == in_order("after", 1)
    assert waiting_files(path) == []
    assert faults(path) == []


@pytest.fixture
def home_of_nobody() -> Iterator[Path]:
    """A telemetry home that belongs to an unprivileged user (root writes into any directory)."""
    # pytest's own directories are closed to other users.
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        home = Path(root) / "telemetry"
        home.mkdir()
        pricing_path(home).write_text(PRICES, encoding="utf-8")
        if os.geteuid() == 0:
            os.chown(home, NOBODY, NOBODY)
        yield home
        home.chmod(0o755)


def become_nobody() -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def test_a_spill_file_that_cannot_become_a_batch_keeps_every_record_once(
    home_of_nobody: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spill, "BATCH_BYTES", 10_000)
    path = database_path(home_of_nobody)
    spill_file = home_of_nobody / "telemetry.spill.ndjson"

    def outlive_a_closed_directory() -> None:
        become_nobody()
        spill_file.touch()
        home_of_nobody.chmod(0o555)
        fire = start_recorder(home_of_nobody, caplog)
        for number in range(CALLS):
            fire("closed", number)
        assert spill_file.stat().st_size > 10_000
        home_of_nobody.chmod(0o755)
        fire("after", 0)

    assert fork(outlive_a_closed_directory) == 0

    assert tool_rows(path, "closed") == in_order("closed")
    assert tool_rows(path, "after") == in_order("after", 1)


@pytest.mark.parametrize("ledger", ["made before", "not made yet"])
def test_after_a_read_only_directory_every_call_is_there(
    ledger: str, home_of_nobody: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = database_path(home_of_nobody)

    def make_ledger() -> None:
        become_nobody()
        start_recorder(home_of_nobody, caplog)("before", 0)

    def outlive_a_closed_directory() -> None:
        become_nobody()
        fire = start_recorder(home_of_nobody, caplog)
        for number in range(CALLS):
            fire("closed", number)
        with pytest.raises(PermissionError):
            (home_of_nobody / "anything").touch()
        home_of_nobody.chmod(0o755)
        if path.exists():
            path.chmod(0o644)
        fire("after", 0)

    if ledger == "made before":
        assert fork(make_ledger) == 0
        path.chmod(0o444)
    home_of_nobody.chmod(0o555)
    assert fork(outlive_a_closed_directory) == 0

    assert tool_rows(path, "closed") == in_order("closed")
    assert has_calls_once(path, "closed")
    assert tool_rows(path, "after") == in_order("after", 1)
    assert dropped_records(path) == 0
    assert faults(path) == []


def tool_row(session: str, number: int) -> Write:
    return Write(
        "record_tool_call",
        {
            "session_id": session,
            "ts": "2026-07-01T12:00:00.000000+00:00",
            "tool_name": "terminal",
            "ok": 1,
            "latency_ms": 12,
            "tool_call_id": f"{session}/{number}",
        },
    )


def size_of_log(path: Path) -> int:
    log = path.with_name(path.name + "-wal")
    return log.stat().st_size if log.exists() else 0


def test_a_whole_ledger_in_a_closed_directory_is_read(home_of_nobody: Path) -> None:
    path = database_path(home_of_nobody)
    migrate(path)

    def read() -> None:
        home_of_nobody.chmod(0o555)
        become_nobody()
        with closing(open_ledger(path)) as connection:
            assert connection.execute("select count(*) from runs").fetchone() == (0,)

    assert fork(read) == 0


def test_a_ledger_whose_log_cannot_be_read_says_so_and_gives_no_old_numbers(
    home_of_nobody: Path,
) -> None:
    path = database_path(home_of_nobody)
    migrate(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("insert into runs (session_id, started_at) values ('s', 't')")
        connection.commit()
        left_behind = path.with_name("copy.db")
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", f"{left_behind}{end}")
            os.chmod(f"{left_behind}{end}", 0o444)

    def read() -> None:
        home_of_nobody.chmod(0o555)
        become_nobody()
        with pytest.raises(NotALedgerError, match=r"copy\.db-wal needs a folder .* written"):
            open_ledger(left_behind)

    assert fork(read) == 0
