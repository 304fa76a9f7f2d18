"""What the recorder writes into a telemetry home that has no prices and no budget."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_telemetry.budget.config import load_budget
from support.hook_payloads import answered
from support.recording import Recording
from support.threads import wait_for_threads

FILES = ["budget.yaml", "pricing.yaml"]


@pytest.fixture
def home(hermes_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A telemetry home where prices were fetched a moment ago, so that none are now."""
    monkeypatch.delenv("HERMES_TELEMETRY_NO_SETUP")
    home = hermes_home / "telemetry"
    home.mkdir()
    (home / ".pricing_refresh").touch()
    return home


@pytest.fixture
def recording(home: Path) -> Iterator[Recording]:
    # At the machine's own time, by which the mark is new.
    recording = Recording(home)
    recording.time.seconds = time.time() - recording.time.clock.now().timestamp()
    yield recording
    recording.close()


def yaml_files(home: Path) -> list[str]:
    return sorted(name for name in os.listdir(home) if name.endswith(".yaml"))


def wait_for(home: Path, names: list[str]) -> None:
    """The files come from a thread of the recorder's."""
    deadline = time.monotonic() + 20
    while yaml_files(home) != names and time.monotonic() < deadline:
        time.sleep(0.01)
    assert yaml_files(home) == names


def test_the_first_hook_writes_both_and_the_budget_only_notifies(
    recording: Recording, home: Path
) -> None:
    recording.fire("post_api_request", **answered("s", 1))
    wait_for(home, FILES)
    budget = load_budget(home / "budget.yaml")
    assert budget.on_breach == "notify"
    assert budget.limit("global", "", "daily") == 5.0
    assert budget.limit("global", "", "monthly") == 100.0


def test_what_is_there_stays(recording: Recording, home: Path) -> None:
    (home / "budget.yaml").write_text("# I want no limit\n")
    recording.fire("post_api_request", **answered("s", 1))
    wait_for(home, FILES)
    assert (home / "budget.yaml").read_text() == "# I want no limit\n"


def test_nothing_is_written_where_that_is_not_wanted(
    recording: Recording, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_TELEMETRY_NO_SETUP", "1")
    recording.fire("post_api_request", **answered("s", 1))
    wait_for_threads("telemetry-prices")  # which says nothing when it has nothing to do
    assert yaml_files(home) == []


def test_a_home_that_cannot_be_written_costs_a_line_in_the_log_and_no_record(
    recording: Recording, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hermes_telemetry.whole_files.tempfile.mkstemp", refuse)
    recording.fire("post_api_request", **answered("s", 1))
    wait_for_threads("telemetry-prices")
    assert recording.row("llm_calls")["session_id"] == "s"
    (line,) = (line for line in recording.said if "first files" in line)
    assert line.startswith(f"WARNING: the first files of {home} were not written: ")
