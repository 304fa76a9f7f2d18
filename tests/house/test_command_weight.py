"""No command loads what it does not use: neither its help nor its work."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_telemetry.commands.parser import build_parser
from hermes_telemetry.store import migrations
from support.command_tree import every_command

ANALYTICS = {"datasette", "httpx", "sqlite_utils", "vl_convert", "jinja2", "uvicorn"}
NETWORK = {"requests", "urllib3"}
PRICES = {"genai_prices", "pydantic"}
EDITING = {"ruamel.yaml"}
HEAVY = ANALYTICS | NETWORK | PRICES | EDITING
# argparse and the tree are all that help may cost.
NOT_FOR_HELP = HEAVY | {"asyncio", "sqlite3", "yaml", "decimal", "csv", "zoneinfo"}

SCRIPT = """
import contextlib, io, json, sys
before = set(sys.modules)
from hermes_telemetry.commands.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    code = main(sys.argv[1:])
print(json.dumps([code, sorted(set(sys.modules) - before)]))
"""


def loaded(folder: Path, *words: str) -> set[str]:
    """The modules that a command loads, which must succeed."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words],
        cwd=folder,
        env=os.environ | {"TZ": "UTC"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    code, modules = json.loads(done.stdout)
    assert code == 0, done.stderr
    return set(modules)


@pytest.mark.parametrize("command", ["", *(name for name, _ in every_command(build_parser()))])
def test_help_costs_the_parser_alone(tmp_path: Path, command: str) -> None:
    assert NOT_FOR_HELP & loaded(tmp_path, *command.split(), "--help") == set()


@pytest.mark.parametrize(
    "words",
    [
        *(["query", "cost_by_day"], ["query", "--list"], ["stats", "summary"], ["stats", "smells"]),
        *(["budget"], ["budget", "cron"], ["budget", "check"], ["forecast"]),
        *(["forecast", "--backtest"], ["optimize"], ["migrate"], ["prune", "--before", "1d"]),
        *(["pricing", "fill"], ["export", "out"], ["setup"], ["sync-profiles"]),
        ["merge", "merged.db", "hermes-home/telemetry/telemetry.db"],
    ],
    ids=" ".join,
)
def test_a_command_loads_what_it_uses(tmp_path: Path, hermes_home: Path, words: list[str]) -> None:
    path = hermes_home / "telemetry" / "telemetry.db"
    path.parent.mkdir()
    migrations.migrate(path)
    used = PRICES if words[0] == "pricing" else set()
    assert (HEAVY - used) & loaded(tmp_path, *words) == set()
