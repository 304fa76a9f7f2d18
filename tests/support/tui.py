"""The server behind the host's TUI, driven as the TUI drives it: one JSON-RPC message a line."""

import json
import queue
import subprocess
import threading
from types import TracebackType
from typing import Any, Self

from support.host import Host

_SECONDS = 90


class TuiServer:
    """Runs from `with` to the end of its block, which closes its input and waits for its end."""

    def __init__(self, host: Host) -> None:
        self._process = subprocess.Popen(
            [host.python, "-m", "tui_gateway.entry"],
            cwd=host.folder,
            env=host.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._messages: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self._asked = 0

    def ask(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call a method of the server and return its result."""
        assert self._process.stdin is not None
        self._asked += 1
        call = {"jsonrpc": "2.0", "id": self._asked, "method": method, "params": parameters}
        self._process.stdin.write(json.dumps(call) + "\n")
        self._process.stdin.flush()
        result: dict[str, Any] = self._next("id", self._asked)["result"]
        return result

    def take_turn(self, session: str, prompt: str) -> None:
        """Submit a prompt and wait until the server is ready for the next one."""
        self.ask("prompt.submit", session_id=session, text=prompt)
        self._wait_for("message.complete")
        # Until it tells this, a prompt would be queued into the turn that ends.
        self._wait_for("session.info")

    def _wait_for(self, event: str) -> None:
        while self._next("method", "event")["params"]["type"] != event:
            pass

    def _next(self, field: str, value: object) -> dict[str, Any]:
        """The next message with that field; what comes before it is dropped."""
        while (message := self._messages.get(timeout=_SECONDS)).get(field) != value:
            pass
        return message

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._messages.put(json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        finally:
            self._reader.join()
            self._process.stdout.close()
