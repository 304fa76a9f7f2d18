"""Datasette with this project's plugin: in this process, or served by its own command over HTTP."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import httpx
from datasette.app import Datasette

KEEPS_QUERIES = hasattr(Datasette, "add_query")
"""True on Datasette 1.0, which keeps queries and descriptions in a database of its own."""

QUERIES = "/-/queries" if KEEPS_QUERIES else ""
"""The page of all queries, behind a database's: 1.0 shows but a few of them on that itself."""

# A start takes one to two seconds; a loaded machine may need many times that.
_START_SECONDS = 60
_END_SECONDS = 20


class Site:
    """A Datasette in this process, asked through its own client."""

    def __init__(self, *files: Path, **arguments: Any) -> None:
        self._runner = asyncio.Runner()
        self.datasette = Datasette([str(file) for file in files], **arguments)

    def get(self, path: str, *, actor: str | None = None, status: int = 200) -> httpx.Response:
        """The answer to GET, which must have this status; `actor` is the id of who is signed in."""
        cookies = {}
        if actor:
            cookies["ds_actor"] = self.datasette.sign({"a": {"id": actor}}, "actor")
        answer = self._runner.run(self.datasette.client.get(path, cookies=cookies))
        assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text[:500]}"
        return answer

    def page(self, path: str, *, actor: str | None = None) -> "Page":
        return Page(self.get(path, actor=actor).text)

    def rows(self, path: str) -> list[dict[str, Any]]:
        """The rows of a table or query, in the one JSON shape that is the same on both lines."""
        rows: list[dict[str, Any]] = self.get(path).json()
        return rows

    def queries(self, database: str, *, actor: str | None = None) -> dict[str, dict[str, Any]]:
        """What Datasette lists as the queries of `database`, by name."""
        listed = self.get(f"/{database}{QUERIES}.json", actor=actor).json()["queries"]
        return {query["name"]: query for query in listed}

    def run(self, coroutine: Any) -> Any:
        """The result of a coroutine of `datasette`, in the loop in which it answers requests."""
        return self._runner.run(coroutine)

    def close(self) -> None:
        self._runner.close()


class Page(HTMLParser):
    """What a reader sees of a page: its text, and its links as (text, address)."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.links: list[tuple[str, str]] = []
        self.inputs: list[str] = []
        self._words: list[str] = []
        self._unseen = False
        self._link: tuple[list[str], str] | None = None
        self.feed(html)
        self.close()

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._words).split())

    def address_of(self, text: str) -> str:
        """The address behind the one link that reads `text`."""
        addresses = {address for words, address in self.links if words == text}
        assert len(addresses) == 1, f"{text!r} leads to {addresses}; links: {self.links}"
        return addresses.pop()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self._unseen = tag in ("script", "style")
        if tag == "a" and attributes.get("href") is not None:
            self._link = ([], str(attributes["href"]))
        if tag == "input" and attributes.get("type") == "text":
            self.inputs.append(str(attributes.get("name")))

    def handle_endtag(self, tag: str) -> None:
        self._unseen = False
        if tag == "a" and self._link:
            words, address = self._link
            self.links.append(("".join(words).strip(), address))
            self._link = None

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self._words.append(data)
        if self._link:
            self._link[0].append(data)


@contextmanager
def served(*arguments: str | Path) -> Iterator[httpx.Client]:
    """`datasette ARGUMENTS` on a free loopback port, bound by file permissions, and who asks it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with TemporaryFile("w+") as log:
        process = subprocess.Popen(
            bound_by_permissions("-m", "datasette", *map(str, arguments), "-p", str(port)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            with httpx.Client(base_url=url, timeout=_START_SECONDS) as client:
                if not _answers(client, process):
                    log.seek(0)
                    raise AssertionError(f"datasette does not answer:\n{log.read()}")
                yield client
        finally:
            process.terminate()
            # Plain Datasette waits without a limit for requests that are under way, such as one of
            # a browser that was ended amid it. How our own `serve` ends has tests of its own.
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=_END_SECONDS)
            process.kill()
            process.wait()


def bound_by_permissions(*arguments: str) -> list[str]:
    """The command `python ARGUMENTS`, without root's right to write what is read-only."""
    command = [sys.executable, *arguments]
    if os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-dac_override", "--", *command]
    return command


def _answers(client: httpx.Client, process: "subprocess.Popen[bytes]") -> bool:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            client.get("/-/versions.json")
            return True
        except httpx.TransportError:
            time.sleep(0.05)
    return False
