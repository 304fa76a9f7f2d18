"""The SQL functions of the queries, on each connection that Datasette opens."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from hermes_telemetry import reports

if TYPE_CHECKING:
    from datasette.app import Datasette

_ZONES: WeakKeyDictionary[Datasette, dict[str, str]] = WeakKeyDictionary()


def register(conn: sqlite3.Connection, datasette: Datasette, database: str) -> None:
    """Make the functions of `reports.prepare_connection` callable on a connection to `database`.

    Raises StartupError when the plugin setting `timezone` is no time zone.
    """
    reports.prepare_connection(conn, zone(datasette, database))


def zone(datasette: Datasette, database: str) -> str:
    """The IANA name of the zone whose local days `database` shows. Raises as `register`."""
    # Asked once: connections are opened at any time, and the local days of all must agree.
    zones = _ZONES.setdefault(datasette, {})
    if database not in zones:
        zones[database] = _zone(datasette, database)
    return zones[database]


def _zone(datasette: Datasette, database: str) -> str:
    from datasette.utils import StartupError

    setting = (datasette.plugin_config("hermes-telemetry") or {}).get("timezone")
    # Not every connection is to an attached database: Datasette has some of its own.
    attached = datasette.databases.get(database)
    path = Path(attached.path) if attached and attached.path else None
    try:
        return reports.configured_zone(setting and str(setting), path)
    except ValueError as error:
        raise StartupError(f"plugins: hermes-telemetry: timezone: {error}") from error
