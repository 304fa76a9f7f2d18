"""A ledger served as its user serves it, and how long its addresses take to answer."""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from children import limited, own_memory_bytes

_PATIENCE_S = 60


class Answer:
    """What came back: status, text, and the milliseconds that it took."""

    def __init__(self, status: int, text: str, ms: float) -> None:
        self.status = status
        self.text = text
        self.ms = ms


class Served:
    """`hermes-telemetry serve` of one ledger, on a free port of this machine, in the block."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "hermes_telemetry.commands.cli"),
                *("serve", path, "--port", "0"),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        with limited(self._process, "the start of serve"):
            for line in self._process.stdout:
                if line.startswith("Address: "):
                    self._address = urlsplit(line.split()[1])
                    break
            else:
                raise SystemExit(f"serve did not start: exit code {self._process.wait()}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with limited(self._process, "the end of serve"):
            self._process.terminate()
            self._process.communicate()

    def get(self, path: str) -> Answer:
        """The answer to GET, as a browser that connects anew."""
        assert self._address.hostname is not None
        began = time.perf_counter()
        connection = http.client.HTTPConnection(
            self._address.hostname, self._address.port, timeout=_PATIENCE_S
        )
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        return Answer(response.status, text, (time.perf_counter() - began) * 1000)

    def ms(self, path: str) -> float:
        """Milliseconds of an answer that must be a good one."""
        answer = self.get(path)
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status}\n{answer.text[:500]}")
        return answer.ms

    def memory_bytes(self) -> int:
        """Memory of the server; 0 where the system does not say."""
        return own_memory_bytes(self._process.pid)
