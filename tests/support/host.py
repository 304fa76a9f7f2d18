"""Drives a real Hermes Agent: a home of its own, its commands, and what the recorder wrote there.

    host = Host(folder, python, provider)
    host.run("chat", "-Q", "-q", "count the files")
    assert host.rows("select tool_name, ok from tool_calls") == [("terminal", 1)]

Nothing of the caller's environment reaches the host, and nothing it asks for leaves the machine.
"""

import json
import os
import sqlite3
import subprocess
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest

from support.provider import Provider

PLUGIN = "hermes-telemetry"

# USD per million tokens: what the tests' costs are worked out from.
PRICES: dict[str, dict[str, float]] = {
    "fake-model": {"input": 3, "output": 15, "cache_read": 0.3},
    "fake-aggregator": {"input": 10, "output": 50, "cache_read": 1},
}

# No run of the host takes as long, whatever else the machine does.
_SECONDS = 90

# Nobody listens on the discard port, so whatever is sent through this proxy fails at once.
_NOWHERE = "http://127.0.0.1:9"


class Host:
    """One user of Hermes in `folder`; `profile` names the Hermes profile, if not the default."""

    def __init__(
        self, folder: Path, python: Path, provider: Provider, profile: str | None = None
    ) -> None:
        root = folder / ".hermes"
        self.folder = folder
        self.home = root / "profiles" / profile if profile else root
        self.telemetry = self.home / "telemetry"
        self.ledger = self.telemetry / "telemetry.db"
        self.provider = provider
        self.python = python
        self.home.mkdir(parents=True)
        self.configure()
        self.set_prices(PRICES)

    def configure(self, **sections: Any) -> None:
        """Write `config.yaml`: provider, plugin, one attempt a call; `sections` come on top."""
        config: dict[str, Any] = {
            "model": {
                "provider": "custom",
                "base_url": self.provider.url,
                "api_key": "not-a-key",
                "default": "fake-model",
                # Unknown, it is looked up on the network.
                "context_length": 200_000,
            },
            "plugins": {"enabled": [PLUGIN]},
            # The scanner of commands would be downloaded.
            "security": {"allow_lazy_installs": False, "tirith_enabled": False},
            "agent": {"api_max_retries": 1},
        }
        # JSON is YAML.
        (self.home / "config.yaml").write_text(json.dumps(config | sections))

    def set_prices(self, models: Mapping[str, Mapping[str, float]]) -> None:
        """Write `pricing.yaml` with these models (USD per million tokens) and no other."""
        self.telemetry.mkdir(exist_ok=True)
        (self.telemetry / "pricing.yaml").write_text(json.dumps({"models": models}))

    def command(self, *words: str) -> list[str]:
        """The command line of `hermes WORDS…`."""
        return [str(self.python), "-m", "hermes_cli.main", *words]

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment that the host gets."""
        return {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "HOME": str(self.folder),
            "HERMES_HOME": str(self.home),
            "HERMES_DISABLE_LAZY_INSTALLS": "1",
            "HERMES_TELEMETRY_NO_SETUP": "1",
            "HTTP_PROXY": _NOWHERE,
            "HTTPS_PROXY": _NOWHERE,
            "NO_PROXY": "127.0.0.1",
        }

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `hermes WORDS…` to its end, without a terminal; `environment` is added to its own."""
        return subprocess.run(
            self.command(*words),
            cwd=self.folder,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )

    @property
    def log(self) -> str:
        """What the host has logged, its plugins included."""
        return (self.home / "logs" / "agent.log").read_text()

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query on the ledger, which is opened for reading only."""
        with closing(self._read(self.ledger)) as ledger:
            return ledger.execute(query, values).fetchall()

    def one(self, query: str, *values: object) -> dict[str, Any]:
        """The only row of a query on the ledger, by column name."""
        with closing(self._read(self.ledger)) as ledger:
            ledger.row_factory = sqlite3.Row
            (row,) = ledger.execute(query, values)
            return dict(row)

    def own_count(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query on the host's own database, which knows nothing of the recorder."""
        with closing(self._read(self.home / "state.db")) as state:
            return state.execute(query, values).fetchall()

    @staticmethod
    def _read(path: Path) -> sqlite3.Connection:
        return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)


class StartHost(Protocol):
    """Makes a host with a home and a provider of its own, by default in the usual environment."""

    def __call__(self, python: Path = ..., profile: str | None = None) -> Host: ...


def nano(usd: float) -> object:
    """Equal to `usd` to the nano-dollar."""
    return pytest.approx(usd, abs=1e-9)


def milliseconds(earlier: str, later: str) -> float:
    """The time between two timestamps of the ledger."""
    span = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    return span / timedelta(milliseconds=1)
