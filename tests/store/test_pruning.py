"""Pruning in chunks: beside a live recorder, killed half-way, and giving the space back."""

import itertools
import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_telemetry.paths import database_path, spill_path, telemetry_home
from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store.locking import is_busy
from hermes_telemetry.store.maintenance import NoRoomError, OldLedgerError, open_writable, vacuum
from hermes_telemetry.store.retention import PruneRule, Pruning, preview, prune
from hermes_telemetry.windows import SYSTEM_CLOCK
from support import failures, old_ledger
from support.live_recorder import LiveRecorder
from support.locks import exclusive_mode_elsewhere
from support.stopped_clock import StoppedClock
from support.tree import ROOT

COMMAND = [sys.executable, "-m", "hermes_telemetry.commands.cli", "prune"]
BEYOND_ALL = "2021-06-01T00:00:00"  # failures.build() never gets that far in these tests


@pytest.fixture
def path() -> Path:
    telemetry_home().mkdir(parents=True)
    return database_path()


def open_ledger(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=0, isolation_level=None)


def count(path: Path) -> int:
    return len(failures.ids(path))


def test_a_chunk_is_one_transaction_of_at_most_a_thousand_rows(path: Path) -> None:
    failures.build(path, 2500)
    with closing(open_ledger(path)) as connection:
        pruning = Pruning(connection, PruneRule(BEYOND_ALL))
        left = []
        while not pruning.finished:
            pruning.chunk(connection)
            left.append(count(path))  # another connection sees what is committed
        assert left == [1500, 500, 0]
        assert pruning.deleted == 2500


def test_a_chunk_joins_a_transaction_that_is_open(path: Path) -> None:
    failures.build(path, 1500)
    with closing(open_ledger(path)) as connection:
        pruning = Pruning(connection, PruneRule(BEYOND_ALL))
        connection.execute("begin immediate")
        pruning.chunk(connection)
        assert count(path) == 1500
        connection.execute("commit")
        assert count(path) == 500


@pytest.mark.parametrize("isolation_level", ["", "IMMEDIATE"])
def test_a_chunk_works_on_the_connections_of_others(path: Path, isolation_level: str) -> None:
    failures.build(path, 1500)
    with closing(sqlite3.connect(path, isolation_level=isolation_level)) as connection:
        connection.row_factory = sqlite3.Row
        stay = failures.to_stay(connection, BEYOND_ALL, keep_last=20)
        rule = PruneRule(BEYOND_ALL, keep_last=20)
        assert preview(connection, rule).remaining == len(stay)
        pruning = Pruning(connection, rule)
        while not pruning.finished:
            pruning.chunk(connection)
        assert pruning.outcome(connection).remaining == len(stay)
    assert failures.ids(path) == stay


def test_a_chunk_that_finds_the_ledger_locked_can_be_tried_again(path: Path) -> None:
    failures.build(path, 1500)
    with closing(open_ledger(path)) as connection, closing(open_ledger(path)) as other:
        pruning = Pruning(connection, PruneRule(BEYOND_ALL))
        other.execute("begin immediate")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            pruning.chunk(connection)
        other.execute("rollback")
        while not pruning.finished:
            pruning.chunk(connection)
    assert count(path) == 0


def test_a_ledger_that_stays_locked_is_left_after_half_a_minute(path: Path) -> None:
    failures.build(path, 1500)
    clock = StoppedClock()
    with closing(open_ledger(path)) as other:
        other.execute("begin immediate")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            prune(path, PruneRule(BEYOND_ALL), clock=clock.clock)
    assert clock.seconds == pytest.approx(30, abs=0.01)
    assert count(path) == 1500


def test_between_two_chunks_there_is_a_pause_of_five_milliseconds(path: Path) -> None:
    failures.build(path, 2500)
    clock = StoppedClock()
    at: list[tuple[float, int]] = []
    prune(
        path,
        PruneRule(BEYOND_ALL),
        lambda deleted: at.append((clock.seconds, deleted)),
        clock.clock,
    )
    assert at == [(0.0, 1000), (pytest.approx(0.005), 2000), (pytest.approx(0.01), 2500)]


def test_a_failure_that_comes_in_late_cannot_push_out_one_that_was_to_stay(path: Path) -> None:
    failures.build(path, 3000)
    rule = PruneRule(BEYOND_ALL, keep_last=20)
    with closing(open_ledger(path)) as connection:
        stay = failures.to_stay(connection, BEYOND_ALL, keep_last=20)
        pruning = Pruning(connection, rule)
        pruning.chunk(connection)
        # As out of a spill file: new ids, old times, one of a group that is not there yet.
        connection.executemany(
            "insert into llm_call_errors (id, session_id, ts, model, provider, status_code)"
            " values (?, 's', '2019-12-31T00:00:00.000000+00:00', ?, 'provider-0', 400)",
            [(9001, "model-4"), (9002, "model-new")],
        )
        while not pruning.finished:
            pruning.chunk(connection)
    assert failures.ids(path) == [*stay, 9002]


def test_a_ledger_without_the_speed_indexes_is_pruned_the_same(path: Path) -> None:
    failures.build(path, 3000)
    with closing(open_ledger(path)) as connection:
        for index in ("idx_speed_errors_group", "idx_speed_errors_ts"):
            connection.execute(f"drop index {index}")
        stay = failures.to_stay(connection, BEYOND_ALL, keep_last=20)
    prune(path, PruneRule(BEYOND_ALL, keep_last=20))
    assert failures.ids(path) == stay


def test_an_older_ledger_is_not_pruned_but_sent_to_migrate(path: Path) -> None:
    old_ledger.build(path, 17)
    with pytest.raises(OldLedgerError, match="hermes-telemetry migrate"):
        prune(path, PruneRule(BEYOND_ALL))


def test_a_recorder_writes_between_any_two_chunks(path: Path) -> None:
    failures.build(path, 19_500)  # 19 chunks and a half
    answered = Recorder().hooks()["post_api_request"]
    moments = itertools.count()

    def use_the_pause(seconds: float) -> None:
        assert seconds == 0.005
        answered(session_id="live", api_request_id=f"call {next(moments)}", turn_id="turn")

    prune(path, PruneRule(BEYOND_ALL), clock=replace(SYSTEM_CLOCK, sleep=use_the_pause))

    assert not spill_path(path).exists()
    assert count(path) == 0
    with closing(open_ledger(path)) as connection:
        assert connection.execute("select count(*) from llm_calls").fetchone() == (20,)


@pytest.mark.slow
def test_half_a_million_failures_go_beside_a_live_recorder(path: Path) -> None:
    """500,000 of 600,000 by command; every deletion notes the recorder's last call, so the rows
    that were deleted between two of its writes are counted.
    """
    failures.build(path, 600_000)
    before = "2020-12-13T05:20:00"  # minute 500,000
    with closing(open_ledger(path)) as connection:
        stay = failures.to_stay(connection, before, keep_last=20)
        connection.execute("create table deletions (last_call integer primary key, rows integer)")
        connection.execute(
            """
            create trigger note_deletion after delete on llm_call_errors begin
              insert into deletions values ((select max(id) from llm_calls), 1)
              on conflict (last_call) do update set rows = rows + 1;
            end
            """
        )
    assert len(stay) == 100_000 + 6 * 20  # the newest of each group of the retired model
    size = path.stat().st_size

    with LiveRecorder() as recorder:
        done = subprocess.run(
            [*COMMAND, "--before", before, "--keep-last", "20", "--apply", "--json"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )

    told = json.loads(done.stdout)
    assert (told["deleted"], told["remaining"]) == (600_000 - len(stay), len(stay))
    assert failures.ids(path) == stay
    with closing(open_ledger(path)) as connection:
        between = [rows for (rows,) in connection.execute("select rows from deletions")]
        assert sum(between) == told["deleted"]
        (calls,) = connection.execute("select count(*) from llm_calls").fetchone()
        assert calls == recorder.report.calls
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    # A process that the machine did not let run for a moment is no fault of the pruning.
    assert len(between) >= 0.95 * 500
    assert recorder.report.worst_ms < 900  # where a hook would have given up waiting

    assert path.stat().st_size == pytest.approx(size, rel=0.05)
    vacuumed = vacuum(path)
    assert vacuumed.settled
    assert vacuumed.bytes_after == path.stat().st_size < size / 3


def test_killed_half_way_nothing_that_was_to_stay_is_gone(path: Path) -> None:
    failures.build(path, 60_000)
    with closing(open_ledger(path)) as connection:
        stay = failures.to_stay(connection, BEYOND_ALL, keep_last=50)
    for _ in range(3):
        before = count(path)
        process = subprocess.Popen(
            [*COMMAND, "--before", BEYOND_ALL, "--keep-last", "50", "--apply"],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
        )
        try:
            while count(path) == before:
                assert process.poll() is None
                time.sleep(0.002)
        finally:
            process.kill()
        assert process.wait(timeout=60) == -signal.SIGKILL
        left = failures.ids(path)
        assert len(stay) < len(left) < before
        assert set(stay) <= set(left)
    with closing(open_ledger(path)) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)

    prune(path, PruneRule(BEYOND_ALL, keep_last=50))

    assert failures.ids(path) == stay


def test_a_command_waits_for_who_moves_in_the_log_of_a_killed_process(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures.build(path, 10)
    tries: list[str] = []
    with ExitStack() as moving:

        def looked_at(path: Path) -> sqlite3.Connection:
            # When the first look at the file is over, and before its second.
            moving.enter_context(exclusive_mode_elsewhere(path))
            return sqlite3.connect(":memory:")

        def note(error: sqlite3.Error) -> bool:
            tries.append(error.sqlite_errorname)
            if len(tries) == 3:
                moving.close()
            return is_busy(error)

        monkeypatch.setattr("hermes_telemetry.store.files.open_ledger", looked_at)
        monkeypatch.setattr("hermes_telemetry.store.locking.is_busy", note)
        open_writable(path).close()
    assert tries == ["SQLITE_BUSY"] * 3


def test_a_file_is_not_rewritten_where_the_disk_has_no_room_for_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures.build(path, 1000)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: Disk())
    with pytest.raises(NoRoomError, match="1,000 are free"):
        vacuum(path)


class Disk:
    total = 10_000
    used = 9_000
    free = 1_000


def test_a_file_that_someone_reads_shrinks_when_he_lets_go(path: Path) -> None:
    failures.build(path, 5000)
    prune(path, PruneRule(BEYOND_ALL))
    with closing(open_ledger(path)) as reader:
        reader.execute("begin")
        reader.execute("select count(*) from llm_call_errors").fetchone()
        held = vacuum(path, clock=StoppedClock().clock)
        assert not held.settled
        assert held.bytes_after == held.bytes_before
    assert vacuum(path).bytes_after < held.bytes_before / 3


def test_maintenance_never_makes_a_file(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="there is no file"):
        open_writable(tmp_path / "nothing.db")
    assert list(tmp_path.glob("*.db")) == []
