"""A ledger of four failed attempts, and Datasettes that serve it to whoever may prune it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hermes_telemetry.store import migrations
from support.rows import insert
from support.web_actors import Web, may, serving

PATH = "/-/telemetry/prune"
# Who is named may, and nobody else: root is named too.
ANN_MAY = may("telemetry-prune", {"id": ["ann", "root"]})

# 1-3 are older than June 2024, 4 is not.
OLD = [("2024-05-01", "sonnet", 429), ("2024-05-02", "sonnet", 429), ("2024-05-03", "gpt", None)]
KEPT = "2024-06-05T10:00:00.000000+00:00"


def fill(path: Path) -> None:
    """The four failed attempts, and no others."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("delete from llm_call_errors")
    for id, (day, model, status) in enumerate(OLD, start=1):
        failure(path, id, f"{day}T10:00:00.000000+00:00", model, status)
    failure(path, 4, KEPT, "sonnet", 429)


def failure(path: Path, id: int, ts: str, model: str, status: int | None) -> None:
    insert(
        path,
        "llm_call_errors",
        id=id,
        session_id="s",
        ts=ts,
        model=model,
        provider="p",
        status_code=status,
        error_type="Timeout" if status is None else "ApiError",
    )


@contextmanager
def served_failures(
    folder: Path, configuration: dict[str, Any], *options: str | Path
) -> Iterator[tuple[Web, Path]]:
    """A server on the four attempts, and their file in `folder`."""
    path = folder / "telemetry.db"
    migrations.migrate(path)
    fill(path)
    with serving(*options, path, configuration=configuration, folder=folder) as web:
        yield web, path
