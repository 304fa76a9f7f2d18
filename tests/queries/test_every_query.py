"""Every query on every kind of ledger: empty, with unpriced calls, of another build; asked for its
default window and for everything.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes_telemetry import reports
from support.ledger import HandMadeLedger, Row, ask
from support.told_answers import ANSWERS
from support.told_ledgers import OTHERS, tell, tell_others

QUERIES = reports.load_queries()

# The parameter without which these have no rows.
ABOUT = {
    "cron_runs": ("cron_job_id", "daily"),
    "delegation_tree": ("session_id", "r"),
    "turn_timeline": ("turn_id", "t"),
}

every_query = pytest.mark.parametrize("name", QUERIES)


def test_every_query_has_its_answers() -> None:
    assert ANSWERS.keys() == QUERIES.keys()


def everything(name: str, ids: dict[str, str]) -> dict[str, str]:
    """The parameters by which a query answers for all there is, or for the one it is about."""
    takes = [parameter.name for parameter in QUERIES[name].parameters]
    about, _ = ABOUT.get(name, ("", ""))
    given = {about: ids[about]} if about else {}
    return given | ({"since": "all"} if "since" in takes else {})


@every_query
def test_an_empty_ledger_has_nothing_to_tell(name: str, ledger: HandMadeLedger) -> None:
    nothing: list[Row] = [(0, 0, 0, 0, 0, 0, 0, 0)] if name == "subagent_join_health" else []
    assert ledger.ask(name) == nothing
    assert ledger.ask(name, **everything(name, dict(ABOUT.values()))) == nothing


@every_query
def test_empty_parameters_mean_the_default_window_and_restrict_nothing(
    name: str, ledger: HandMadeLedger
) -> None:
    tell(ledger)
    assert ledger.ask(name, ANSWERS[name].columns) == ANSWERS[name].recent
    blank = {parameter.name: "" for parameter in QUERIES[name].parameters}
    assert ledger.ask(name, ANSWERS[name].columns, **blank) == ANSWERS[name].recent


@every_query
def test_all_means_everything(name: str, ledger: HandMadeLedger) -> None:
    tell(ledger)
    given = everything(name, dict(ABOUT.values()))
    assert ledger.ask(name, ANSWERS[name].columns, **given) == ANSWERS[name].everything


@every_query
def test_calls_without_a_price_make_no_amount(name: str, ledger: HandMadeLedger) -> None:
    tell(ledger)
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.execute("update llm_calls set cost_usd = null")
        connection.execute("delete from llm_call_prices")
        connection.execute("delete from pricing_snapshots")
    columns = list(QUERIES[name].units)
    for values in ledger.ask(name, **everything(name, dict(ABOUT.values()))):
        row = dict(zip(columns, values, strict=True))
        for amount, counted in QUERIES[name].unpriced.items():
            if counted != reports.EXACT:
                # Nothing hangs on no tree: that is a known nothing.
                assert row[amount] == (0 if name == "subagent_join_health" else None)


@every_query
def test_a_ledger_of_another_build_answers_once_it_is_brought_up_to_date(
    name: str, tmp_path: Path
) -> None:
    path = tell_others(tmp_path / "other.db")
    given = everything(name, OTHERS)
    assert ask(path, name, ANSWERS[name].columns, **given) == ANSWERS[name].other_build
