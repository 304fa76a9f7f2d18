"""A since or until that is no time is refused by name, before a query of ours is run with it.

SQLite keeps to itself what a function raised: all it would say is "user-defined function raised
exception".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from hermes_telemetry import reports

from . import compat, ledgers
from .refusals import refusal

if TYPE_CHECKING:
    from datasette.app import Datasette

Message = dict[str, Any]
App = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]


async def refused(
    datasette: Datasette,
    app: App,
    scope: Message,
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> bool:
    """Answer 400 to a request for a query of ours whose window cannot be read; False for others.

    Who may not see the query gets Datasette's own answer, as to any question.
    """
    path = _path(datasette, scope)
    asked = (scope.get("query_string") or b"").decode("latin-1")
    given = parse_qsl(asked, keep_blank_values=True)
    # Datasette takes the first of several.
    faults = await _faults(datasette, path, dict(reversed(given)))
    if not faults:
        return False
    answered_well = False

    async def overhear(message: Message) -> None:
        nonlocal answered_well
        if message["type"] == "http.response.start":
            answered_well = message["status"] == 200
        if not answered_well:
            await send(message)

    # Whether the asker may see the answer, Datasette alone knows: it is asked about no time at all.
    others = [pair for pair in given if pair[0] not in ("since", "until")]
    nothing = urlencode([*others, ("since", "9999-12-31")]).encode("latin-1")
    await app({**scope, "query_string": nothing}, receive, overhear)
    if answered_well:
        response = await refusal(datasette, 400, list(faults.values()), path.partition(".")[2])
        await response.asgi_send(send)
    return True


def _path(datasette: Datasette, scope: Message) -> str:
    """DATABASE/QUERY or DATABASE/QUERY.FORMAT, as Datasette reads the address."""
    raw: bytes | None = scope.get("raw_path")
    path = raw.decode("latin-1").partition("?")[0] if raw else str(scope["path"])
    return path.removeprefix(datasette.setting("base_url")).removeprefix("/")


async def _faults(datasette: Datasette, path: str, given: Mapping[str, str]) -> dict[str, str]:
    from datasette.utils import tilde_decode

    route, _, rest = path.partition("/")
    name = rest.partition(".")[0]
    try:
        database = datasette.get_database(route=tilde_decode(route)).name
    except KeyError:
        return {}
    query = ledgers.of(datasette).queries(database).get(name)
    faults = reports.unreadable(query, given) if query else {}
    # The user's own query of that name reads its parameters as it likes.
    if query and faults and await compat.sql_of(datasette, database, name) != {name: query.sql}:
        return {}
    return faults
