"""Everything in which Datasette 0.65 and 1.0 differ for this plugin, told apart by what they offer.

0.65 asks, by hooks, at each request. 1.0 is told: its internal database holds queries and
descriptions, and `publish` writes them when a database is first seen or changes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from . import descriptions, queries

if TYPE_CHECKING:
    from datasette.app import Datasette

    from .ledgers import Ledger, Ledgers

_SOURCE = "hermes-telemetry"
_ORDERS = {"sort", "sort_desc"}


def _is_told(datasette: Datasette) -> bool:
    return hasattr(datasette, "add_query")


def user_metadata(datasette: Datasette) -> Mapping[str, Any]:
    """The user's metadata by database. Empty on 1.0, which keeps it apart from what it is told."""
    return {} if _is_told(datasette) else deepcopy(datasette.metadata("databases") or {})


def metadata(attached: Ledgers) -> dict[str, Any]:
    """What 0.65 is answered when it asks for metadata, a new object each time."""
    databases = {}
    for name, ledger in attached.items():
        databases[name] = descriptions.of_ledger(ledger)
        theirs = attached.user_metadata(name).get("tables") or {}
        for table, column in descriptions.newest_first(ledger).items():
            # Beside the user's own order, ours would be an error on that table's page.
            if not _ORDERS & (theirs.get(table) or {}).keys():
                databases[name]["tables"][table]["sort_desc"] = column
    return {"databases": databases}


async def can_view_database(datasette: Datasette, actor: dict | None, database: str) -> bool:
    """Whether `actor` may see `database`."""
    if not hasattr(datasette, "allowed"):
        permissions = [("view-database", database), "view-instance"]
        return (await datasette.check_visibility(actor, permissions=permissions))[0]
    from datasette.resources import DatabaseResource

    resource = DatabaseResource(database)
    return await datasette.allowed(action="view-database", resource=resource, actor=actor)


async def publish(datasette: Datasette, database: str, ledger: Ledger | None) -> None:
    """Tell 1.0 what `database` offers now; None when it is no ledger."""
    if not _is_told(datasette):
        return
    offered = ledger.queries if ledger else {}
    for name, query in offered.items():
        # Not by list_queries, which hides what is not public.
        present = await datasette.get_query(database, name)
        if present is None or present.source == _SOURCE:
            said = queries.canned(query)
            said["parameters"] = said.pop("params")
            await datasette.add_query(database, name, is_trusted=True, source=_SOURCE, **said)
    # An internal database that is a file holds what an earlier run said, of other files too.
    await datasette.get_internal_database().execute_write(
        "delete from queries where source = ?"
        " and (database_name = ? and name not in (select value from json_each(?))"
        " or database_name not in (select value from json_each(?)))",
        [_SOURCE, database, json.dumps(list(offered)), json.dumps(list(datasette.databases))],
    )
    if ledger:
        await _describe(datasette, database, descriptions.of_ledger(ledger))
        # 1.0 reads the order of a table from its configuration alone.
        tables = datasette.config.setdefault("databases", {}).setdefault(database, {})
        tables = tables.setdefault("tables", {})
        for table, column in descriptions.newest_first(ledger).items():
            if not _ORDERS & tables.setdefault(table, {}).keys():
                tables[table]["sort_desc"] = column


async def _describe(datasette: Datasette, name: str, said: Mapping[str, Any]) -> None:
    """Tell 1.0 the descriptions, but for those it has: the user's, or ours from an earlier run."""
    key = "description"
    if key not in await datasette.get_database_metadata(name):
        await datasette.set_database_metadata(name, key, said[key])
    for table, about in said["tables"].items():
        if key not in await datasette.get_resource_metadata(name, table):
            await datasette.set_resource_metadata(name, table, key, about[key])
        for column, text in about["columns"].items():
            if key not in await datasette.get_column_metadata(name, table, column):
                await datasette.set_column_metadata(name, table, column, key, text)
