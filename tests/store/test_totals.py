"""Running totals: when they are counted and refreshed, and what they say when that fails."""

import os
import shutil
import sqlite3
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from hermes_telemetry.store.running import MOST_NEW_ROWS
from hermes_telemetry.store.totals import REFRESH_S, Totals
from support.budgets import without_threads
from support.ledger import HandMadeLedger
from support.locks import exclusive_mode_elsewhere, write_transaction_elsewhere
from support.looking_on import TODAY, Watch, counted, refreshed, spent
from support.processes import fork


def move(path: Path, to: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            Path(f"{path}{suffix}").rename(f"{to}{suffix}")


def test_a_session_of_the_month_takes_less_than_a_kilobyte(
    ledger: HandMadeLedger, totals: Totals
) -> None:
    # A gateway's 100,000 sessions of a month are 100 MB in each recorder with limits.
    sessions = 1000
    for number in range(sessions):
        ledger.call(f"session {number}", 1.0)
    tracemalloc.start()
    try:
        assert totals.load()
        took, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert spent(totals) == sessions
    assert took <= sessions * 1000


def test_another_process_counts_within_five_seconds(
    ledger: HandMadeLedger, totals: Totals, watch: Watch
) -> None:
    ledger.call("s", 1.0)
    watch.seconds += REFRESH_S - 0.001
    assert totals.refresh()
    assert spent(totals) == 0.0
    watch.seconds += 0.001
    assert totals.refresh()
    assert spent(totals) == 1.0


def test_what_this_process_wrote_counts_at_once(ledger: HandMadeLedger, totals: Totals) -> None:
    ledger.call("s", 1.0)
    totals.expire()
    assert totals.refresh()
    assert spent(totals) == 1.0


def test_a_connection_that_failed_is_replaced(ledger: HandMadeLedger, totals: Totals) -> None:
    """The new one numbers the states of the ledger anew."""
    assert totals._conn is not None
    totals._conn.close()
    totals.expire()
    assert not totals.refresh()
    ledger.call("s", 1.0)
    assert refreshed(totals) == 1.0


def test_more_rows_than_a_hook_may_wait_for_are_counted_on_a_thread(
    ledger: HandMadeLedger, totals: Totals, watch: Watch
) -> None:
    ledger.change("begin")
    for _ in range(MOST_NEW_ROWS + 1):
        ledger.call("s", 0.5)
    ledger.change("commit")
    totals.expire()
    assert totals.refresh()
    assert counted(totals, watch, lambda: spent(totals) == (MOST_NEW_ROWS + 1) / 2)


def test_nothing_is_known_before_it_is_counted(ledger: HandMadeLedger, watch: Watch) -> None:
    ledger.call("s", 1.0)
    totals = Totals(ledger.path, "UTC", watch.clock)
    assert not totals.is_known
    with pytest.raises(LookupError):
        totals.spend("global", "", TODAY, TODAY)
    assert not totals.refresh()
    assert counted(totals, watch, lambda: totals.is_known)
    assert spent(totals) == 1.0


def test_who_waits_for_a_count_waits_no_longer_than_it_takes(
    ledger: HandMadeLedger, watch: Watch
) -> None:
    totals = Totals(ledger.path, "UTC", watch.clock)
    totals.wait(60)  # for nothing
    with totals._lock:  # in which a count ends
        totals._count_on_a_thread()
        began = time.monotonic()
        totals.wait(0.01)
        assert not totals.is_known
        assert time.monotonic() - began < 10
    totals.wait(60)
    assert totals.is_known


def test_a_thread_that_is_not_to_be_had_is_asked_for_again(
    ledger: HandMadeLedger, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.call("s", 1.0)
    totals = Totals(ledger.path, "UTC", watch.clock)
    with monkeypatch.context() as crowded:
        without_threads(crowded)
        assert not totals.refresh()
    assert counted(totals, watch, lambda: totals.is_known)
    assert spent(totals) == 1.0


def test_a_ledger_that_is_not_there_is_waited_for(
    blank_ledger: Path, tmp_path: Path, watch: Watch
) -> None:
    path = tmp_path / "later.db"
    totals = Totals(path, "UTC", watch.clock)
    assert not totals.load()
    assert not totals.refresh()
    assert not path.exists()
    shutil.copy(blank_ledger, path)
    assert counted(totals, watch, lambda: totals.is_known)


def test_a_ledger_that_was_moved_away_is_not_known(
    ledger: HandMadeLedger, totals: Totals, tmp_path: Path
) -> None:
    ledger.call("s", 1.0)
    assert refreshed(totals) == 1.0
    move(ledger.path, tmp_path / "moved.db")
    totals.expire()
    assert not totals.refresh()
    assert not totals.is_known


def test_another_ledger_in_its_place_is_counted_anew(
    ledger: HandMadeLedger, totals: Totals, watch: Watch, blank_ledger: Path, tmp_path: Path
) -> None:
    ledger.call("s", 1.0)
    assert refreshed(totals) == 1.0
    ledger.close()
    move(ledger.path, tmp_path / "moved.db")
    shutil.copy(blank_ledger, ledger.path)
    with closing(HandMadeLedger(ledger.path)) as other:
        other.call("s", 4.0)
        totals.expire()
        assert not totals.refresh()
        assert counted(totals, watch, lambda: totals.is_known)
        assert spent(totals) == 4.0


def test_an_old_ledger_is_not_known_until_it_is_upgraded(tmp_path: Path, watch: Watch) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table llm_calls (id integer primary key, session_id, ts)")
    totals = Totals(path, "UTC", watch.clock)
    assert not totals.load()
    assert not totals.is_known


def test_a_ledger_locked_from_the_start_leaves_nothing_known(
    ledger: HandMadeLedger, watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    ledger.close()
    totals = Totals(ledger.path, "UTC", watch.clock)
    with exclusive_mode_elsewhere(ledger.path), caplog.at_level("INFO"):
        began = time.monotonic()
        assert not totals.load()
        assert not totals.load()
        assert time.monotonic() - began < 1
        assert not totals.is_known
    assert [record.getMessage() for record in caplog.records] == [
        "spend cannot be read from the ledger: database is locked"
    ]
    assert totals.load()


def test_who_writes_for_long_hinders_nobody(ledger: HandMadeLedger, totals: Totals) -> None:
    ledger.call("s", 1.0)
    with write_transaction_elsewhere(ledger.path):
        assert refreshed(totals) == 1.0


def test_a_ledger_that_does_not_answer_leaves_the_last_known_totals(
    ledger: HandMadeLedger, watch: Watch
) -> None:
    ledger.change("pragma journal_mode = delete")  # where who writes hinders who reads
    totals = Totals(ledger.path, "UTC", watch.clock)
    assert totals.load()
    ledger.run("s", sender_id="ann")
    ledger.call("s", 1.0)
    assert refreshed(totals) == 1.0
    ledger.call("s", 2.0)
    ledger.change("begin exclusive")
    totals.expire()
    began = time.monotonic()
    assert not totals.refresh()
    assert time.monotonic() - began < 0.5
    assert totals.is_known
    assert spent(totals) == 1.0
    # Nor is it asked again before five seconds have gone by.
    began = time.monotonic()
    for _ in range(20):
        assert totals.scopes_of("s") == {"global": "", "sender": "ann"}
    assert time.monotonic() - began < 0.2
    ledger.change("commit")
    assert not totals.refresh()
    watch.seconds += REFRESH_S
    assert totals.refresh()
    assert spent(totals) == 3.0


def test_no_transaction_is_left_open(ledger: HandMadeLedger, totals: Totals) -> None:
    """A log that is read from cannot be begun anew."""
    ledger.call("s", 1.0)
    assert refreshed(totals) == 1.0
    totals.scopes_of("s")
    ledger.call("s", 1.0)
    with closing(sqlite3.connect(ledger.path, timeout=0)) as connection:
        assert connection.execute("pragma wal_checkpoint(truncate)").fetchone() == (0, 0, 0)


def test_threads_share_the_totals(ledger: HandMadeLedger, totals: Totals) -> None:
    """Four look and one counts afresh while calls come in; no call is lost or counted twice."""
    done = threading.Event()
    trouble: list[BaseException] = []

    def until_done(work: Callable[[], object]) -> None:
        try:
            while not done.is_set():
                work()
        except BaseException as error:
            trouble.append(error)

    def look() -> None:
        totals.expire()
        totals.refresh()
        totals.scopes_of("s1")
        spent(totals)

    threads = [threading.Thread(target=until_done, args=(work,)) for work in [look] * 4]
    threads.append(threading.Thread(target=until_done, args=(totals.load,)))
    for thread in threads:
        thread.start()
    for number in range(200):
        ledger.edge(f"s{number + 1}", f"s{number}")
        ledger.call(f"s{number}", 0.5)
    done.set()
    for thread in threads:
        thread.join()
    assert trouble == []
    assert refreshed(totals) == 100.0


@pytest.fixture
def held(totals: Totals) -> Iterator[None]:
    """Other threads look and count, as they may when the process forks."""
    with totals._lock:
        totals._count_on_a_thread()
        yield


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_counts_for_itself(
    ledger: HandMadeLedger, totals: Totals, watch: Watch, held: None
) -> None:
    def work() -> None:
        assert not totals.is_known
        assert not totals.refresh()
        assert counted(totals, watch, lambda: totals.is_known)
        assert spent(totals) == 1.0

    ledger.call("s", 1.0)
    assert fork(work) == 0
