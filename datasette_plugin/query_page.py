"""What the plugin adds to Datasette's page of a ledger's query, by a script.

All of the page can be reached and read by everybody, and whoever may is offered to save its chart.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from . import access, assets, compat, ledgers, queries

if TYPE_CHECKING:
    from datasette.app import Datasette


def script(
    datasette: Datasette, template: str, database: str | None, request: Any
) -> Awaitable[dict[str, Any]] | None:
    """The script of a page, as Datasette takes it; None on a page of anything else."""
    if not (template.startswith("query") and ledgers.of(datasette).get(database)):
        return None
    return _script(datasette, str(database), request)


async def _script(datasette: Datasette, database: str, request: Any) -> dict[str, Any]:
    from jinja2.utils import htmlsafe_json_dumps

    file = htmlsafe_json_dumps(assets.url(datasette, "query-page.js"))
    offer = htmlsafe_json_dumps(await _offer(datasette, database, request))
    chart = htmlsafe_json_dumps(await _chart(datasette, database, request))
    return {"script": f"import begin from {file};\nbegin({offer}, {chart});", "module": True}


async def _chart(datasette: Datasette, database: str, request: Any) -> str | None:
    """The fragment of the chart that a query of ours comes with; None for all other SQL."""
    query = ledgers.of(datasette).queries(database).get(request.url_vars.get("table", ""))
    if query is None or query.chart is None:
        return None
    # A user's own query of that name has other columns.
    sql = await compat.sql_of(datasette, database, query.name)
    return queries.fragment(query.chart) if sql.get(query.name) == query.sql else None


async def _offer(datasette: Datasette, database: str, request: Any) -> dict[str, str] | None:
    """Where to save a chart; None for who may not, and for SQL without a name to be kept by."""
    if "table" not in request.url_vars:
        return None
    if not await compat.allowed(datasette, request.actor, access.SAVE_CHART, database):
        return None
    chosen = urlencode({"database": database})
    return {
        "save": f"{datasette.urls.path('/-/telemetry/charts/saved')}?{chosen}",
        "review": f"{datasette.urls.path('/-/telemetry/charts')}?{chosen}#tm-saved",
        # 0.65 wants it back from whoever sends a cookie.
        "token": request.scope["csrftoken"](),
    }
