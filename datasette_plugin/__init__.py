"""Datasette plugin: shows telemetry ledgers with their queries, descriptions and links.

Only hooks stand here. Datasette loads this module while `datasette.app` is half imported, and an
exception at import would stop the whole `datasette` command: hence the one import from it.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from urllib.parse import urlencode

from datasette import hookimpl

from . import (
    access,
    bounds,
    cells,
    compat,
    guard,
    ledgers,
    login_link,
    queries,
    query_page,
    saved_charts,
    saved_charts_access,
    sqlfunctions,
)


@hookimpl(tryfirst=True)  # before another plugin merges something into the user's metadata
async def startup(datasette):
    await ledgers.of(datasette).refresh(datasette)
    with suppress(sqlite3.Error):  # the cost review says what is wrong with the file
        await saved_charts.attach(datasette)


@hookimpl(trylast=True)  # around what other plugins wrap: they see no request for another host
def asgi_wrapper(datasette):
    def wrap(app):
        async def answer(scope, receive, send):
            if scope["type"] == "http":
                # A recorder makes or upgrades a file whenever it likes: no restart is needed.
                await ledgers.of(datasette).refresh(datasette)
                if await guard.refused(datasette, scope, send):
                    return
                if await bounds.refused(datasette, app, scope, receive, send):
                    return
            await app(scope, receive, send)

        return answer

    return wrap


@hookimpl
def forbidden(datasette, request, message):
    return login_link.refused(datasette, request, message)


@hookimpl
def prepare_connection(conn, database, datasette):
    sqlfunctions.register(conn, datasette, database)


@hookimpl
def prepare_jinja2_environment(env):
    from .views import formats

    formats.register(env)


@hookimpl
def register_routes():
    from .views.routes import ROUTES

    return ROUTES


@hookimpl(optionalhook=True)
def register_actions():
    return compat.actions(access.ACTIONS)


@hookimpl(optionalhook=True)
def permission_allowed(datasette, actor, action, resource):
    refused = saved_charts_access.refused(datasette, actor, action, resource)
    return refused or access.configured(datasette, actor, action, resource)


@hookimpl(optionalhook=True)
def permission_resources_sql(datasette, actor, action):
    return saved_charts_access.refusing_rule(datasette, actor, action)


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
    return linked or cells.amount(available, row, column, value)


@hookimpl
def extra_template_vars(datasette, template, database, request):
    # Neither line has another place on the database page that leaves the user's description alone.
    ledger = ledgers.of(datasette).get(database)
    if request and ledger and ledger.note and template.startswith("database"):
        datasette.add_message(request, ledger.note, datasette.WARNING)
    return {}


@hookimpl
def extra_body_script(datasette, template, database, request):
    return query_page.script(datasette, template, database, request)


@hookimpl
async def menu_links(datasette, actor):
    for database, _ in ledgers.of(datasette).items():
        if await compat.can_view_database(datasette, actor, database):
            # Without ?database= the page shows the first that the reader may see: this one.
            return [{"href": datasette.urls.path("/-/telemetry"), "label": "Telemetry"}]
    return []


@hookimpl
def database_actions(datasette, database):
    if ledgers.of(datasette).get(database) is None:
        return []
    address = datasette.urls.path(f"/-/telemetry?{urlencode({'database': database})}")
    return [{"href": address, "label": "Telemetry of this ledger"}]
