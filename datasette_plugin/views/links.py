"""Addresses of the rows behind a figure, in Datasette's own tables."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from hermes_telemetry.windows import BEGINNING, END, Window, bound

from .frame import Page


def rows_url(page: Page, table: str, window: Window | None = None, **filters: Any) -> str:
    """The rows of `table` with a `ts` in the window whose columns have these values.

    A value may be None, which is NULL.
    """
    given: dict[str, Any] = {}
    for column, value in filters.items():
        given |= {f"{column}__isnull": 1} if value is None else {f"{column}__exact": value}
    if window is not None and window.start != BEGINNING:
        given["ts__gte"] = bound(window.start)
    if window is not None and window.end != END:
        given["ts__lt"] = bound(window.end)
    path = str(page.datasette.urls.table(page.database, table))
    return f"{path}?{urlencode(given)}" if given else path
