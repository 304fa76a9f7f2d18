"""Everything in which Datasette 0.65 and 1.0 differ for this plugin, told apart by what they offer.

0.65 asks, by hooks, at each request. 1.0 is told, when a database is first seen or changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from . import descriptions, told

if TYPE_CHECKING:
    from datasette.app import Datasette

    from .ledgers import Ledger, Ledgers


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
            if not told.ORDERS & (theirs.get(table) or {}).keys():
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


async def sql_of(datasette: Datasette, database: str, name: str) -> str | None:
    """The SQL of the query that `database` has under this name, whosever it is; None for none."""
    if _is_told(datasette):
        stored = await datasette.get_query(database, name)
        return stored and stored.sql
    canned = await datasette.get_canned_query(database, name, actor=None)
    return canned and canned["sql"]


async def publish(datasette: Datasette, database: str, ledger: Ledger | None) -> None:
    """Tell 1.0 what `database` offers now; None when it is no ledger."""
    if _is_told(datasette):
        await told.tell(datasette, database, ledger)
