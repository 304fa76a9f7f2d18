"""Formatting, lint and types are law: the same commands that a contributor runs by hand."""

import subprocess
import sys

import pytest

from support.tree import ROOT


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["ruff", "format", "--check", "--diff", "."], id="formatted"),
        pytest.param(["ruff", "check", "."], id="linted"),
        # pyproject.toml: strict for hermes_telemetry, plain for datasette_plugin.
        pytest.param(["mypy", "--no-incremental"], id="typed"),
    ],
)
def test_the_code_is(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
