"""How SQLite finds the rows of queries that would else take longer with every year of history.

The benchmark has their times on large ledgers; the plan is the same on a small one.
"""

import sqlite3
from contextlib import closing

import pytest

from hermes_telemetry import reports
from support.ledger import HandMadeLedger


def plan(ledger: HandMadeLedger, name: str) -> list[str]:
    """The steps of a query with its defaults, as ``explain query plan`` words them."""
    query = reports.load_queries()[name]
    values = {parameter.name: "" for parameter in query.parameters}
    with closing(sqlite3.connect(ledger.path)) as connection:
        reports.prepare_connection(connection, "UTC")
        rows = connection.execute(f"explain query plan {query.sql}", values)
        return [detail for *_, detail in rows]


@pytest.mark.parametrize(
    ("name", "table", "index"),
    [
        ("moa_calls", "call", "idx_speed_calls_preset"),
        ("ledger_growth", "subagent_edges", "idx_speed_edges_started"),
        ("subagent_turns", "edge", "idx_speed_edges_started"),
        ("cost_per_turn", "subagent_edges", "idx_speed_edges_turn"),
        ("subagent_join_health", "run", "idx_speed_runs_subagents"),
    ],
)
def test_rows_of_the_window_are_searched_by_an_index_of_their_own(
    name: str, table: str, index: str, ledger: HandMadeLedger
) -> None:
    steps = plan(ledger, name)
    assert any(step.startswith(f"SEARCH {table} USING") and index in step for step in steps)


def test_the_calls_since_a_flip_are_summed_without_being_sorted(ledger: HandMadeLedger) -> None:
    """Only those of models that are free everywhere are: few are known."""
    steps = plan(ledger, "free_paid_history")
    searches = [step for step in steps if step.startswith("SEARCH call USING")]
    assert len(searches) == 2
    assert all("COVERING INDEX idx_speed_calls_model" in step for step in searches)
    assert steps.count("USE TEMP B-TREE FOR GROUP BY") == 1
