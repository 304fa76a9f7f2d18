"""What tests stand on: a telemetry home of their own, and the pieces that ./scripts/test brings."""

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def hermes_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home of host and telemetry: no test touches the user's own ledger or files."""
    home = tmp_path / "hermes-home"
    home.mkdir()
    monkeypatch.setenv("HERMES_HOME", str(home))
    monkeypatch.setenv("HERMES_TELEMETRY_HOME", str(home))
    monkeypatch.delenv("COLUMNS", raising=False)  # tables are as wide as their rows
    monkeypatch.setenv("HERMES_TELEMETRY_NO_SETUP", "1")  # no list prices are fetched by themselves
    return home


@pytest.fixture(scope="session")
def host_python() -> Path:
    """The interpreter of an environment that holds a real Hermes Agent and this project."""
    return _piece("HERMES_TELEMETRY_TEST_HOST", "the environment of the real Hermes Agent") / (
        "bin/python"
    )


@pytest.fixture(scope="session")
def hermes(host_python: Path) -> Path:
    """The `hermes` command of the same environment."""
    return host_python.with_name("hermes")


@pytest.fixture(scope="session")
def chromium() -> Path:
    """A Chromium that runs headless."""
    return _piece("HERMES_TELEMETRY_TEST_CHROMIUM", "Chromium")


def _piece(variable: str, name: str) -> Path:
    """The path in `variable`, which ./scripts/test sets; without it skips, and under CI fails."""
    path = os.environ.get(variable)
    if path:
        return Path(path)
    message = f"{name} is missing ({variable} is not set): run ./scripts/test without --fast"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
