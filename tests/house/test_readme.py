"""Each command that the README and docs/ show is run, and prints what they say.

A block of commands is fenced as `console` and follows a comment that says where it runs:

    <!-- run in: ledger -->    a folder of its own; `datasette` and `hermes-telemetry` are installed
    <!-- run in: demo -->      the same, with a made-up ledger in it, telemetry.db
    <!-- run in: clone -->     a clone of the project, and an environment that lacks the project
    <!-- run in: hermes -->    the same, and `hermes` is in that environment
    <!-- run by: FILE -->      the commands stand in that file, which runs them

Blocks under one heading share their folder and run in order. What may follow the place:

    , until stopped    a server: it runs while the later blocks under its heading do, on a free port
                       in place of 8001
    , as JSON          what is shown is an example: what is printed has its keys and kinds of values
    , exits 1          the last command ends so
    , may exit 1       it may, with what is in a made-up ledger of this hour

Lines without `$` are the output of the command above them; "…" in them stands for anything, and the
width of columns does not count. In JSON null stands for anything, and the key "…" for any.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.commands.cli import main
from hermes_telemetry.commands.parser import build_parser
from support.command_tree import every_command
from support.installs import host_without_the_plugin, repository_of_the_working_tree
from support.tree import ROOT

DOCUMENTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
FENCE = re.compile(
    r"^(?:<!-- run (?P<how>in|by): (?P<where>[^,\n]+?)(?P<flags>(?:, [\w ]+)*) -->\n)?"
    r"```(?P<language>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
FLAGS = {"until stopped", "as JSON", "exits 1", "may exit 1"}
# What these commands ask for elsewhere is refused at once: nobody listens on the discard port.
NO_NETWORK = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}


@dataclass(frozen=True)
class Block:
    section: tuple[str, str]  # document and heading
    how: str | None
    where: str | None
    flags: frozenset[str]
    language: str
    body: str

    @property
    def commands(self) -> list[tuple[str, str]]:
        """Each command with the output that stands below it."""
        _, *parts = re.split(r"^\$ ", self.body, flags=re.MULTILINE)
        return [(part.split("\n", 1)[0], part.split("\n", 1)[1]) for part in parts]


def blocks() -> list[Block]:
    return [
        Block(
            (name, re.findall(r"^#+ (.*)$", text[: match.start()], re.MULTILINE)[-1]),
            match["how"],
            match["where"],
            frozenset((match["flags"] or "").split(", ")[1:]),
            match["language"],
            match["body"],
        )
        for name, text in DOCUMENTS.items()
        for match in FENCE.finditer(text)
    ]


def sections(*places: str) -> Any:
    """The documents and headings with commands to be run in one of these places."""
    found = dict.fromkeys(
        (block.where, block.section)
        for block in blocks()
        if block.how == "in" and block.where in places
    )
    return pytest.mark.parametrize(
        ("where", "section"), [pytest.param(*key, id=": ".join(key[1])) for key in found]
    )


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
        try:
            server.communicate(timeout=30)
        finally:
            server.kill()


def one_line(output: str) -> str:
    return " ".join(output.split())


def kind(value: Any) -> type:
    return float if type(value) is int else type(value)


def assert_like(shown: Any, printed: Any, place: str) -> None:
    """`printed` has the keys and the kinds of values of the example `shown`."""
    if shown is None or (printed is None and not isinstance(shown, dict | list)):
        return
    assert kind(printed) is kind(shown), place
    if isinstance(shown, dict) and "…" in shown:
        for key, value in printed.items():
            assert_like(shown["…"], value, f"{place}.{key}")
    elif isinstance(shown, dict):
        assert list(printed) == list(shown), place
        for key, value in printed.items():
            assert_like(shown[key], value, f"{place}.{key}")
    elif isinstance(shown, list) and shown:
        (element,) = shown
        assert printed, f"{place} is empty"
        for number, value in enumerate(printed):
            assert_like(element, value, f"{place}[{number}]")


def run_block(block: Block, port: int, folder: Path, environment: dict[str, str]) -> None:
    last = block.commands[-1][0]
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
        codes = [0]
        if command == last and "exits 1" in block.flags:
            codes = [1]
        elif command == last and "may exit 1" in block.flags:
            codes = [0, 1]
        assert done.returncode in codes, f"{command}: {done.stdout}{done.stderr}"
        if expected.strip() and "as JSON" in block.flags:
            example = json.loads(re.sub(r"(?<=: )…", "null", expected))
            assert_like(example, json.loads(done.stdout), command)
        elif expected.strip():
            pattern = re.escape(one_line(expected)).replace("…", ".*?")
            assert re.fullmatch(pattern, one_line(done.stdout)), (
                f"{command} printed:\n{done.stdout}\nand not:\n{expected}"
            )


def run_section(section: tuple[str, str], folder: Path, environment: dict[str, str]) -> None:
    mine = [block for block in blocks() if block.section == section and block.how == "in"]
    assert mine
    port = free_port()
    for position, block in enumerate(mine):
        if "until stopped" not in block.flags:
            run_block(block, port, folder, environment)
            continue
        ((command, _),) = block.commands
        with serving(command, port, folder, environment):
            for later in mine[position + 1 :]:
                run_block(later, port, folder, environment)
        return


def without_the_callers(**changes: str) -> dict[str, str]:
    """The environment of a shell in which nobody has set anything up for telemetry."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HERMES")}
    return kept | changes


def commands_in_a_clone(
    python: Path, module: str, command: str, folder: Path
) -> tuple[Path, dict[str, str]]:
    """A clone, and an environment with what `python`'s holds but for this project.

    Its commands are links to another's, but for `command`: that one runs `module`.
    """
    python = host_without_the_plugin(python, folder / "environment")
    script = python.with_name(command)
    script.write_text(f'#!/bin/sh\nexec {python} -m {module} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    clone, home = folder / "clone", folder / "home"
    clone.mkdir()
    home.mkdir()
    repository_of_the_working_tree(clone)
    environment = without_the_callers(
        PATH=f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        HOME=str(home),
        HERMES_HOME=str(home / ".hermes"),
        HERMES_DISABLE_LAZY_INSTALLS="1",
    )
    return clone, environment


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "telemetry.db"
    assert main(["demo", str(path), "--calls", "2000"]) == 0
    return path


@sections("ledger", "demo")
def test_commands_on_a_ledger_do_what_is_said(
    where: str, section: tuple[str, str], tmp_path: Path, demo: Path
) -> None:
    if where == "demo":
        shutil.copytree(demo.parent, tmp_path, dirs_exist_ok=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = without_the_callers(PATH=path, HERMES_HOME=str(tmp_path), **NO_NETWORK)
    run_section(section, tmp_path, environment)


@sections("clone")
def test_commands_in_a_clone_do_what_is_said(
    where: str, section: tuple[str, str], tmp_path: Path
) -> None:
    run_section(
        section, *commands_in_a_clone(Path(sys.executable), "datasette", "datasette", tmp_path)
    )


@pytest.mark.host
@sections("hermes")
def test_commands_beside_a_host_do_what_is_said(
    where: str, section: tuple[str, str], host_python: Path, tmp_path: Path
) -> None:
    run_section(section, *commands_in_a_clone(host_python, "hermes_cli.main", "hermes", tmp_path))


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
        assert block.how != "in" or block.where in ("ledger", "demo", "clone", "hermes")
        assert block.flags <= FLAGS, block.flags
    assert len(blocks()) == sum(text.count("\n```") // 2 for text in DOCUMENTS.values())


def test_every_command_is_described_and_its_json_shown() -> None:
    text = DOCUMENTS["docs/commands.md"]
    for name, parser in every_command(build_parser()):
        assert f"\n## {name}\n" in text, name
        if "--json" in parser._option_string_actions:
            shown = [
                command
                for block in blocks()
                if block.section == ("docs/commands.md", name) and "as JSON" in block.flags
                for command, _ in block.commands
            ]
            assert any(f" {name} " in command and " --json" in command for command in shown), name
