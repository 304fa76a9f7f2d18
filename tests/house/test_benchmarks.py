"""The benchmarks run, on a small ledger and for a moment: their times mean nothing here."""

import subprocess
import sys
from textwrap import dedent

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


def test_a_process_that_hangs_is_killed_and_named() -> None:
    done = among_the_benchmarks(
        """
        from children import run
        run([sys.executable, "-c", "import time; time.sleep(60)"], "the sleeper", 0.2)
        """
    )
    assert (done.returncode, done.stderr) == (1, "the sleeper hung: killed after 0.2 s\n")


def test_a_thread_that_is_just_starting_is_waited_for() -> None:
    """Python lists it already, but whoever joins it then is told off."""
    done = among_the_benchmarks(
        """
        class Late(threading.Thread):
            def _bootstrap(self):
                time.sleep(0.3)
                super()._bootstrap()

        from children import settle
        late = Late(target=print, args=("at work",), name="telemetry-late")
        threading.Thread(target=late.start).start()
        time.sleep(0.1)
        settle()
        print("settled")
        """
    )
    assert (done.stdout, done.stderr) == ("at work\nsettled\n", "")


def among_the_benchmarks(code: str) -> subprocess.CompletedProcess[str]:
    """Run ``code`` where it can import their modules."""
    return subprocess.run(
        [sys.executable, "-c", "import subprocess, sys, threading, time\n" + dedent(code)],
        cwd=ROOT / "benchmarks",
        capture_output=True,
        text=True,
        timeout=30,
    )
