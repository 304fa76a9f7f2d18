"""Who may do what: the plugin's two actions, and the checks that every view begins with.

Reading needs Datasette's own view-database on the database shown: a plugin's routes are guarded by
nothing else, not even by an `allow` of the whole instance. Root may do both actions, unless the
configuration names under `permissions` who may instead: the same words mean the same on both lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from datasette import Forbidden

from . import compat

if TYPE_CHECKING:
    from datasette.app import Datasette

PRUNE = "telemetry-prune"
SAVE_CHART = "telemetry-save-chart"
ACTIONS = {
    PRUNE: "Delete old failed attempts of a ledger",
    SAVE_CHART: "Save, rename and delete charts of the cost review",
}

_PORTS = {"http": 80, "https": 443}


async def require(datasette: Datasette, request: Any, action: str, database: str) -> None:
    """Raises Forbidden unless who asks may do `action` on `database`."""
    if not await compat.allowed(datasette, request.actor, action, database):
        raise Forbidden(f"{action} on {database} is not allowed for you")


def configured(datasette: Datasette, actor: dict | None, action: str, database: Any) -> bool | None:
    """Datasette 0.65's answer for an action of ours, by 1.0's rules; None: it has none."""
    if action not in ACTIONS:
        return None
    from datasette.utils import actor_matches_allow

    for block in (
        datasette.metadata("permissions", database=database, fallback=False),
        datasette.metadata("permissions"),
    ):
        if action in (block or {}):
            return actor_matches_allow(actor, block[action])
    return bool(actor and actor.get("id") == "root") or None


def require_same_site(datasette: Datasette, request: Any) -> None:
    """Raises Forbidden for what a page of another site makes a browser send.

    0.65 asks for its token only where a cookie comes along: readers who are known by anything else
    (their address, a password that the browser remembers) would not be protected. A bearer token
    is nothing that another site's page could add.
    """
    if request.headers.get("authorization", "").lower().startswith("bearer "):
        return
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None:
        foreign = site not in ("same-origin", "none")
    else:
        scheme = "https" if datasette.setting("force_https_urls") else request.scheme
        foreign = origin is not None and _place(origin) != _place(f"{scheme}://{request.host}")
    if foreign:
        raise Forbidden("this was sent by a page of another site")


def _place(origin: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(origin)
        return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return origin, None, None
