"""Queries on files that lack indexes, columns, tables, or may not be written."""

import random
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes_telemetry import reports
from support import old_ledger
from support.ledger import HandMadeLedger
from support.random_ledger import scatter

QUERIES = reports.load_queries()
NEEDS_PRICE_RECORD = {"cache_savings", "estimated_share"}


def reasons(path: Path) -> dict[str, str | None]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        reports.prepare_connection(connection, "UTC")
        return {name: reports.unavailable(connection, query) for name, query in QUERIES.items()}


def test_every_query_can_run_on_a_ledger_of_today(ledger: HandMadeLedger) -> None:
    assert set(reasons(ledger.path).values()) == {None}


def test_answers_are_the_same_without_anything_beside_the_schema(ledger: HandMadeLedger) -> None:
    sessions, jobs = scatter(ledger, random.Random(7))
    questions = [
        (name, {"since": since, "profile": profile})
        for name, query in QUERIES.items()
        if "since" in [parameter.name for parameter in query.parameters]
        and name not in NEEDS_PRICE_RECORD
        for since in ("", "all", "2026-06-20")
        for profile in ("", "work")
    ]
    questions += [("delegation_tree", {"session_id": session}) for session in sessions]
    questions += [("cost_per_turn", {"session_id": session}) for session in sessions]
    questions += [("cron_runs", {"cron_job_id": job}) for job in jobs]
    questions += [(name, {}) for name, query in QUERIES.items() if not query.parameters]
    questions += [("price_history", {}), ("price_changes", {}), ("ledger_growth", {"months": "3"})]
    with_all = [ledger.ask(name, **given) for name, given in questions]
    with closing(sqlite3.connect(ledger.path)) as connection:
        for kind, name in connection.execute(
            "select type, name from sqlite_master where name like 'idx_speed%' or type = 'view'"
            " or name in ('prices_used', 'llm_call_prices')"
        ).fetchall():
            connection.execute(f"drop {kind} {name}")
        connection.execute("analyze")
    assert [ledger.ask(name, **given) for name, given in questions] == with_all
    assert sum(map(len, with_all)) > 100


def test_an_older_file_says_what_it_lacks_and_what_brings_it(tmp_path: Path) -> None:
    file = old_ledger.build(tmp_path / "old.db", 12)
    missing = {name: reason for name, reason in reasons(file).items() if reason}
    assert missing.keys() == NEEDS_PRICE_RECORD | {
        "billed_vs_tariff",
        "cost_per_turn",
        "failed_attempts",
        "failed_attempts_by_status",
        "ledger_growth",
        "moa_calls",
        "newest_runs",
        "price_changes",
        "price_history",
        "retry_storms",
        "subagent_join_health",
        "subagent_turns",
        "turn_timeline",
    }
    for reason in missing.values():
        assert re.fullmatch(
            r"this file has no (column turn_id|table (llm_call_errors|llm_call_prices|prices_used"
            r"|pricing_snapshots|model_efficiency_cache)): bring it up to date with"
            r" hermes-telemetry migrate",
            reason,
        )


def test_a_file_that_is_no_ledger_can_answer_nothing(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("create table other (x)")
    for reason in reasons(file).values():
        assert reason is not None
        assert reason.startswith("this file has no table ")


def test_another_error_is_not_taken_for_an_old_file(ledger: HandMadeLedger) -> None:
    with (
        closing(sqlite3.connect(ledger.path)) as connection,
        pytest.raises(sqlite3.OperationalError, match="no such function"),
    ):
        reports.unavailable(connection, QUERIES["cost_by_day"])
