"""`hermes-telemetry doctor` beside files that it may not read, or that go away meanwhile."""

from pathlib import Path

import pytest

from hermes_telemetry.paths import database_path, spill_path
from hermes_telemetry.store.migrations import migrate
from hermes_telemetry.store.spill import Spill
from support.doctor import faults_of

BATCH = "telemetry.spill.20260701T120000.000000-0a.ndjson"


@pytest.fixture
def path() -> Path:
    """An empty ledger in the telemetry home."""
    database_path().parent.mkdir()
    migrate(database_path())
    return database_path()


@pytest.mark.parametrize("arguments", [[], ["--repair"]])
def test_a_waiting_batch_that_cannot_be_read(
    cli, path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    def closed(self: Spill) -> int:
        raise PermissionError(13, "Permission denied", BATCH)

    # The superuser, who may run this, may read everything.
    monkeypatch.setattr(Spill, "waiting_lines", closed)
    assert faults_of(cli("doctor", *arguments)) == {
        "spill": f"{BATCH} cannot be read: Permission denied: make it readable for this user, or"
        " look as the user that runs Hermes"
    }


def test_a_batch_that_goes_away_meanwhile_is_no_fault(
    cli, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(self: Spill) -> int:
        raise FileNotFoundError(2, "No such file or directory", BATCH)

    monkeypatch.setattr(Spill, "waiting_lines", gone)
    answer = cli("doctor")
    assert faults_of(answer) == {}
    assert f"{BATCH} went away: look again" in answer.out


def test_rejected_records_that_cannot_be_read(cli, path: Path) -> None:
    aside = spill_path(path).with_suffix(".rejected")
    aside.mkdir()
    assert faults_of(cli("doctor"))["spill"].startswith(f"{aside} cannot be read: Is a directory: ")
