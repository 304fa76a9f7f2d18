"""A ledger of any version becomes a ledger of version 18 and keeps what it holds."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes_telemetry.store.migrations import _SCHEMA_VERSION, _ensure_schema, migrate
from support.old_ledger import (
    FREE_WITHOUT_PROOF,
    OF_ANOTHER_BUILD,
    Rows,
    build,
    build_of_another,
    columns,
    contents,
    fill,
    open_ledger,
    step,
)
from support.schema import V18, shape, shape_of

OLDER = range(1, 18)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "telemetry.db"


def test_a_new_file_has_the_shape_of_version_18(path: Path) -> None:
    assert migrate(path) == list(range(1, 19))
    assert shape_of(path) == V18


@pytest.mark.parametrize("version", OLDER)
def test_an_older_file_gets_the_same_shape(version: int, path: Path) -> None:
    assert migrate(build(path, version)) == list(range(version + 1, 19))
    assert shape_of(path) == V18


@pytest.mark.parametrize("version", OLDER)
def test_an_older_file_keeps_every_row_and_sum(version: int, path: Path) -> None:
    build(path, version)
    with closing(open_ledger(path)) as connection:
        before = contents(connection)
        sums = totals(connection)

    migrate(path)

    with closing(open_ledger(path)) as connection:
        for table, (names, rows) in before.items():
            if version < 17 and table in ("known_free_models", "free_paid_transitions"):
                rows = [row for row in rows if row[:2] != FREE_WITHOUT_PROOF]
                assert len(rows) == 2
            assert kept(connection, table, names, version) == rows, table
        assert totals(connection) == sums


FREE_AFTERWARDS = {
    1: [],
    8: [("grok-4-fast:free", "openrouter"), ("llama-local", "")],
    12: [("llama-local", "")],
}


@pytest.mark.parametrize("version", OF_ANOTHER_BUILD)
def test_a_file_that_another_build_made_gets_the_same_shape_and_keeps_its_rows(
    version: int, path: Path
) -> None:
    build_of_another(path, version)
    with closing(open_ledger(path)) as connection:
        before = contents(connection)
        sums = totals(connection)

    assert migrate(path) == list(range(version + 1, 19))

    assert shape_of(path) == V18
    with closing(open_ledger(path)) as connection:
        known = "select model, provider from known_free_models order by model"
        assert connection.execute(known).fetchall() == FREE_AFTERWARDS[version]
        assert connection.execute("select * from free_paid_transitions").fetchall() == []
        for table in set(before) - {"known_free_models", "free_paid_transitions"}:
            names, rows = before[table]
            assert kept(connection, table, names, version) == rows, table
        assert totals(connection) == sums


@pytest.mark.parametrize("version", OLDER)
def test_new_columns_of_old_rows_hold_their_defaults(version: int, path: Path) -> None:
    build(path, version)
    with closing(open_ledger(path)) as connection:
        before = shape(connection)

    migrate(path)

    with closing(open_ledger(path)) as connection:
        for table in before.tables:
            for column in set(V18.tables[table]) - set(before.tables[table]):
                default = 0 if "=0" in V18.tables[table][column] else None
                held = connection.execute(f"select distinct {column} from {table}").fetchall()
                assert held == [(default,)], f"{table}.{column}"


@pytest.mark.parametrize("version", range(5, 17))
def test_v17_forgets_free_models_without_a_call_that_proves_it(version: int, path: Path) -> None:
    build(path, version)

    migrate(path)

    with closing(open_ledger(path)) as connection:
        known = connection.execute("select model, provider from known_free_models").fetchall()
        assert sorted(known) == [("free-model", "openrouter"), ("listed-model", "")]
        flipped = connection.execute("select model, provider from free_paid_transitions").fetchall()
        assert sorted(flipped) == (sorted(known) if version >= 6 else [])


def test_v17_looks_at_every_call_once_however_many_models_are_said_to_be_free(path: Path) -> None:
    build(path, 16)
    calls, models = 1000, 200
    with closing(open_ledger(path)) as connection:
        connection.execute("begin")  # 1,200 transactions take minutes on a slow disk
        connection.executemany(
            "insert into llm_calls (session_id, ts, model, provider, cost_usd)"
            " values ('s', '2026-05-01', ?, 'p', 1)",
            [(f"dear {number % 10}",) for number in range(calls)],
        )
        connection.executemany(
            "insert into known_free_models values (?, 'p', '2026-05-01')",
            [(f"said to be free {number}",) for number in range(models)],
        )
        connection.execute("commit")
        steps = []
        connection.set_progress_handler(lambda: steps.append(1), 100)

        step(17)(connection)

    # A call takes some ten steps of SQLite's machine, and a model some hundred.
    assert len(steps) * 100 < 50 * (calls + 20 * models)


def test_a_file_that_has_passed_v17_loses_nothing(path: Path) -> None:
    build(path, 17)

    migrate(path)

    with closing(open_ledger(path)) as connection:
        known = connection.execute("select model, provider from known_free_models").fetchall()
        assert FREE_WITHOUT_PROOF in known


def test_schema_idempotent(path: Path) -> None:
    with closing(open_ledger(path)) as connection:
        _ensure_schema(connection)
        fill(connection)
        first = list(connection.iterdump())

        assert _ensure_schema(connection) == []

        assert list(connection.iterdump()) == first
        (recorded,) = connection.execute("select count(*) from schema_version").fetchone()
        assert recorded == _SCHEMA_VERSION == 18


@pytest.mark.parametrize("version", OLDER)
def test_a_file_migrated_twice_does_not_change_again(version: int, path: Path) -> None:
    migrate(build(path, version))
    with closing(open_ledger(path)) as connection:
        first = list(connection.iterdump())

    assert migrate(path) == []

    with closing(open_ledger(path)) as connection:
        assert list(connection.iterdump()) == first


@pytest.mark.parametrize("version", range(1, 19))
def test_a_step_that_fails_leaves_no_trace_and_is_taken_later(version: int, path: Path) -> None:
    build(path, version - 1)
    with closing(open_ledger(path)) as connection:
        before = list(connection.iterdump())
        # The version row comes last: all of the step's own work has been done when it is refused.
        connection.set_authorizer(refuse_version_rows)
        with pytest.raises(sqlite3.DatabaseError):
            step(version)(connection)
        connection.set_authorizer(None)
        assert list(connection.iterdump()) == before

        assert _ensure_schema(connection) == list(range(version, 19))
        assert shape(connection) == V18


def test_a_locked_file_is_an_error_and_not_a_version(path: Path) -> None:
    build(path, 6)
    with closing(open_ledger(path)) as writer, closing(open_ledger(path)) as connection:
        connection.execute("pragma busy_timeout = 0")
        writer.execute("begin immediate")

        with pytest.raises(sqlite3.OperationalError, match="locked"):
            _ensure_schema(connection)

        writer.execute("rollback")
        assert "provider_assumed" not in columns(connection, "llm_calls")
        assert _ensure_schema(connection) == list(range(7, 19))


def test_what_stands_beside_the_versions_is_made_and_may_be_missing(path: Path) -> None:
    migrate(path)
    beside = {
        "table": {"prices_used", "llm_call_prices"},
        "view": {"turn_costs", "session_costs", "daily_costs_utc"},
    }
    with closing(open_ledger(path)) as connection:
        for kind, names in beside.items():
            made = connection.execute("select name from sqlite_master where type = ?", (kind,))
            assert names <= {name for (name,) in made}
            for name in names:
                connection.execute(f"drop {kind} {name}")
        connection.execute("drop index idx_speed_calls_ts")
        assert _ensure_schema(connection) == []

    assert migrate(path) == []

    with closing(open_ledger(path)) as connection:
        for view in beside["view"]:
            assert connection.execute(f"select count(*) from {view}").fetchone() == (0,)
        assert connection.execute("select count(*) from prices_used").fetchone() == (0,)
        assert connection.execute("select count(*) from schema_version").fetchone() == (18,)


def refuse_version_rows(action: int, table: str | None, *_: str | None) -> int:
    refused = action == sqlite3.SQLITE_INSERT and table == "schema_version"
    return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK


def kept(connection: sqlite3.Connection, table: str, names: list[str], version: int) -> Rows:
    """What the columns that a table had at ``version`` hold in the rows that it had then."""
    then = f"where version <= {version}" if table == "schema_version" else ""
    return connection.execute(
        f"select {', '.join(names)} from {table} {then} order by rowid"
    ).fetchall()


def totals(connection: sqlite3.Connection) -> list[tuple[float, ...]]:
    return [
        connection.execute(
            f"select count(*), sum(cost_usd), sum(tokens_in), sum(tokens_out) from {table}"
        ).fetchone()
        for table in ("runs", "llm_calls")
    ]
