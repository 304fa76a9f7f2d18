"""Who may see the database of saved charts: whoever may see every ledger, as it tells of all."""

from __future__ import annotations

from collections.abc import Awaitable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from . import compat, ledgers, saved_charts

if TYPE_CHECKING:
    from datasette.app import Datasette

# What is asked of a database, its tables and queries before any of its rows is shown.
_SHOWING = ("view-database", "view-table", "view-query", "execute-sql")
_IS_ASKING: ContextVar[bool] = ContextVar("is_asking", default=False)


def refused(
    datasette: Datasette, actor: dict | None, action: str, resource: Any
) -> Awaitable[bool | None] | None:
    """Datasette 0.65's answer for the file: False for whom it is not; None: it has none."""
    attached = saved_charts.attached(datasette)
    place = resource[0] if isinstance(resource, tuple) else resource
    if attached is None or action not in _SHOWING or place != attached.name:
        return None

    async def answer() -> bool | None:
        return None if await _may_see_all(datasette, actor) else False

    return answer()


def refusing_rule(datasette: Datasette, actor: dict | None, action: str) -> Awaitable[Any] | None:
    """The same as a rule of Datasette 1.0."""
    attached = saved_charts.attached(datasette)
    if attached is None or action not in _SHOWING or _IS_ASKING.get():
        return None

    async def rule() -> Any:
        from datasette.permissions import PermissionSQL

        # The rule is not for one database but for an action, also when it is a ledger's.
        token = _IS_ASKING.set(True)
        try:
            if await _may_see_all(datasette, actor):
                return None
        finally:
            _IS_ASKING.reset(token)
        sql = "select :saved_charts as parent, null as child, 0 as allow, :why as reason"
        why = "it names ledgers that are not shown"
        return PermissionSQL(sql, {"saved_charts": attached.name, "why": why})

    return rule()


async def _may_see_all(datasette: Datasette, actor: dict | None) -> bool:
    for name, _ in ledgers.of(datasette).items():
        if not await compat.can_view_database(datasette, actor, name):
            return False
    return True
