"""A ledger with rows made by hand, and Datasette on it. The same tests run on both lines."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.store import migrations
from hermes_telemetry.windows import SYSTEM_CLOCK, Clock, parse_timestamp
from support.datasette_site import Site


@pytest.fixture
def sites() -> Iterator[Callable[..., Site]]:
    """Makes Datasettes of files and Datasette's own arguments."""
    made: list[Site] = []

    def make(*files: Path, **arguments: Any) -> Site:
        made.append(Site(*files, **arguments))
        return made[-1]

    yield make
    for site in made:
        site.close()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """An empty ledger of the current schema, telemetry.db in a folder of its own."""
    path = tmp_path / "ledger" / "telemetry.db"
    path.parent.mkdir()
    migrations.migrate(path)
    return path


@pytest.fixture
def stop_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes our pages believe that it is some time, in UTC."""
    from hermes_telemetry_datasette.views import frame

    def stop(text: str) -> None:
        now, real = parse_timestamp(text), SYSTEM_CLOCK
        monkeypatch.setattr(frame, "SYSTEM_CLOCK", Clock(lambda: now, real.monotonic, real.sleep))

    return stop
