"""What every page stands on: which ledger, who may see it, which period, and two shapes of answer.

A view is `@view(path) async def name(page: Page) -> Response`. Before it is called the ledger is
chosen and view-database is required on it; a RefusedError that it raises is answered in the shape
in which the reader asked.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, urlencode
from weakref import WeakKeyDictionary

from datasette import Forbidden, Response

from hermes_telemetry import strict_json
from hermes_telemetry.money import UNKNOWN
from hermes_telemetry.store.locking import is_busy
from hermes_telemetry.store.newest import Newest, newest
from hermes_telemetry.windows import SYSTEM_CLOCK, parse_timestamp, time_zone

from .. import assets, compat, ledgers, sqlfunctions
from ..refusals import cors, refusal
from . import formats
from .period import Period, presets

if TYPE_CHECKING:
    from datasette.app import Datasette

# What stands at the top of each page, in this order: words and path.
TABS = (
    ("Overview", "/-/telemetry"),
    ("Budget", "/-/telemetry/budget"),
    ("Cost review", "/-/telemetry/charts"),
    ("Prune", "/-/telemetry/prune"),
)

# Datasette itself writes scripts and styles into its pages, and the script that datasette-vega adds
# to every page makes a function of a text as it loads.
_POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline';"
    " script-src 'self' 'unsafe-inline' 'unsafe-eval'; object-src 'none'; base-uri 'none';"
    " form-action 'self'; frame-ancestors 'none'"
)
_RETRY_AFTER_S = 5
# How long figures are shown that may have changed without a new row, and how many are kept.
_FRESH_S = 30
_KEPT = 64

_Kept = dict[Hashable, tuple[float, Newest, Any]]
_FIGURES: WeakKeyDictionary[Datasette, _Kept] = WeakKeyDictionary()
_Figures = TypeVar("_Figures")


class RefusedError(Exception):
    """What a page does not do, with its HTTP status and why, in a line for the reader."""

    def __init__(self, status: int, why: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(why)
        self.status = status
        self.headers = dict(headers or {})

    @classmethod
    def locked(cls, more: str = "") -> RefusedError:
        """503: another program holds the file, which will pass; `more` ends the line."""
        why = f"the ledger is locked by another program: try again in a moment{more}"
        return cls(503, why, {"Retry-After": str(_RETRY_AFTER_S)})


@dataclass
class Page:
    """One request: the ledger that it shows, for whom, and how far the ledger's data go.

    `path` is the view's own, `databases` the ledgers that the reader may see. `given` holds the
    parameters of the address, the first of several. `wants_json`: errors and figures go out as
    JSON.
    """

    datasette: Datasette
    request: Any
    path: str
    database: str
    ledger: ledgers.Ledger
    databases: tuple[str, ...]
    zone: str
    now: datetime
    newest: Newest
    wants_json: bool

    @cached_property
    def given(self) -> Mapping[str, str]:
        pairs = parse_qsl(self.request.query_string, keep_blank_values=True)
        return dict(reversed(pairs))

    @cached_property
    def period(self) -> Period:
        """What the reader asked for; RefusedError 400 when that is no period."""
        try:
            return Period.asked(self.given, self.zone, self.now)
        except ValueError as error:
            raise RefusedError(400, str(error)) from error

    # --- addresses

    def url(self, path: str = "", format: str = "", **changes: str | None) -> str:
        """The address of a page of ours, this one without `path`, with ledger and period.

        `changes` replace what the link carries, None leaves it out; `format` may be json.
        """
        carried = {**self._chosen(), **self.period.arguments, **changes}
        return self._address(path or self.path, format, carried)

    @property
    def kept(self) -> dict[str, str]:
        """The period as it stands in the address, for a page that has none of its own."""
        return {
            name: text for name in ("since", "until", "profile") if (text := self.given.get(name))
        }

    def bare_url(self, path: str = "", format: str = "", **changes: str | None) -> str:
        """As `url`, with the period as it stands in the address, whether it is one or not."""
        carried = {**self._chosen(), **self.kept, **changes}
        return self._address(path or self.path, format, carried)

    def query_url(self, name: str, format: str = "", **parameters: str) -> str:
        """The page of a canned query with this period, its chart open; `format`: json, csv or sql.

        Only parameters that the query takes are carried.
        """
        query = self.ledger.queries[name]
        taken = {parameter.name for parameter in query.parameters}
        carried = {**self.period.arguments, **parameters}
        arguments = {key: text for key, text in carried.items() if key in taken}
        path = str(self.datasette.urls.query(self.database, name))
        if format == "json":
            arguments["_shape"] = "array"
        if format == "sql":
            arguments["_show_sql"] = "1"
        elif format:
            path = f"{path}.{format}"
        address = f"{path}?{urlencode(arguments)}" if arguments else path
        if query.chart and not format:
            from ..queries import fragment

            address += f"#{fragment(query.chart)}"
        return address

    def _chosen(self) -> dict[str, str]:
        return {"database": self.database} if len(self.databases) > 1 else {}

    def _address(self, path: str, format: str, carried: Mapping[str, str | None]) -> str:
        address = str(self.datasette.urls.path(path)) + (f".{format}" if format else "")
        arguments = {key: text for key, text in carried.items() if text is not None}
        return f"{address}?{urlencode(arguments)}" if arguments else address

    # --- figures

    async def read(self, look: Callable[[sqlite3.Connection], _Figures]) -> _Figures:
        """What `look` finds on a connection to the ledger that can only read, in a thread."""
        database = self.datasette.get_database(self.database)
        found: _Figures = await database.execute_fn(look)
        return found

    async def figures(
        self, name: Hashable, compute: Callable[[sqlite3.Connection], _Figures]
    ) -> _Figures:
        """As `read`, kept for 30 s by `name`, ledger and period while no row comes in.

        `name` holds whatever else the figures depend on. What is kept is not to be changed.
        """
        kept = _FIGURES.setdefault(self.datasette, {})
        key = (name, self.database, self.period)
        if key in kept:
            then, seen, figures = kept[key]
            if seen == self.newest and time.monotonic() - then < _FRESH_S:
                found: _Figures = figures
                return found
        found = await self.read(compute)
        kept.pop(key, None)
        kept[key] = (time.monotonic(), self.newest, found)
        while len(kept) > _KEPT:
            del kept[next(iter(kept))]
        return found

    def rows(
        self, conn: sqlite3.Connection, name: str, most: int | None = None
    ) -> list[dict[str, Any]]:
        """The rows of a canned query for this period, the first `most`, for use in `figures`."""
        return self.period.rows(conn, self.ledger.queries[name], most)

    # --- answers

    def local(self, ts: str | None) -> str:
        """A stored instant as the reader's clock shows it: 14:02:11, with its day if not today."""
        if ts is None:
            return UNKNOWN
        zone = time_zone(self.zone)
        try:
            moment, now = parse_timestamp(ts).astimezone(zone), self.now.astimezone(zone)
        except (TypeError, ValueError, OverflowError):  # a file of other builds may hold anything
            return _as_text(ts)
        clock = f"{moment:%H:%M:%S}"
        if moment.date() == now.date():
            return clock
        day = f"{moment.day} {moment:%b}" + (f" {moment.year}" if moment.year != now.year else "")
        return f"{day} {clock}"

    def json(self, said: Mapping[str, Any], status: int = 200) -> Response:
        """`said` as JSON, in which an infinite number is null: JSON has none."""
        headers = cors(self.datasette)
        return Response.json(
            strict_json.finite(said), status=status, headers=headers, default=_as_text
        )

    async def answer(
        self,
        template: str,
        said: Mapping[str, Any],
        *,
        period: bool = True,
        status: int = 200,
        **shown: Any,
    ) -> Response:
        """`said` as JSON, or as the page of `template`, which also gets `shown` and `page`.

        JSON begins with ok, database and, for a page with a `period`, zone, since, until, profile
        and data_to (the newest record's time, ISO-8601 in UTC).
        """
        common: dict[str, Any] = {"ok": True, "database": self.database}
        if period:
            common |= {**self.period.said(), "data_to": self.newest.ts}
        if self.wants_json:
            return self.json({**common, **said}, status)
        context = {
            **said,
            **shown,
            "page": self,
            "name": formats.name,
            "database": self.database,
            "tabs": TABS,
            "period": self.period if period else None,
            "presets": presets(self.period.today) if period else {},
            "stylesheet": assets.url(self.datasette, "telemetry.css"),
        }
        html = await self.datasette.render_template(template, context, request=self.request)
        headers = {"Content-Security-Policy": _POLICY}
        return Response.html(html, status=status, headers=headers)


View = Callable[[Page], Awaitable[Response]]


def view(path: str) -> Callable[[View], Callable[..., Awaitable[Response]]]:
    """Makes a view of ours one of Datasette's, for `path` and the same with .json behind it."""

    def wrap(inner: View) -> Callable[..., Awaitable[Response]]:
        async def outer(request: Any, datasette: Any) -> Response:
            wants_json = _wants_json(request)
            try:
                return await inner(await _page(datasette, request, path, wants_json))
            except Forbidden as error:
                if not wants_json:
                    raise  # Datasette's own page, or that of a plugin by which one logs in.
                refused = RefusedError(403, str(error))
            except RefusedError as error:
                refused = error
            except sqlite3.OperationalError as error:
                if not is_busy(error):
                    raise
                refused = RefusedError.locked()
            shape = "json" if wants_json else ""
            said, headers = [str(refused)], refused.headers
            return await refusal(datasette, refused.status, said, shape, request, headers)

        # Not functools.wraps: Datasette reads off the signature what to call it with.
        outer.__name__, outer.__doc__ = inner.__name__, inner.__doc__
        return outer

    return wrap


def forget(datasette: Datasette) -> None:
    """Drop the figures that were kept: rows are gone."""
    _FIGURES.pop(datasette, None)


def _as_text(value: object) -> str:
    """For JSON, which knows no bytes: a file of another build may hold them in any column."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _wants_json(request: Any) -> bool:
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return (
        request.path.endswith(".json")
        or sent == "application/json"
        or "application/json" in request.headers.get("accept", "")
    )


async def _page(datasette: Datasette, request: Any, path: str, wants_json: bool) -> Page:
    attached = dict(ledgers.of(datasette).items())
    visible = [
        name for name in attached if await compat.can_view_database(datasette, request.actor, name)
    ]
    asked = request.args.get("database")
    if asked and asked not in attached:
        raise RefusedError(404, f"{asked!r} is not an attached ledger")
    if not attached:
        raise RefusedError(404, "no ledger is attached here")
    if not visible or (asked and asked not in visible):
        raise Forbidden("view-database")
    database = asked or visible[0]
    look = partial(newest, tables=attached[database].columns)
    return Page(
        datasette=datasette,
        request=request,
        path=path,
        database=database,
        ledger=attached[database],
        databases=tuple(visible),
        zone=sqlfunctions.zone(datasette, database),
        now=SYSTEM_CLOCK.now(),
        newest=await datasette.get_database(database).execute_fn(look),
        wants_json=wants_json,
    )
