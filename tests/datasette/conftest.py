"""A ledger with rows made by hand, and Datasette on it. The same tests run on both lines."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.store import migrations
from hermes_telemetry.windows import SYSTEM_CLOCK, Clock, parse_timestamp
from support.datasette_site import Site
from support.ledger import HandMadeLedger


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


@pytest.fixture
def july(ledger: Path, stop_at: Callable[[str], None]) -> Iterator[HandMadeLedger]:
    """An empty ledger whose days are UTC's, at noon of 22 July 2026, a Wednesday."""
    stop_at("2026-07-22T12:00:00")
    ledger.with_name("budget.yaml").write_text("timezone: UTC")
    with closing(HandMadeLedger(ledger)) as made:
        yield made


@pytest.fixture
def anns(ledger: Path, stop_at: Callable[[str], None]) -> Iterator[HandMadeLedger]:
    """It is noon of 21 July; from 1 June on every day has cost 2 USD at nine, all of it ann's."""
    stop_at("2026-07-21T12:00:00")
    ledger.with_name("budget.yaml").write_text("timezone: UTC")
    with closing(HandMadeLedger(ledger)) as made:
        made.run("s", "2026-06-01T09:00", sender_id="ann")
        made.daily("2026-06-01", "2026-07-21", 2.0)
        yield made
