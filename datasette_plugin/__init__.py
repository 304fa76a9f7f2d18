"""Datasette plugin: shows telemetry ledgers with their queries, descriptions and links.

Only hooks stand here. Datasette loads this module while `datasette.app` is half imported, and an
exception at import would stop the whole `datasette` command: hence the one import from it.
"""

from __future__ import annotations

from datasette import hookimpl

from . import bounds, cells, compat, ledgers, queries, sqlfunctions


@hookimpl(tryfirst=True)  # before another plugin merges something into the user's metadata
async def startup(datasette):
    await ledgers.of(datasette).refresh(datasette)


@hookimpl
def asgi_wrapper(datasette):
    def wrap(app):
        async def answer(scope, receive, send):
            if scope["type"] == "http":
                # A recorder makes or upgrades a file whenever it likes: no restart is needed.
                await ledgers.of(datasette).refresh(datasette)
                if await bounds.refused(datasette, app, scope, receive, send):
                    return
            await app(scope, receive, send)

        return answer

    return wrap


@hookimpl
def prepare_connection(conn, database, datasette):
    sqlfunctions.register(conn, datasette, database)


@hookimpl(optionalhook=True, tryfirst=True)  # first is merged first: any later plugin's query wins
def canned_queries(datasette, database):
    attached = ledgers.of(datasette)
    theirs = attached.user_metadata(database).get("queries") or {}
    return {
        name: queries.canned(query)
        for name, query in attached.queries(database).items()
        if name not in theirs
    }


@hookimpl(optionalhook=True)
def get_metadata(datasette, key):
    # Datasette asks many times a page, mostly for keys that are never ours.
    if key not in (None, "databases"):
        return {}
    return compat.metadata(ledgers.of(datasette))


@hookimpl
def render_cell(row, value, column, database, datasette):
    available = ledgers.of(datasette).queries(database)
    linked = cells.link(datasette, available, database, column, value)
    return linked or cells.lower_bound(available, row, column, value)


@hookimpl
def extra_template_vars(datasette, template, database, request):
    # Neither line has another place on the database page that leaves the user's description alone.
    ledger = ledgers.of(datasette).get(database)
    if request and ledger and ledger.note and template.startswith("database"):
        datasette.add_message(request, ledger.note, datasette.WARNING)
    return {}


@hookimpl
async def menu_links(datasette, actor):
    for database, _ in ledgers.of(datasette).items():
        if await compat.can_view_database(datasette, actor, database):
            return [{"href": datasette.urls.database(database), "label": "Telemetry"}]
    return []
