"""A file newer than this build is used as it stands: what it gave up is not made again."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes_telemetry.paths import database_path, telemetry_home
from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store.health import examine
from hermes_telemetry.store.migrations import migrate
from hermes_telemetry.store.repair import repair
from support.hook_payloads import answered, tool_done
from support.ledger_facts import api_request_ids, tool_call_ids, waiting_files
from support.old_ledger import open_ledger, record_version
from support.schema import Shape, shape_of
from support.stopped_clock import StoppedClock

RENAMED_COLUMN = "alter table budget_alerts rename column fired_at to fired_ts"
ALERT = (
    "insert into budget_alerts (scope, window, period_key, level, fired_ts)"
    " values ('global', 'daily', ?, 'soft', '2026-07-01')"
)

CHANGES = [
    pytest.param([RENAMED_COLUMN], id="a column renamed"),
    pytest.param(
        [RENAMED_COLUMN, ALERT.replace("?", "'2026-06-30'")],
        id="a column renamed that no row may lack",
    ),
    pytest.param(
        ["drop table model_efficiency_cache", "drop index idx_runs_platform"],
        id="a table and an index dropped",
    ),
    pytest.param(["delete from schema_version where version < 19"], id="its history cut off"),
]


@pytest.fixture
def path() -> Path:
    telemetry_home().mkdir(parents=True)
    migrate(database_path())
    return database_path()


def make_version_19(path: Path, changes: list[str]) -> Shape:
    """The shape it has then."""
    with closing(open_ledger(path)) as connection:
        record_version(connection, 19)
        for change in changes:
            connection.execute(change)
    return shape_of(path)


def record(numbers: range) -> None:
    hooks = Recorder(clock=StoppedClock().clock).hooks()
    for number in numbers:
        hooks["post_api_request"](**answered("s", number))
        hooks["post_tool_call"](**tool_done("s", number))


@pytest.mark.parametrize("changes", CHANGES)
def test_a_recorder_records_into_a_newer_file_and_changes_nothing_else(
    changes: list[str], path: Path
) -> None:
    shape = make_version_19(path, changes)

    record(range(2))

    assert len(api_request_ids(path)) == 2
    assert tool_call_ids(path) == ["s/0", "s/1"]
    assert waiting_files(path) == []
    assert shape_of(path) == shape


def test_the_newer_build_can_still_write_its_own_way(path: Path) -> None:
    make_version_19(path, [RENAMED_COLUMN])
    record(range(1))
    with closing(open_ledger(path)) as newer:
        newer.execute(ALERT, ("2026-07-01",))


def test_a_large_newer_file_is_no_old_one_to_be_upgraded(path: Path) -> None:
    make_version_19(path, ["drop index idx_runs_platform"])
    with closing(open_ledger(path)) as connection:
        connection.execute(
            "insert into llm_calls (id, session_id, ts) values (200000, 'old', '2026-06-30')"
        )

    record(range(1))

    assert tool_call_ids(path) == ["s/0"]
    assert not list(path.parent.glob("*.migrate.log"))


@pytest.mark.parametrize("changes", CHANGES)
def test_migrate_and_repair_leave_a_newer_file_alone(changes: list[str], path: Path) -> None:
    shape = make_version_19(path, changes)
    assert migrate(path) == []
    assert repair(path) == []
    assert shape_of(path) == shape


@pytest.mark.parametrize("changes", CHANGES)
def test_doctor_misses_nothing_in_a_newer_file(changes: list[str], path: Path) -> None:
    make_version_19(path, changes)
    faults = [finding for finding in examine(path) if finding.state == "fault"]
    assert [(fault.check, fault.advice) for fault in faults if fault.check != "disk"] == [
        ("schema", "upgrade hermes-telemetry")
    ]


def test_records_that_a_newer_file_has_no_place_for_wait_and_hold_up_no_others(path: Path) -> None:
    make_version_19(path, ["alter table llm_calls rename column latency_ms to took_ms"])

    record(range(3))

    assert tool_call_ids(path) == ["s/0", "s/1", "s/2"]
    assert waiting_files(path) != []
    with closing(sqlite3.connect(path)) as older_again:
        older_again.execute("alter table llm_calls rename column took_ms to latency_ms")
    record(range(3, 4))
    assert len(api_request_ids(path)) == 4
    assert waiting_files(path) == []
