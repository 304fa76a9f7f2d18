"""A recorder at work on a ledger of its own, what stands there, and what it said."""

import logging
import sqlite3
from pathlib import Path
from typing import Any

from hermes_telemetry.paths import database_path
from hermes_telemetry.recorder import Recorder
from support.stopped_clock import StoppedClock

Row = dict[str, Any]


class Recording:
    """``hooks`` record into ``home`` while the test moves ``time``; ``said`` are the log lines."""

    def __init__(self, home: Path, time: StoppedClock | None = None) -> None:
        self.home = home
        self.path = database_path(home)
        self.time = time or StoppedClock()
        self.profile: Any = None
        self.recorder = Recorder(home=home, clock=self.time.clock, profile=lambda: self.profile)
        self.hooks = self.recorder.hooks()
        self.said: list[str] = []
        self._handler = _Ear(self.said)
        logging.getLogger("hermes_telemetry").addHandler(self._handler)

    def close(self) -> None:
        logging.getLogger("hermes_telemetry").removeHandler(self._handler)

    def fire(self, hook: str, /, **payload: Any) -> Any:
        """One hook call; what it returned."""
        return self.hooks[hook](**payload)

    def rows(self, table: str) -> list[Row]:
        """All rows in the order they came, each text checked to be UTF-8."""
        connection = sqlite3.connect(self.path)
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda stored: stored.decode("utf-8", "strict")
        try:
            return [
                dict(row) for row in connection.execute(f"select * from {table} order by rowid")
            ]
        finally:
            connection.close()

    def row(self, table: str) -> Row:
        """The one row of a table."""
        (row,) = self.rows(table)
        return row

    def status(self, session_id: str = "s") -> tuple[str, bool]:
        """A run's status, and whether it has an end."""
        (run,) = (run for run in self.rows("runs") if run["session_id"] == session_id)
        return run["status"], run["ended_at"] is not None

    def forget(self, *tables: str) -> None:
        """Empty some tables."""
        self.change(*(f"delete from {table}" for table in tables))

    def change(self, *statements: str) -> None:
        """What somebody else does to the ledger."""
        connection = sqlite3.connect(self.path)
        with connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()


class _Ear(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.INFO)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(f"{record.levelname}: {record.getMessage()}")
