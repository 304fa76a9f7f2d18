"""Where telemetry lives on disk.

The only reader of ``HERMES_TELEMETRY_HOME`` and ``HERMES_HOME``. The telemetry home is the first of
``$HERMES_TELEMETRY_HOME``, ``$HERMES_HOME`` and ``~/.hermes`` that is set, followed by
``telemetry/``.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path


def telemetry_home() -> Path:
    """Directory of the ledger and of the configuration files; it may not exist yet."""
    base = os.environ.get("HERMES_TELEMETRY_HOME") or os.environ.get("HERMES_HOME")
    root = Path(base).expanduser() if base else Path.home() / ".hermes"
    return root / "telemetry"


def hermes_home() -> Path:
    """The host's own home: ``$HERMES_HOME`` or ``~/.hermes`` (its ``cron/jobs.json`` names cron
    jobs).
    """
    return _expanded(os.environ.get("HERMES_HOME") or "~/.hermes", os.path.expanduser("~"))


@lru_cache(maxsize=4)
def _expanded(path: str, users_home: str) -> Path:
    """Remembered, as the gate asks for the names of cron jobs before each tool."""
    return Path(path).expanduser()


def hermes_root() -> Path:
    """The host's home that holds the folder ``profiles``, found as the host does: ``~/.hermes`` for
    a home in there, else the folder above ``profiles/NAME``, else ``$HERMES_HOME`` itself.
    """
    home, usual = hermes_home(), Path.home() / ".hermes"
    if home.resolve().is_relative_to(usual.resolve()):
        return usual
    return home.parent.parent if home.parent.name == "profiles" else home


def shared_telemetry_home() -> Path:
    """What ``HERMES_TELEMETRY_HOME`` is to be in every profile: what it is here, else the host's
    root, which all of them have in common.
    """
    base = os.environ.get("HERMES_TELEMETRY_HOME")
    return Path(base).expanduser() if base else hermes_root()


def database_path(home: Path | None = None) -> Path:
    """The ledger, ``telemetry.db`` in the telemetry home."""
    return (home or telemetry_home()) / "telemetry.db"


def pricing_path(home: Path | None = None) -> Path:
    """The user's prices, ``pricing.yaml`` in the telemetry home."""
    return (home or telemetry_home()) / "pricing.yaml"


def refresh_mark_path(home: Path | None = None) -> Path:
    """The file whose modification time is that of the last price refresh."""
    return (home or telemetry_home()) / ".pricing_refresh"


def budget_path(database: Path | None = None) -> Path:
    """The ``budget.yaml`` that counts for a database."""
    return _settings_home("budget.yaml", database) / "budget.yaml"


def prices_home(database: Path | None = None) -> Path:
    """The folder of the ``pricing.yaml`` that counts for a database. Commands ask for it: what is
    recorded is priced by the telemetry home's.
    """
    return _settings_home("pricing.yaml", database)


def _settings_home(name: str, database: Path | None) -> Path:
    """The database's folder if a file ``name`` stands there, else the telemetry home."""
    if database is not None and (database.parent / name).exists():
        return database.parent
    return telemetry_home()


def spill_path(database: Path) -> Path:
    """Where records wait that the database could not take, beside it and by its name: another
    database in the same folder must not take them.
    """
    return database.with_name(f"{database.stem}.spill.ndjson")
