"""From a fresh clone to rows in a browser: `./scripts/demo`, on both lines of Datasette."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.installs import repository_of_the_working_tree
from support.tree import ROOT

DEMO = "./scripts/demo"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fresh") / "hermes-telemetry"
    folder.mkdir()
    repository_of_the_working_tree(folder)
    return folder


@contextmanager
def demo(clone: Path, *options: str) -> Iterator[tuple[str, Path]]:
    """Address and file that the demo prints; at the end it gets what Ctrl-C sends."""
    served = subprocess.Popen(
        [DEMO, *options, "--port", "0"],
        cwd=clone,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert served.stdout is not None
    try:
        printed = []
        for line in served.stdout:
            printed.append(line)
            if address := re.search(r"http://127\.0\.0\.1:\d+", line):
                yield address[0], Path(printed[-2].removeprefix("Serving ").strip())
                break
        else:
            pytest.fail("no address was printed: " + "".join(printed))
    finally:
        os.killpg(served.pid, signal.SIGINT)
        try:
            served.communicate(timeout=30)
        finally:
            served.kill()


def fetch(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=30) as answer:
        return json.load(answer)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "version"), [((), r"0\.\d+\.\d+"), (("--datasette", "1.0a41"), r"1\.0a41")]
)
def test_a_fresh_clone_serves_a_ledger(clone: Path, options: tuple[str, ...], version: str) -> None:
    with demo(clone, *options) as (address, path):
        assert re.fullmatch(version, fetch(f"{address}/-/versions.json")["datasette"]["version"])

        turns = fetch(f"{address}/telemetry/cost_per_turn.json?_shape=array&since=all")
        assert turns[0]["turn_id"]

        days = fetch(f"{address}/telemetry/cost_by_day.json?_shape=array&since=all")
        with closing(sqlite3.connect(path)) as ledger:
            calls, spent = ledger.execute(
                "select count(*), sum(cost_usd) from llm_calls"
            ).fetchone()
        assert sum(day["calls"] for day in days) == calls
        assert sum(day["cost_usd"] or 0 for day in days) == pytest.approx(spent, abs=1e-6)
        assert calls > 0
    assert not path.exists()


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_of_the_demo_makes_nothing_and_touches_nothing(tmp_path: Path, option: str) -> None:
    (tmp_path / "scripts").mkdir()
    script = shutil.copy(ROOT / "scripts" / "demo", tmp_path / "scripts")
    earlier = tmp_path / "demo" / "telemetry.db"
    earlier.parent.mkdir()
    earlier.write_text("what was made before")
    done = subprocess.run(
        [script, "--port", "8002", option], capture_output=True, text=True, check=True
    )
    assert "\nUsage: ./scripts/demo [--datasette VERSION]" in done.stdout
    assert earlier.read_text() == "what was made before"


def test_each_demo_has_a_ledger_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "demo", tmp_path / "scripts")
    for name, text in (
        ("scripts/environment", ""),
        (".venvs/demo/bin/hermes-telemetry", 'echo "$@"\n'),
    ):
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n" + text)
        program.chmod(0o755)
    # `serve --demo` makes it in a new folder and deletes it.
    done = subprocess.run(
        ["scripts/demo", "--port", "8002"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "serve --demo --port 8002\n"
