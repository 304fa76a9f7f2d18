"""The command line as a whole: help, errors in one line, what it loads, what it shares."""

import argparse
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_telemetry import __version__
from hermes_telemetry.commands.cli import run
from hermes_telemetry.commands.parser import add_subcommands, build_parser

COMMAND = [sys.executable, "-m", "hermes_telemetry.commands.cli"]
(_COMMANDS,) = (
    action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)
)
NAMES = list(_COMMANDS.choices)


def test_help_names_every_command(cli) -> None:
    answer = cli("--help")
    assert answer.code == 0
    assert {"query", "migrate", "serve", "demo"} <= set(NAMES)
    for name in NAMES:
        assert re.search(rf"^    {name}\s", answer.out, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_a_command_ends_with_an_example_that_parses(cli, name: str) -> None:
    answer = cli(name, "--help")
    assert answer.code == 0
    *_, heading, example = answer.out.splitlines()
    program, *arguments = shlex.split(example)
    assert (heading, program, arguments[0]) == ("example:", "hermes-telemetry", name)
    build_parser().parse_args(arguments)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "hermes-telemetry: the following arguments are required: COMMAND"),
        (["querry"], "hermes-telemetry: argument COMMAND: invalid choice: 'querry'"),
        (["query", "x", "--param", "y"], "hermes-telemetry query: argument --param: 'y' is not"),
        (["query", "x", "--csv", "--json"], "hermes-telemetry query: argument --json: not allowed"),
        (["serve", "--port", "70000"], "hermes-telemetry serve: argument --port: '70000' is not"),
        (["demo", "--calls", "many"], "hermes-telemetry demo: argument --calls: 'many' is not"),
        (["migrate", "--db"], "hermes-telemetry migrate: argument --db: expected one argument"),
    ],
)
def test_bad_usage_is_one_line(
    refused: Callable[..., str], arguments: list[str], line: str
) -> None:
    assert refused(*arguments).startswith(line)


@pytest.mark.parametrize(("encoding", "shown"), [("latin-1", "? $0.75"), ("utf-8", "≥ $0.75")])
def test_a_terminal_that_lacks_a_sign_shows_another(
    ledger: Path, encoding: str, shown: str
) -> None:
    done = subprocess.run(
        [*COMMAND, "query", "cost_by_day", "--since", "all", "--db", ledger],
        env=os.environ | {"PYTHONIOENCODING": encoding, "TZ": "UTC"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert shown in done.stdout.decode(encoding)


def test_help_can_be_read_on_a_terminal_that_knows_ascii_alone() -> None:
    done = subprocess.run(
        [*COMMAND, "query", "--help"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"(turn_id=?, model=?)" in done.stdout


def test_json_loses_no_sign_on_such_a_terminal() -> None:
    done = subprocess.run(
        [*COMMAND, "pricing", "show", "modèle≥2", "--json"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["model"] == "modèle≥2"


def test_a_reader_that_leaves_early_is_no_error(ledger: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "query", "--list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert (process.stderr.read(), process.wait(timeout=30)) == ("", 0)
    process.stderr.close()


def test_an_interrupted_command_says_so_and_leaves_nothing_half_made(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "demo", "big.db", "--calls", "500000"],
        cwd=tmp_path,
        stderr=theirs,
        # A test run started in the background ignores Ctrl-C, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    )
    os.close(theirs)
    try:
        screen = b""
        while b"of 500,000 calls" not in screen:
            screen += os.read(ours, 1000)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 2
        screen = os.read(ours, 1000)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert screen.endswith(b"hermes-telemetry demo: interrupted\r\n")
    assert list(tmp_path.glob("big.db*")) == []


def test_the_host_gets_the_same_commands_below_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # What `hermes` does with a plugin's command: its own parser, its own `func`.
    host = argparse.ArgumentParser(prog="hermes")
    plugin = host.add_subparsers(dest="command").add_parser("telemetry")
    add_subcommands(plugin)
    plugin.set_defaults(func=run)

    namespace = host.parse_args(["telemetry", "query", "--list"])
    assert namespace.func(namespace) == 0
    assert "cost_per_turn" in capsys.readouterr().out

    with pytest.raises(SystemExit) as stopped:
        host.parse_args(["telemetry", "query", "--help"])
    assert stopped.value.code == 0
    assert "\n  hermes telemetry query cost_by_model" in capsys.readouterr().out


def test_the_version_is_that_of_the_package(cli) -> None:
    answer = cli("--version")
    assert (answer.code, answer.out) == (0, f"hermes-telemetry {__version__}\n")
