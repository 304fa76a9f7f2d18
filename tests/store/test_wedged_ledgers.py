"""Files whose recorded versions promise more than they hold: each opens, heals and records."""

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hermes_telemetry.paths import database_path, telemetry_home
from hermes_telemetry.recorder import Recorder
from hermes_telemetry.store.migrations import _ensure_schema, migrate
from support.old_ledger import build, columns, contents, open_ledger, record_version, step
from support.replay import hook_calls, replay
from support.schema import V18, shape, shape_of
from support.stopped_clock import StoppedClock

NEWER_COLUMN = "alter table llm_calls add column carbon_grams real default 1.5"
NEWER_TABLE = "create table llm_carbon (call_id integer primary key, grams real not null)"


def without_the_columns_of(version: int) -> Callable[[Path], None]:
    """A build that wrote down ``version`` though its columns failed, and went on to version 8."""

    def wedge(path: Path) -> None:
        build(path, version - 1)
        with closing(open_ledger(path)) as connection:
            record_version(connection, version)
            for later in range(version + 1, 9):
                step(later)(connection)

    return wedge


def v11_without_its_table(path: Path) -> None:
    build(path, 10)
    with closing(open_ledger(path)) as connection:
        record_version(connection, 11)
        step(12)(connection)


def v11_used_for_the_profile(path: Path) -> None:
    build(path, 10)
    with closing(open_ledger(path)) as connection:
        connection.execute("alter table runs add column profile text")
        connection.execute("create index idx_runs_profile on runs(profile)")
        connection.execute("update runs set profile = 'night shift' where session_id like '%2'")
        record_version(connection, 11)


def newer_than_this_build(path: Path) -> None:
    build(path, 18)
    with closing(open_ledger(path)) as connection:
        connection.execute(NEWER_COLUMN)
        connection.execute(NEWER_TABLE)
        record_version(connection, 19)


WEDGES = [
    pytest.param(without_the_columns_of(2), id="v2 without its columns"),
    pytest.param(without_the_columns_of(3), id="v3 without its column"),
    pytest.param(without_the_columns_of(4), id="v4 without its columns"),
    pytest.param(without_the_columns_of(7), id="v7 without its columns"),
    pytest.param(v11_without_its_table, id="v11 without its table"),
    pytest.param(v11_used_for_the_profile, id="v11 used for runs.profile"),
    pytest.param(newer_than_this_build, id="version 19 with a new column and table"),
]

Wedge = Callable[[Path], None]


@pytest.fixture
def path() -> Path:
    telemetry_home().mkdir(parents=True)
    return database_path()


@pytest.mark.parametrize("wedge", WEDGES)
def test_a_wedged_file_heals_and_keeps_its_rows(wedge: Wedge, path: Path) -> None:
    wedge(path)
    with closing(open_ledger(path)) as connection:
        before = contents(connection)

    migrate(path)

    with closing(open_ledger(path)) as connection:
        assert V18.pieces() <= shape(connection).pieces()
        for table in ("runs", "llm_calls", "tool_calls"):
            names, rows = before[table]
            kept = f"select {', '.join(names)} from {table} order by rowid"
            assert connection.execute(kept).fetchall() == rows


@pytest.mark.parametrize("wedge", WEDGES)
def test_a_wedged_file_opened_twice_does_not_change_again(wedge: Wedge, path: Path) -> None:
    wedge(path)
    migrate(path)
    with closing(open_ledger(path)) as connection:
        healed = list(connection.iterdump())

    assert migrate(path) == []

    with closing(open_ledger(path)) as connection:
        assert list(connection.iterdump()) == healed


@pytest.mark.parametrize("wedge", WEDGES)
def test_a_recorder_meets_a_wedged_file_and_records(wedge: Wedge, path: Path) -> None:
    wedge(path)
    time = StoppedClock()
    recorder = Recorder(home=telemetry_home(), clock=time.clock, profile=lambda: "work")

    replay(recorder.hooks(), hook_calls("20_delegation_sync"), time)

    with closing(open_ledger(path)) as connection:
        calls = connection.execute(
            "select session_id from llm_calls where api_request_id like '20261130_1442%'"
        ).fetchall()
        assert [session for (session,) in calls] == [
            "20261130_144207_c12a09",
            "20261130_144209_631039",
            "20261130_144209_631039",
            "20261130_144207_c12a09",
        ]
        edge = connection.execute(
            "select child_status from subagent_edges where parent_session_id = ?",
            ("20261130_144207_c12a09",),
        ).fetchone()
        assert edge == ("completed",)


def test_migrate_v9_repairs_missing_column_from_wedged_v7(path: Path) -> None:
    without_the_columns_of(7)(path)
    with closing(open_ledger(path)) as connection:
        assert "provider_assumed" not in columns(connection, "llm_calls")
        (calls,) = connection.execute("select count(*) from llm_calls").fetchone()

        step(9)(connection)

        repaired = connection.execute(
            "select count(*) from llm_calls where provider_assumed = 0"
        ).fetchone()
        assert repaired == (calls,)
        assert "provider_assumed_calls" in columns(connection, "runs")


def test_migrate_v13_makes_the_edges_that_a_wedged_v11_left_out(path: Path) -> None:
    v11_used_for_the_profile(path)
    with closing(open_ledger(path)) as connection:
        for version in (11, 12, 13):
            step(version)(connection)

        healed = shape(connection)
        assert healed.tables["subagent_edges"] == V18.tables["subagent_edges"]
        assert "idx_subagent_edges_parent" in healed.indexes
        profiles = connection.execute(
            "select count(*) from runs where profile = 'night shift'"
        ).fetchone()
        assert profiles == (1,)


def test_a_profile_that_an_older_v11_wrote_is_kept(path: Path) -> None:
    v11_used_for_the_profile(path)

    migrate(path)

    with closing(open_ledger(path)) as connection:
        named = connection.execute("select session_id, profile from runs where profile > ''")
        assert named.fetchall() == [("runs.session_id 2", "night shift")]


@pytest.mark.parametrize("table", sorted(set(V18.tables) - {"schema_version"}))
def test_columns_lost_behind_every_recorded_version_come_back(table: str, path: Path) -> None:
    build(path, 18)
    with closing(open_ledger(path)) as connection:
        for index, target in V18.indexes.items():
            if target.startswith(f"{table}("):
                connection.execute(f"drop index {index}")
        for column in droppable(table):
            connection.execute(f"alter table {table} drop column {column}")

    assert migrate(path) == []

    assert shape_of(path) == V18


def droppable(table: str) -> list[str]:
    """What SQLite can take away and give back: no key, and a default where NULL is forbidden."""
    constrained = " ".join(V18.unique)
    return [
        column
        for column, declaration in V18.tables[table].items()
        if "pk" not in declaration
        and ("nn" not in declaration or "=" in declaration)
        and not (table in constrained and column in constrained)
    ]


@pytest.mark.parametrize("piece", [*V18.indexes, *sorted(set(V18.tables) - {"schema_version"})])
def test_a_table_or_index_lost_behind_every_recorded_version_comes_back(
    piece: str, path: Path
) -> None:
    build(path, 18)
    with closing(open_ledger(path)) as connection:
        kind = "index" if piece in V18.indexes else "table"
        connection.execute(f"drop {kind} {piece}")

    assert migrate(path) == []

    assert shape_of(path) == V18


@pytest.mark.parametrize(
    ("table", "recorded"),
    [
        ("budget_alerts", 3),
        ("known_free_models", 5),
        ("free_paid_transitions", 6),
        ("model_unavailable_alerts", 8),
        ("subagent_edges", 13),
        ("pricing_snapshots", 14),
        ("endpoint_payload_cache", 16),
    ],
)
def test_a_table_lost_in_an_older_file_does_not_stop_the_steps_that_need_it(
    table: str, recorded: int, path: Path
) -> None:
    build(path, recorded)
    with closing(open_ledger(path)) as connection:
        connection.execute(f"drop table {table}")

    assert migrate(path) == list(range(recorded + 1, 19))

    assert shape_of(path) == V18


def test_a_newer_file_is_neither_downgraded_nor_touched_and_warned_of_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    newer_than_this_build(path)
    with closing(open_ledger(path)) as connection:
        before = contents(connection)
        with caplog.at_level(logging.WARNING):
            assert _ensure_schema(connection) == []
            assert _ensure_schema(connection) == []

        assert contents(connection) == before
        versions = connection.execute("select max(version), count(*) from schema_version")
        assert versions.fetchone() == (19, 19)
    (warning,) = caplog.records
    assert "19" in warning.getMessage()


def test_a_newer_column_takes_its_own_default_in_what_is_recorded_here(path: Path) -> None:
    newer_than_this_build(path)
    time = StoppedClock()
    recorder = Recorder(home=telemetry_home(), clock=time.clock, profile=lambda: None)

    replay(recorder.hooks(), hook_calls("02_oneshot_z_text"), time)

    with closing(sqlite3.connect(path)) as connection:
        recorded = connection.execute(
            "select carbon_grams, tokens_in from llm_calls where session_id = ?",
            ("20261130_142123_54ee5b",),
        ).fetchall()
        assert recorded == [(1.5, 200)]
