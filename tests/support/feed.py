"""A router's list of models on the loopback interface, with every way to be broken."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler], None]


def model(id: Any, prompt: Any = "0.000003", completion: Any = "0.000015", **more: Any) -> Any:
    """One element of ``data``; prices in USD per token, as text."""
    return {"id": id, "pricing": {"prompt": prompt, "completion": completion, **more}}


def models(*data: Any) -> Answer:
    return body(json.dumps({"data": list(data)}).encode())


def body(content: bytes, status: int = 200, **headers: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(content)

    return answer


def cut_off(content: bytes) -> Answer:
    """Announces the whole body and sends the half of it."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content[: len(content) // 2])

    return answer


def hang(request: BaseHTTPRequestHandler) -> None:
    """Accepts the request and says nothing."""
    request.server.released.wait(20)  # type: ignore[attr-defined]


def drip_headers(request: BaseHTTPRequestHandler) -> None:
    """Never silent for long, never done."""
    _drip(request, b"HTTP/1.1 200 OK\r\nX-Slow: ")


def drip_body(request: BaseHTTPRequestHandler) -> None:
    _drip(request, b'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{"data": [')


def _drip(request: BaseHTTPRequestHandler, beginning: bytes) -> None:
    request.wfile.write(beginning)
    while not request.server.released.wait(0.02):  # type: ignore[attr-defined]
        request.wfile.write(b" ")


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.requests.append(self.path)  # type: ignore[attr-defined]
        with suppress(OSError):  # the client goes away, as it should
            self.server.answers[self.path](self)  # type: ignore[attr-defined]

    def log_message(self, *args: Any) -> None:
        pass


class Feed:
    """The server: ``url`` of its list, the paths that were asked for, and what to answer."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.requests = self.requests = []  # type: ignore[attr-defined]
        self._server.answers = self.answers = {}  # type: ignore[attr-defined]
        self._server.released = threading.Event()  # type: ignore[attr-defined]
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self.url = f"{self.origin}/models"

    def answer(self, answer: Answer, path: str = "/models") -> None:
        self.answers[path] = answer


@contextmanager
def serve_feed() -> Iterator[Feed]:
    feed = Feed()
    server = feed._server
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield feed
    finally:
        server.released.set()  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()
        server.server_close()
