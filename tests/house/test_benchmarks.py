"""The benchmarks run, on a small ledger and for a moment: their times mean nothing here."""

import subprocess
import sys

from support.tree import ROOT


def test_the_gate_benchmark_reports_every_case() -> None:
    small = ["--calls", "2000", "--asked", "20", "--seconds", "0.5"]
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "gate.py", *small], capture_output=True, text=True
    )
    heading, *cases = done.stdout.splitlines()
    assert heading.split()[-1] == "goal"
    assert [case[:34].rstrip() for case in cases] == [
        "limits far away",
        "a new call of another process",
        "an edge moves a session",
        "all limits spent",
        "the same, ledger held 0.5 s",
        "new under locking_mode=EXCLUSIVE",
    ]
    results = {case.rsplit(": ", 1)[1] for case in cases}
    assert results <= {"pass", "SLOW"}, done.stdout
    assert done.returncode == ("SLOW" in results)


def test_the_help_benchmark_reports_every_command() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "help.py", "--runs", "1"],
        capture_output=True,
        text=True,
    )
    _, bare, *commands = done.stdout.splitlines()
    assert bare.startswith("(python -c pass) ")
    assert [line[:24].rstrip() for line in commands[:2]] == ["hermes-telemetry", "query"]
    assert done.returncode == any("more than" in line for line in commands), done.stderr
