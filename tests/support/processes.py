"""Real processes for tests: started, spoken to over pipes, killed, and never left behind."""

import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]

PATIENCE_S = 60.0
"""How long a test waits for a process before it fails."""


class Process:
    """A running Python program that prints lines and reads lines."""

    def __init__(self, popen: "subprocess.Popen[str]") -> None:
        self._popen = popen

    def say(self, line: str = "go on") -> None:
        assert self._popen.stdin
        self._popen.stdin.write(line + "\n")
        self._popen.stdin.flush()

    def hear(self) -> str:
        """Its next line; '' when it ended without one."""
        assert self._popen.stdout
        return self._popen.stdout.readline().removesuffix("\n")

    def end(self) -> int:
        """Wait until it is through; its exit code, the negative signal if one killed it."""
        self._popen.communicate(timeout=PATIENCE_S)
        return self._popen.returncode


@contextmanager
def running(
    program: str,
    *arguments: object,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Iterator[Process]:
    """Start a program; kill it if it is still there afterwards.

    In its own environment, unless it is given another, it can import the project and ``support``.
    """
    popen = subprocess.Popen(
        [sys.executable, "-P", "-c", program, *map(str, arguments)],
        cwd=cwd,
        env=environment or _with_the_project(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Process(popen)
    finally:
        popen.kill()
        popen.communicate(timeout=PATIENCE_S)


def run(program: str, *arguments: object) -> int:
    """Run a program to its end; its exit code."""
    with running(program, *arguments) as process:
        return process.end()


def _with_the_project() -> dict[str, str]:
    search_path = [str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, search_path))}


@contextmanager
def ended_afterwards(word: str) -> Iterator[None]:
    """Processes whose command line holds ``word`` (a temporary path) do not outlive the block."""
    try:
        yield
    finally:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:  # it has ended
                continue
            if word.encode() in words:
                os.kill(int(folder.name), signal.SIGKILL)


class Fork:
    """A copy of the test process that does one piece of work and leaves by ``os._exit``."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._exit: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                work()
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)

    def kill(self) -> None:
        if self._exit is None:
            os.kill(self.pid, signal.SIGKILL)
            self.end()

    def end(self) -> int:
        """Wait until it is through; its exit code, the negative signal if one killed it."""
        deadline = time.monotonic() + PATIENCE_S
        while self._exit is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._exit = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
            else:
                time.sleep(0.001)
        return self._exit


def fork(work: Callable[[], object]) -> int:
    """Do a piece of work in a copy of this process; its exit code."""
    copy = Fork(work)
    try:
        return copy.end()
    finally:
        copy.kill()
