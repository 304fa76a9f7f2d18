"""Each command that the README shows is run, and prints what the README says.

A block of commands is fenced as `console` and follows a comment that says where it runs:

    <!-- run in: ledger -->    a folder of its own; `datasette` and `hermes-telemetry` are installed
    <!-- run in: hermes -->    a clone of the project; `hermes` is there, this project is not
    <!-- run by: FILE -->      the commands stand in that file, which runs them

Blocks under one heading share their folder and run in order. "…, until stopped" marks a server: it
runs while the later blocks under its heading do, on a free port in place of 8001. Lines
without `$` are the output of the command above them; "…" in them stands for anything, and the
width of columns does not count.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.installs import host_without_the_plugin, repository_of_the_working_tree
from support.tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(
    r"^(?:<!-- run (?P<how>in|by): (?P<where>[^,\n]+?)(?P<server>, until stopped)? -->\n)?"
    r"```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    heading: str
    how: str | None
    where: str | None
    server: bool
    language: str
    body: str

    @property
    def commands(self) -> list[tuple[str, str]]:
        """Each command with the output that stands below it."""
        _, *parts = re.split(r"^\$ ", self.body, flags=re.MULTILINE)
        return [(part.split("\n", 1)[0], part.split("\n", 1)[1]) for part in parts]


def blocks() -> list[Block]:
    found = []
    for match in FENCE.finditer(README):
        heading = re.findall(r"^#+ (.*)$", README[: match.start()], re.MULTILINE)[-1]
        found.append(
            Block(
                heading,
                match["how"],
                match["where"],
                match["server"] is not None,
                match["language"],
                match["body"],
            )
        )
    return found


def sections(where: str) -> list[str]:
    return list(dict.fromkeys(b.heading for b in blocks() if (b.how, b.where) == ("in", where)))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(command: str, port: int, folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """Runs `command` until the block ends, from the moment when it accepts connections."""
    server = subprocess.Popen(
        ["bash", "-c", f"exec {command} --port {port}"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if server.poll() is not None or time.monotonic() > deadline:
                    server.kill()
                    pytest.fail(f"{command} did not serve: {server.communicate()[0]}")
                time.sleep(0.1)
        yield
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=30)


def one_line(output: str) -> str:
    return " ".join(output.split())


def run_section(heading: str, folder: Path, environment: dict[str, str]) -> None:
    mine = [block for block in blocks() if block.heading == heading and block.how == "in"]
    assert mine
    port = free_port()

    def run(block: Block) -> None:
        for command, expected in block.commands:
            done = subprocess.run(
                ["bash", "-c", command.replace(":8001", f":{port}")],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
            if expected.strip():
                pattern = re.escape(one_line(expected)).replace("…", ".*?")
                assert re.fullmatch(pattern, one_line(done.stdout)), (
                    f"{command} printed:\n{done.stdout}\nand not:\n{expected}"
                )

    for position, block in enumerate(mine):
        if not block.server:
            run(block)
            continue
        ((command, _),) = block.commands
        with serving(command, port, folder, environment):
            for later in mine[position + 1 :]:
                run(later)
        return


def without_the_callers(**changes: str) -> dict[str, str]:
    """The environment of a shell in which nobody has set anything up for telemetry."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HERMES")}
    return kept | changes


@pytest.mark.parametrize("heading", sections("ledger"))
def test_the_commands_for_a_ledger_do_what_the_readme_says(heading: str, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run_section(heading, tmp_path, without_the_callers(PATH=path, HERMES_HOME=str(tmp_path)))


@pytest.mark.host
@pytest.mark.parametrize("heading", sections("hermes"))
def test_the_commands_for_a_host_do_what_the_readme_says(
    heading: str, host_python: Path, tmp_path: Path
) -> None:
    python = host_without_the_plugin(host_python, tmp_path / "environment")
    hermes = python.with_name("hermes")
    hermes.write_text(f'#!/bin/sh\nexec {python} -m hermes_cli.main "$@"\n', encoding="utf-8")
    hermes.chmod(0o755)
    clone, home = tmp_path / "clone", tmp_path / "home"
    clone.mkdir()
    home.mkdir()
    repository_of_the_working_tree(clone)
    environment = without_the_callers(
        PATH=f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        HOME=str(home),
        HERMES_HOME=str(home / ".hermes"),
        HERMES_DISABLE_LAZY_INSTALLS="1",
    )
    run_section(heading, clone, environment)


def test_commands_run_elsewhere_stand_in_the_file_that_runs_them() -> None:
    elsewhere = [block for block in blocks() if block.how == "by"]
    assert elsewhere
    for block in elsewhere:
        text = (ROOT / str(block.where)).read_text(encoding="utf-8")
        for command, _ in block.commands:
            assert command in text, f"{block.where} does not run {command}"


def test_no_command_escapes() -> None:
    for block in blocks():
        shown = bool(block.commands)
        assert shown == (block.language == "console"), block.body
        assert shown == (block.how is not None), block.body
        assert block.how != "in" or block.where in ("ledger", "hermes"), block.where
    assert len(blocks()) == README.count("\n```") // 2
