"""Ledgers full of failed attempts, and what a prune rule should leave, by a query of its own."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from hermes_telemetry.store import migrations


def build(path: Path, rows: int) -> None:
    """A current ledger with ``rows`` failed attempts, one a minute from 2020-01-01 on, id by id.

    30 groups of a model, a provider and a status code (every third without one), of very different
    sizes, and in the first 300 rows alone the 6 groups of a retired model, 50 rows each; a quarter
    of all rows is of the type Timeout.
    """
    migrations.migrate(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("pragma synchronous = off")
        connection.execute(
            """
            with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ?)
            insert into llm_call_errors
              (session_id, ts, model, provider, status_code, error_type, error_message)
            select
              'storm-' || (i / 50),
              strftime('%Y-%m-%dT%H:%M:%S', 1577836800 + 60 * i, 'unixepoch') || '.000000+00:00',
              case when i < 300 then 'retired' else 'model-' || min(i * 7919 % 40, 4) end,
              'provider-' || (i % 2),
              nullif(i % 3 * 100 + 300, 300),
              case when i % 4 then 'RateLimitError' else 'Timeout' end,
              'Rate limit reached for requests: try again in 20 s'
            from n
            """,
            (rows,),
        )


def to_stay(
    connection: sqlite3.Connection,
    before: str,
    keep_last: int = 0,
    statuses: Sequence[int | None] | None = None,
    types: Sequence[str] | None = None,
    model: str | None = None,
    provider: str | None = None,
) -> list[int]:
    """The ids that a rule leaves, each row judged by its place in its group."""
    return [
        id
        for id, ts, place, row_model, row_provider, status, type in connection.execute(
            """
            select
              id,
              ts,
              row_number() over (
                partition by model, provider, status_code order by ts desc, id desc
              ),
              model,
              provider,
              status_code,
              error_type
            from llm_call_errors
            order by id
            """
        )
        if not (
            ts < before
            and place > keep_last
            and (statuses is None or status in statuses)
            and (types is None or type in types)
            and model in (None, row_model)
            and provider in (None, row_provider)
        )
    ]


def ids(path: Path) -> list[int]:
    """The ids of the failed attempts that are there."""
    with closing(sqlite3.connect(path)) as connection:
        return [id for (id,) in connection.execute("select id from llm_call_errors order by id")]
