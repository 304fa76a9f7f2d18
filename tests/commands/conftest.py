"""The command line called in this process, and a ledger made by hand."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hermes_telemetry.commands.cli import main
from hermes_telemetry.pricing import Catalog
from hermes_telemetry.store import migrations
from hermes_telemetry.windows import parse_timestamp
from support.ledger import HandMadeLedger
from support.ledger_fixtures import blank_ledger
from support.rows import insert
from support.stopped_clock import StoppedClock

__all__ = ["blank_ledger"]


@dataclass(frozen=True)
class Answer:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Cli = Callable[..., Answer]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """`hermes-telemetry ARGUMENTS`, with days and times of UTC."""
    monkeypatch.setenv("TZ", "UTC")

    def run(*arguments: str | Path) -> Answer:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run


@pytest.fixture
def on_wednesday(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is Wednesday, 2026-07-01, 12:00 UTC, for the commands that ask what day it is, and for
    the queries that they run.
    """
    clock = StoppedClock().clock
    monkeypatch.setattr("hermes_telemetry.windows.SYSTEM_CLOCK", clock)
    monkeypatch.setattr("hermes_telemetry.reports.prepare_connection.__defaults__", (clock,))


@pytest.fixture
def prices_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes it a time of Wednesday, 2026-07-01, in UTC, for the commands that ask for prices."""

    def set_clock(time: str) -> None:
        now = parse_timestamp(f"2026-07-01T{time}")
        clock = replace(StoppedClock().clock, now=lambda: now)
        monkeypatch.setattr("hermes_telemetry.windows.SYSTEM_CLOCK", clock)
        monkeypatch.setitem(Catalog.__init__.__kwdefaults__, "clock", clock)

    return set_clock


@pytest.fixture
def refused(cli: Cli) -> Callable[..., str]:
    """A command that must fail as bad input does; its one line on stderr."""

    def run(*arguments: str | Path) -> str:
        answer = cli(*arguments)
        assert (answer.code, answer.out) == (2, "")
        (line,) = answer.err.splitlines()
        return line

    return run


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Two sessions: three calls on 1 July 2026, one of them without a price, and one on 2 July.

    On 1 July 0.50 + 0.25 USD and one unpriced call, on 2 July 0.0042 USD.
    """
    path = tmp_path / "telemetry.db"
    migrations.migrate(path)
    for session, profile, started in (
        ("work-session", "work", "2026-07-01T10:00:00.000000+00:00"),
        ("home-session", "home", "2026-07-02T22:30:00.000000+00:00"),
    ):
        insert(path, "runs", session_id=session, started_at=started, profile=profile)
    for session, ts, model, cost in (
        ("work-session", "2026-07-01T10:00:01.000000+00:00", "sonnet", 0.5),
        ("work-session", "2026-07-01T10:00:02.000000+00:00", "sonnet", 0.25),
        ("work-session", "2026-07-01T10:00:03.000000+00:00", "=mystery()", None),
        ("home-session", "2026-07-02T22:30:01.000000+00:00", "sonnet", 0.0042),
    ):
        insert(
            path,
            "llm_calls",
            session_id=session,
            ts=ts,
            model=model,
            provider="anthropic",
            tokens_in=1000,
            tokens_out=200,
            cache_read_tokens=30,
            cost_usd=cost,
        )
    return path


@pytest.fixture
def book(blank_ledger: Path, tmp_path: Path) -> Iterator[HandMadeLedger]:
    """An empty ledger at the newest schema, to be written by hand."""
    book = HandMadeLedger(Path(shutil.copy(blank_ledger, tmp_path / "book.db")))
    yield book
    book.close()


@pytest.fixture
def prices(hermes_home: Path) -> Path:
    """The place of pricing.yaml in the telemetry home; there is no file yet."""
    folder = hermes_home / "telemetry"
    folder.mkdir()
    return folder / "pricing.yaml"
