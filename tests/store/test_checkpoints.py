"""When the write-ahead log is moved into the database, and who waits for it."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_telemetry.store import checkpoint
from hermes_telemetry.store.connection import Ledger
from hermes_telemetry.store.writes import Write
from support.ledger_facts import ask_ledger
from support.locks import reader_elsewhere
from support.stopped_clock import StoppedClock
from support.threads import wait_for_threads

LONG_NAME = "t" * 500
PATIENCE_S = 10


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "telemetry.db"


@pytest.fixture
def stopped() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def ledger(path: Path, stopped: StoppedClock) -> Iterator[Ledger]:
    ledger = Ledger(path, clock=stopped.clock)
    yield ledger
    wait_for_checkpoints()
    ledger.close()


def write(ledger: Ledger, rows: int) -> None:
    row = {"session_id": "s", "ts": "t", "tool_name": LONG_NAME, "ok": 1, "latency_ms": 1}
    assert ledger.apply([Write("record_tool_call", row)] * rows) is not None


def log_size(path: Path) -> int:
    return path.with_name(path.name + "-wal").stat().st_size


def times_begun_anew(path: Path) -> int:
    """What the log counts in its own header (https://www.sqlite.org/fileformat2.html, 4.1)."""
    with path.with_name(path.name + "-wal").open("rb") as log:
        header = log.read(32)
    return int.from_bytes(header[12:16], "big")


def wait_for_checkpoints() -> None:
    wait_for_threads("telemetry-checkpoint")


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each checkpoint's mode and thread."""
    made: list[str] = []
    real = checkpoint._checkpoint

    def noted(conn: sqlite3.Connection, mode: str) -> checkpoint._Moved:
        made.append(f"{mode} by {threading.current_thread().name}")
        return real(conn, mode)

    monkeypatch.setattr(checkpoint, "_checkpoint", noted)
    return made


def test_the_log_is_moved_in_at_every_500th_commit_and_at_no_other(
    ledger: Ledger, path: Path
) -> None:
    write(ledger, 1)
    sizes = [path.stat().st_size]
    # SQLite by itself would move it in at 1000 pages, of which each of these commits fills 10.
    for _ in range(1000):
        write(ledger, 60)
        wait_for_checkpoints()
        sizes.append(path.stat().st_size)

    assert log_size(path) > 1000 * 4096
    grew = [commit for commit in range(1, 1001) if sizes[commit] > sizes[commit - 1]]
    assert grew == [499, 999]


def test_no_hook_waits_for_the_disk(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    at_work, has_written = threading.Event(), threading.Event()
    real = checkpoint._checkpoint

    def slowly(conn: sqlite3.Connection, mode: str) -> checkpoint._Moved:
        at_work.set()
        assert has_written.wait(PATIENCE_S), "the hook waits"
        return real(conn, mode)

    monkeypatch.setattr(checkpoint, "_checkpoint", slowly)
    for _ in range(600):
        write(ledger, 1)
    assert at_work.wait(PATIENCE_S)
    has_written.set()


@pytest.fixture
def ten_come_meanwhile(ledger: Ledger, tries: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint takes as long as ten commits beside it."""
    noted = checkpoint._checkpoint

    def slow(conn: sqlite3.Connection, mode: str) -> checkpoint._Moved:
        done = noted(conn, mode)
        if mode == "passive":
            for _ in range(10):
                write(ledger, 5)
        return done

    monkeypatch.setattr(checkpoint, "_checkpoint", slow)


@pytest.mark.usefixtures("ten_come_meanwhile")
def test_the_log_begins_anew_although_writing_never_pauses(
    ledger: Ledger, path: Path, tries: list[str]
) -> None:
    for _ in range(2000):
        write(ledger, 5)
        wait_for_checkpoints()

    # Each 500th commit has two checkpoints with ten commits each: the 500th, and then each 480th of
    # those made here.
    assert tries.count("restart by MainThread") == 4
    assert times_begun_anew(path) == 4
    assert ask_ledger(path, "select count(*) from tool_calls") == [(5 * (2000 + 4 * 2 * 10),)]


@pytest.mark.usefixtures("ten_come_meanwhile")
def test_a_disk_slower_than_the_writing_lets_the_log_grow_so_far_only(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "_FEW_FRAMES", 10)  # ten commits are more
    monkeypatch.setattr(checkpoint, "_LONG_BYTES", 4 * 1024 * 1024)
    begun_anew = []
    for _ in range(2000):
        write(ledger, 5)
        wait_for_checkpoints()
        begun_anew.append(times_begun_anew(path))

    # A commit fills some four pages of 4 KB: 500 are 8 MB.
    assert begun_anew[498] == 0
    assert begun_anew[-1] == 4


def test_where_writing_pauses_hooks_move_nothing(ledger: Ledger, tries: list[str]) -> None:
    for _ in range(1000):
        write(ledger, 1)
        wait_for_checkpoints()

    # Each time one that moves it all, and one that finds nothing left.
    assert tries == ["passive by telemetry-checkpoint"] * 4


def test_what_could_not_be_moved_is_moved_by_one_hook(
    ledger: Ledger, path: Path, tries: list[str]
) -> None:
    for _ in range(490):
        write(ledger, 1)
    with reader_elsewhere(path):
        for _ in range(10):
            write(ledger, 1)
        wait_for_checkpoints()
    assert set(tries) == {"passive by telemetry-checkpoint"}
    for _ in range(10):
        write(ledger, 1)

    assert [one for one in tries if one.startswith("restart")] == ["restart by MainThread"]
    assert times_begun_anew(path) == 1


@pytest.fixture
def passes_after_writing(
    ledger: Ledger, tries: list[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[], int]:
    """Writes enough for some checkpoints of ten commits each; how many a thread has made."""
    monkeypatch.setattr(checkpoint, "COMMITS_BETWEEN", 10)
    write(ledger, 1)

    def passes() -> int:
        for _ in range(50):
            write(ledger, 1)
            wait_for_checkpoints()
        return tries.count("passive by telemetry-checkpoint")

    return passes


def test_a_log_that_a_reader_pins_is_left_alone_for_a_while(
    path: Path, stopped: StoppedClock, tries: list[str], passes_after_writing: Callable[[], int]
) -> None:
    with reader_elsewhere(path):
        # Each but the first finds that nothing came meanwhile, and that not all is in.
        assert passes_after_writing() == 6
        assert tries.count("restart by MainThread") == 5
        stopped.advance(0.19)
        assert passes_after_writing() == 6
        stopped.advance(0.02)
        assert passes_after_writing() > 6

    assert times_begun_anew(path) == 0
    stopped.advance(0.21)
    passes_after_writing()
    assert times_begun_anew(path) > 0


def test_a_try_that_took_long_is_not_soon_repeated(
    path: Path,
    stopped: StoppedClock,
    passes_after_writing: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkpoint, "_FEW_FRAMES", 10)  # a log of fifty commits is a long one
    noted = checkpoint._checkpoint

    def slow(conn: sqlite3.Connection, mode: str) -> checkpoint._Moved:
        stopped.advance(0.1)
        return noted(conn, mode)

    monkeypatch.setattr(checkpoint, "_checkpoint", slow)
    with reader_elsewhere(path):
        assert passes_after_writing() == 1
        stopped.advance(1.99)
        assert passes_after_writing() == 1
        stopped.advance(0.02)
        assert passes_after_writing() == 2


def test_a_log_that_is_left_long_is_moved_in_once_however_many_threads_come(
    path: Path, tries: list[str]
) -> None:
    left = Ledger(path)
    write(left, 1)
    while log_size(path) <= checkpoint.LEFT_OVER_BYTES:
        write(left, 60)
    assert tries == []
    ledger = Ledger(path)
    for _ in range(5):
        thread = threading.Thread(target=write, args=(ledger, 1))
        thread.start()
        thread.join(PATIENCE_S)
        wait_for_checkpoints()

    # One that moves it all, and one or two that find little or nothing left; not so five times.
    assert 2 <= tries.count("passive by telemetry-checkpoint") < 5
    assert times_begun_anew(path) == 1
    left.close()


def test_a_checkpoint_makes_no_file_where_the_ledger_was_moved_away(
    ledger: Ledger, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "COMMITS_BETWEEN", 10)
    real = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if thread.name == "telemetry-checkpoint":
            path.rename(tmp_path / "moved.db")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    for _ in range(10):
        write(ledger, 1)
    wait_for_checkpoints()

    assert not path.exists()
    # The log, which still bears the old name, holds all of it.
    path.with_name(path.name + "-wal").rename(tmp_path / "moved.db-wal")
    assert ask_ledger(tmp_path / "moved.db", "select count(*) from tool_calls") == [(10,)]
