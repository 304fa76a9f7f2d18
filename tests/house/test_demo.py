"""From a fresh clone to rows in a browser: `./scripts/demo`, on both lines of Datasette."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
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
def demo(clone: Path, *options: str) -> Iterator[str]:
    """The address that the demo prints; at the end it gets what Ctrl-C sends."""
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
                yield address[0]
                break
        else:
            pytest.fail("no address was printed: " + "".join(printed))
    finally:
        os.killpg(served.pid, signal.SIGINT)
        served.communicate(timeout=30)


def fetch(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=30) as answer:
        return json.load(answer)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "version"), [((), r"0\.\d+\.\d+"), (("--datasette", "1.0a41"), r"1\.0a41")]
)
def test_a_fresh_clone_serves_a_ledger(clone: Path, options: tuple[str, ...], version: str) -> None:
    with demo(clone, *options) as address:
        assert re.fullmatch(version, fetch(f"{address}/-/versions.json")["datasette"]["version"])

        turns = fetch(f"{address}/telemetry/cost_per_turn.json?_shape=array&since=all")
        assert turns[0]["turn_id"]

        days = fetch(f"{address}/telemetry/cost_by_day.json?_shape=array&since=all")
        with closing(
            sqlite3.connect(clone.joinpath("demo", *options[1:], "telemetry.db"))
        ) as ledger:
            calls, spent = ledger.execute(
                "select count(*), sum(cost_usd) from llm_calls"
            ).fetchone()
        assert sum(day["calls"] for day in days) == calls
        assert sum(day["cost_usd"] or 0 for day in days) == pytest.approx(spent, abs=1e-6)


def interpreter(folder: Path, script: str) -> str:
    """A stand-in for an interpreter that a machine may have."""
    path = folder / "python-of-this-machine"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def refusal(python: str) -> str:
    """The one line with which the demo refuses to start by the interpreter `python`."""
    done = subprocess.run(
        [DEMO],
        cwd=ROOT,
        env=os.environ | {"PYTHON": python},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    return line


def test_a_python_that_is_too_old_is_named_in_one_line(tmp_path: Path) -> None:
    # Answers the question for its version, and that it is below 3.11.
    old = interpreter(tmp_path, 'case "$2" in *platform*) echo 3.9.2 ;; *) exit 1 ;; esac')
    assert refusal(old) == (
        f"Python 3.11 or newer is needed: found {old}, which is Python 3.9.2;"
        " name one by PYTHON=python3.12"
    )


def test_a_python_without_venv_is_named_in_one_line(tmp_path: Path) -> None:
    bare = interpreter(
        tmp_path,
        'case "$2" in *ensurepip*) echo "No module named \'ensurepip\'" >&2; exit 1 ;; esac\n'
        f'exec {sys.executable} "$@"',
    )
    version = ".".join(map(str, sys.version_info[:3]))
    assert refusal(bare) == (
        f"{bare} ({version}) is incomplete: No module named 'ensurepip'"
        " (Debian and Ubuntu: apt install python3-venv)"
    )


def test_no_python_at_all_is_said_in_one_line(tmp_path: Path) -> None:
    assert refusal(str(tmp_path / "nothing")) == (
        "Python 3.11 or newer is needed: found none; name one by PYTHON=python3.12"
    )
