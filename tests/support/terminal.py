"""A user at a terminal: starts a program on a pseudo-terminal, types, and looks at the screen."""

import os
import pty
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

_CONTROL_C = b"\x03"


class Terminal:
    """`command` on a terminal of its own from `with` to the end of its block, at the latest."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], folder: Path
    ) -> None:
        self._keyboard, program_side = pty.openpty()
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=program_side,
            stdout=program_side,
            stderr=program_side,
            start_new_session=True,
        )
        os.close(program_side)
        self._screen = bytearray()
        # A program whose output nobody takes stops when the terminal's buffer is full.
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def screen(self) -> str:
        """All that the program has written so far, control sequences included."""
        return self._screen.decode(errors="replace")

    def enter(self, line: str) -> None:
        os.write(self._keyboard, f"{line}\r".encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        os.write(self._keyboard, _CONTROL_C)

    def wait_until(self, condition: Callable[[], object], seconds: float = 90) -> None:
        """Wait for `condition` to hold; raises AssertionError with the screen if it does not."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"waited {seconds} s in vain:\n{self.screen[-3000:]}"
            time.sleep(0.05)

    def wait_for_exit(self, seconds: float = 90) -> int:
        """The program's exit code, once it has ended."""
        return self._process.wait(seconds)

    def _read(self) -> None:
        try:
            while some := os.read(self._keyboard, 65_536):
                self._screen += some
        except OSError:
            pass  # How Linux says that the program has closed its side.

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._reader.join(5)
        os.close(self._keyboard)
