"""A piece that a test needs and nobody brought: a skip at home, a failure under CI."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from support.tree import ROOT

PIECES = ("host_python", "hermes", "chromium")


def run_tests_that_need_pieces(folder: Path, **environment: str) -> str:
    """The last line of pytest's summary for three tests, each needing one piece."""
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    tests = "".join(f"def test_with_{piece}({piece}): assert {piece}\n" for piece in PIECES)
    (folder / "test_pieces.py").write_text(tests, encoding="utf-8")
    bare = {
        name: value
        for name, value in os.environ.items()
        if name != "CI" and not name.startswith("HERMES_TELEMETRY_TEST_")
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(
        command, cwd=folder, env=bare | environment, capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines()[-1]


def test_a_missing_piece_is_a_skip_at_home(tmp_path: Path) -> None:
    assert run_tests_that_need_pieces(tmp_path).startswith("3 skipped")


def test_a_missing_piece_is_a_failure_under_ci(tmp_path: Path) -> None:
    assert run_tests_that_need_pieces(tmp_path, CI="true").startswith("3 errors")


def test_a_piece_that_was_brought_is_handed_over(tmp_path: Path) -> None:
    host = {"HERMES_TELEMETRY_TEST_HOST": str(tmp_path)}
    assert run_tests_that_need_pieces(tmp_path, CI="true", **host).startswith("2 passed, 1 error")
