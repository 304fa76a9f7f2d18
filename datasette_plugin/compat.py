"""Everything in which Datasette 0.65 and 1.0 differ for this plugin, told apart by what they offer.

0.65 asks, by hooks, at each request. 1.0 is told, when a database is first seen or changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any

from . import descriptions, told

if TYPE_CHECKING:
    from datasette.app import Datasette
    from datasette.database import Database

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
    return await allowed(datasette, actor, "view-database", database)


async def can_view_query(datasette: Datasette, actor: dict | None, place: tuple[str, str]) -> bool:
    """Whether `actor` may see the query of a database and name, which need not be there."""
    if not hasattr(datasette, "allowed"):
        permissions = [("view-query", place), ("view-database", place[0]), "view-instance"]
        return (await datasette.check_visibility(actor, permissions=permissions))[0]
    from datasette.resources import QueryResource

    return await datasette.allowed(action="view-query", resource=QueryResource(*place), actor=actor)


async def allowed(datasette: Datasette, actor: dict | None, action: str, database: str) -> bool:
    """Whether `actor` may do `action`, which nobody may unless it is said, on `database`."""
    if not hasattr(datasette, "allowed"):
        return bool(await datasette.permission_allowed(actor, action, resource=database))
    from datasette.resources import DatabaseResource

    return await datasette.allowed(action=action, resource=DatabaseResource(database), actor=actor)


def actions(described: Mapping[str, str]) -> list[Any]:
    """What 1.0 is told of actions on a database, by name; 0.65 asks without being told."""
    from datasette.permissions import Action
    from datasette.resources import DatabaseResource

    needed = {"resource_class": DatabaseResource, "also_requires": "view-database"}
    return [Action(name=name, description=text, **needed) for name, text in described.items()]


async def write(database: Database, change: Callable[[Connection], None]) -> None:
    """Let `change`, which opens its transactions itself, have the connection that may write."""
    # 1.0 would open one around it all.
    own = {"transaction": False} if hasattr(database.ds, "allowed") else {}
    await database.execute_write_fn(change, **own)


async def sql_of(datasette: Datasette, database: str, *names: str) -> dict[str, str]:
    """The SQL of the queries that `database` has under these names, whosever they are."""
    if _is_told(datasette):
        stored = {name: await datasette.get_query(database, name) for name in names}
        return {name: query.sql for name, query in stored.items() if query}
    canned = await datasette.get_canned_queries(database, actor=None)
    return {name: canned[name]["sql"] for name in names if name in canned}


async def publish(datasette: Datasette, database: str, ledger: Ledger | None) -> None:
    """Tell 1.0 what `database` offers now; None when it is no ledger."""
    if _is_told(datasette):
        await told.tell(datasette, database, ledger)
