"""What Datasette 1.0 is told of a ledger, into its internal database.

That may be a file (`--internal`): it then holds what an earlier run said, perhaps of other files or
by another release of this project, beside what others wrote there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import descriptions, queries

if TYPE_CHECKING:
    from datasette.app import Datasette

    from .ledgers import Ledger

_SOURCE = "hermes-telemetry"
_KEY = "description"
ORDERS = {"sort", "sort_desc"}

# A database, a table or a column: (database,), (database, table), (database, table, column).
Place = tuple[str, ...]


async def tell(datasette: Datasette, database: str, ledger: Ledger | None) -> None:
    """Tell what `database` offers now; None when it is no ledger."""
    await _offer_queries(datasette, database, ledger.queries if ledger else {})
    if ledger:
        await _describe(datasette, database, descriptions.of_ledger(ledger))
        # 1.0 reads the order of a table from its configuration alone.
        tables = datasette.config.setdefault("databases", {}).setdefault(database, {})
        tables = tables.setdefault("tables", {})
        for table, column in descriptions.newest_first(ledger).items():
            if not ORDERS & tables.setdefault(table, {}).keys():
                tables[table]["sort_desc"] = column


async def _offer_queries(datasette: Datasette, database: str, offered: Mapping[str, Any]) -> None:
    for name, query in offered.items():
        # Not by list_queries, which hides what is not public.
        present = await datasette.get_query(database, name)
        if present is None or present.source == _SOURCE:
            said = queries.canned(query)
            said["parameters"] = said.pop("params")
            await datasette.add_query(database, name, is_trusted=True, source=_SOURCE, **said)
    await datasette.get_internal_database().execute_write(
        "delete from queries where source = ?"
        " and (database_name = ? and name not in (select value from json_each(?))"
        " or database_name not in (select value from json_each(?)))",
        [_SOURCE, database, json.dumps(list(offered)), json.dumps(list(datasette.databases))],
    )


async def _describe(datasette: Datasette, name: str, said: Mapping[str, Any]) -> None:
    """Tell the descriptions, but for those of places where somebody else's stands.

    Ours are those that were ever told: each is remembered by place and text.
    """
    reads_and_writes = (
        (datasette.get_database_metadata, datasette.set_database_metadata),
        (datasette.get_resource_metadata, datasette.set_resource_metadata),
        (datasette.get_column_metadata, datasette.set_column_metadata),
    )
    internal = datasette.get_internal_database()
    await internal.execute_write(
        "create table if not exists hermes_telemetry_told"
        " (place text, description text, primary key (place, description))"
    )
    told = {
        tuple(row)
        for row in await internal.execute("select place, description from hermes_telemetry_told")
    }
    news = []
    for place, text in _texts(name, said):
        read, write = reads_and_writes[len(place) - 1]
        present = (await read(*place)).get(_KEY)
        if present is None or (present != text and (json.dumps(place), present) in told):
            news.append((place, text, write))
    # Remembered first: a run that ends between the two leaves nothing that seems somebody else's.
    await internal.execute_write_many(
        "insert or ignore into hermes_telemetry_told (place, description) values (?, ?)",
        [(json.dumps(place), text) for place, text, _ in news],
    )
    for place, text, write in news:
        await write(*place, _KEY, text)


def _texts(name: str, said: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    yield (name,), said[_KEY]
    for table, about in said["tables"].items():
        yield (name, table), about[_KEY]
        for column, text in about["columns"].items():
            yield (name, table, column), text
