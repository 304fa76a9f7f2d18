"""What every file of canned_queries/ keeps to."""

import re
import sqlite3
from contextlib import closing

import pytest

from hermes_telemetry import reports
from hermes_telemetry.reports import Query
from support.ledger import HandMadeLedger

QUERIES = reports.load_queries()

# Names and order that other tools rely on; more columns may follow.
PROMISED = {
    "cost_per_turn": (
        "session_id since until profile",
        "turn_id cost_usd calls tool_calls failed_attempts tokens_in tokens_out cache_read_tokens"
        " cache_write_tokens reasoning_tokens model_ms session_id started_at unpriced_calls"
        " delegated_usd total_usd",
    ),
    "turn_timeline": (
        "turn_id",
        "ts cost_usd kind name status ms tokens_in tokens_out running_usd",
    ),
    "cost_by_day": (
        "since until profile",
        "day cost_usd calls tokens_in tokens_out cache_read_tokens unpriced_calls",
    ),
    "cost_by_day_and_model": (
        "since until profile",
        "day cost_usd model provider calls unpriced_calls",
    ),
    **{
        f"cost_by_{dimension}": (
            "since until profile",
            f"{column} cost_usd share calls tokens_in tokens_out cache_hit_rate unpriced_calls",
        )
        for dimension, column in (
            ("model", "model"),
            ("provider", "provider"),
            ("platform", "platform"),
            ("profile", "profile"),
            ("sender", "sender_id"),
        )
    },
    "cron_attribution": (
        "since until profile",
        "cron_job_id total_usd own_usd delegated_usd runs delegated_sessions mean_usd_per_run"
        " failed_runs last_run_at unpriced_calls",
    ),
    "cron_runs": (
        "cron_job_id since until profile",
        "session_id total_usd own_usd delegated_usd started_at status calls unpriced_calls",
    ),
    "delegation_tree": (
        "session_id",
        "path subtree_usd own_usd depth session_id child_role child_status calls unpriced_calls",
    ),
    "subagent_turns": (
        "since until profile",
        "child_session_id child_usd parent_turn_id parent_turn_usd parent_session_id child_role"
        " child_status child_calls started_at unpriced_calls child_subtree_usd",
    ),
    "subagent_join_health": (
        "since until profile",
        "edges with_turn_id joined unjoined without_turn_id orphans unattributed_usd",
    ),
    "free_paid_history": (
        "",
        "model spend_since_usd provider status first_free_seen_at flipped_at first_paid_cost_usd"
        " session_id calls_since paid_model",
    ),
    "failed_attempts": (
        "since until profile",
        "day attempts model provider status_code reason sessions turns wasted_ms last_message",
    ),
    "estimated_share": (
        "since until profile",
        "provider cost_usd model calls estimated_calls unpriced_calls assumed_calls free_calls"
        " declared_calls unexplained_zero_calls tariff_calls catalogue_calls family_calls"
        " builtin_calls listed_calls",
    ),
    "price_history": (
        "model",
        "valid_from input_usd_per_million valid_to output_usd_per_million"
        " cache_read_usd_per_million cache_write_usd_per_million change_pct provider model source",
    ),
    "reconcile": (
        "since until profile",
        "session_id difference_usd run_usd calls_usd run_calls calls",
    ),
}

KINDS = {"since", "until", "profile", "model", "session", "turn", "cron_job", "number"}
MARKS = {"bar", "line", "circle"}
TYPES = {"quantitative", "quantitative-bin", "temporal", "temporal-bin", "ordinal", "nominal"}

every_query = pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())


def statement(query: Query) -> str:
    """The SQL without comments and texts."""
    return re.sub(r"--[^\n]*|'[^']*'", " ", query.sql)


def named_rows(query: Query, name: str) -> str | None:
    """The text of one common table expression, None where the query has none of that name."""
    match = re.search(rf"^  {name}\b.*?^  \)", query.sql, re.MULTILINE | re.DOTALL)
    return match[0] if match else None


@pytest.mark.parametrize("name", PROMISED)
def test_columns_and_parameters_are_the_promised_ones(name: str) -> None:
    parameters, columns = (words.split() for words in PROMISED[name])
    query = QUERIES[name]
    assert [parameter.name for parameter in query.parameters] == parameters
    assert list(query.units)[: len(columns)] == columns


@every_query
def test_every_column_has_its_unit_in_order(query: Query, ledger: HandMadeLedger) -> None:
    with closing(sqlite3.connect(ledger.path)) as connection:
        reports.prepare_connection(connection, "UTC")
        columns, _ = reports.run(connection, query, {})
    assert columns == list(query.units)
    assert set(query.units.values()) <= set(reports.UNITS)


@every_query
def test_the_parameters_are_those_of_the_statement(query: Query) -> None:
    assert {parameter.name for parameter in query.parameters} == set(
        re.findall(r":(\w+)", statement(query))
    )
    assert {parameter.kind for parameter in query.parameters} <= KINDS
    assert all(parameter.default for parameter in query.parameters)


@every_query
def test_a_query_of_a_window_also_takes_a_profile(query: Query) -> None:
    names = {parameter.name for parameter in query.parameters}
    assert {"since", "until", "profile"} <= names or not {"since", "until"} & names


@every_query
def test_it_is_told_in_words(query: Query) -> None:
    assert query.title
    assert "\n" not in query.description
    assert query.description.endswith(".")


@every_query
def test_every_amount_names_the_count_of_its_unpriced_calls_or_is_exact(query: Query) -> None:
    """Lower bounds and differences say by their unit what they are."""
    assert list(query.unpriced) == [column for column, unit in query.units.items() if unit == "usd"]
    for counted in query.unpriced.values():
        assert counted == reports.EXACT or query.units[counted] == "count"


def test_only_amounts_that_unpriced_calls_cannot_change_are_exact() -> None:
    assert {
        (name, column)
        for name, query in QUERIES.items()
        for column, counted in query.unpriced.items()
        if counted == reports.EXACT
    } == {
        # A call of its own, the call that flipped a model, what a run says of itself, a mean of
        # priced calls alone, and a limit.
        ("turn_timeline", "cost_usd"),
        ("free_paid_history", "first_paid_cost_usd"),
        ("reconcile", "run_usd"),
        ("cost_by_session", "usd_per_call"),
        ("budget_alert_history", "limit_usd"),
    }


@every_query
def test_money_is_never_without_the_calls_that_have_no_price(query: Query) -> None:
    """Unless its unit or its front matter says that no such call can change it."""
    counted = [
        column
        for column, unit in query.units.items()
        if unit in ("usd", "usd_difference") and query.unpriced.get(column) != reports.EXACT
    ]
    assert not counted or "unpriced_calls" in query.units


@every_query
def test_a_chart_draws_columns_of_its_own_on_the_default_axes(query: Query) -> None:
    if query.chart is None:
        return
    first, second, *others = query.units
    assert (query.chart["x"], query.chart["y"]) == (first, second)
    assert query.chart.get("color") in (None, *others)
    assert query.chart["mark"] in MARKS
    assert {query.chart["x_type"], query.chart["y_type"]} <= TYPES


@every_query
def test_a_limit_of_rows_is_told(query: Query) -> None:
    limited = "limit 1000" in statement(query)
    assert limited == ("newest 1,000" in query.description)


@every_query
def test_the_default_window_is_the_one_that_is_told(query: Query) -> None:
    told = [parameter.default for parameter in query.parameters if parameter.kind == "since"]
    days = re.search(r"\d+", named_rows(query, "default_window") or "")
    assert re.findall(r"\d+ days", " ".join(told)) == ([f"{days[0]} days"] if days else [])


@every_query
def test_it_only_reads(query: Query, ledger: HandMadeLedger) -> None:
    reading = {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
    }
    with closing(sqlite3.connect(ledger.path)) as connection:
        reports.prepare_connection(connection, "UTC")
        # When it is used first, SQLite declares it to itself as a table.
        connection.execute("select value from json_each('[]')")
        connection.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_OK if action in reading else sqlite3.SQLITE_DENY
        )
        reports.run(connection, query, {})


@pytest.mark.parametrize("name", ["bounds", "profile_tree", "heirs"])
def test_the_window_and_the_profile_have_one_wording(name: str) -> None:
    """Every query that takes since takes it, and a profile, in the same words."""
    windowed = [
        query
        for query in QUERIES.values()
        if any(parameter.kind == "since" for parameter in query.parameters)
    ]
    assert len(windowed) == 27
    assert len({named_rows(query, name) for query in windowed}) == 1
    assert None not in {named_rows(query, name) for query in windowed}


@pytest.mark.parametrize("name", ["firsts", "local_days", "calendar"])
def test_local_days_have_one_wording_but_for_the_table_and_its_reach(name: str) -> None:
    daily = [query for query in QUERIES.values() if "day" in query.units]
    texts = {
        re.sub(
            r"\breach\b",  # the window, and the days before it that it is compared with
            "bounds",
            re.sub(
                r"\bfrom (llm_calls|llm_call_errors)\b",
                "from TABLE",
                named_rows(query, name) or "",
            ),
        )
        for query in daily
    }
    assert len(daily) == 5
    assert len(texts) == 1
    assert "" not in texts
