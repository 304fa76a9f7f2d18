"""The slash commands: words of the command line whose answer is a text for a chat.

They reach every user of a chat and carry no identity. Whatever changes a file is therefore left to
the operator: to the host's own command line, and to chats that ``HERMES_TELEMETRY_CHAT_WRITES=1``
trusts.
"""

from __future__ import annotations

import argparse
import logging
import os
import shlex
from functools import partial
from io import StringIO
from typing import TYPE_CHECKING, Any, NoReturn, cast

from .. import host, paths
from ..store.forks import held_off
from . import budget, forecast, setup, stats
from .faults import explained
from .options import InputError, OneLineParser, Screen
from .output import say

if TYPE_CHECKING:
    from .options import Commands

_log = logging.getLogger("hermes_telemetry")

COLUMNS = 72
"""How wide an answer may be: what a phone shows and what a reader takes in."""

_TRUSTED = "HERMES_TELEMETRY_CHAT_WRITES"
# For programs and for other files: none of a chat's business.
_OF_THE_SHELL = ("db", "json", "csv")


def answer(name: str, words: str, profile: str | None) -> str:
    """What ``/name words`` answers, at most `COLUMNS` wide. Never raises.

    ``profile`` is the host's, for the command that is shown to the operator.
    """
    try:
        return _answer(name, words, profile)
    except _HelpError as help:
        return str(help)
    except Exception as error:
        if not isinstance(error, InputError):
            _log.warning("/%s could not be answered: %s", name, explained(error))
        return _lines(explained(error))


def _answer(name: str, words: str, profile: str | None) -> str:
    typed = [name, *_split(words)]
    namespace = _parser().parse_args(typed)
    # It is to be copied, and stays one line.
    shell = shlex.join(["hermes", *_profile_option(profile), "telemetry", *_in_a_shell(typed)])
    for option in _OF_THE_SHELL:
        if getattr(namespace, option, None):
            return f"--{option} is for a shell:\n{shell}"
    if getattr(namespace, "telemetry_writes", False):
        if not (os.environ.get(_TRUSTED) == "1" or host.is_own_cli()):
            reason = _lines(
                "Nothing was changed: only the operator can do that, in a shell on the machine"
                " that Hermes runs on."
            )
            return f"{reason}\n{shell}"
    elif not paths.database_path().exists():
        return "Nothing has been recorded yet."
    text = StringIO()
    namespace.telemetry_screen = Screen(text, COLUMNS)
    with held_off:
        namespace.telemetry_command(namespace)
    return text.getvalue().rstrip()


def _split(words: str) -> list[str]:
    try:
        return shlex.split(words)
    except ValueError:  # an apostrophe in a name
        return words.split()


def _profile_option(profile: str | None) -> list[str]:
    return [] if profile in (None, "", "default", "custom") else ["-p", str(profile)]


def _in_a_shell(typed: list[str]) -> list[str]:
    """`/budget forecast` is a command of its own there."""
    return typed[1:] if typed[:2] == ["budget", "forecast"] else typed


def _lines(text: str) -> str:
    written = StringIO()
    for line in text.splitlines():
        say(Screen(written, COLUMNS), line)
    return written.getvalue().rstrip()


class _HelpError(Exception):
    """Raised by `--help` with its text, which a chat gets instead of standard output."""


class _ChatParser(OneLineParser):
    """Writes `/stats` where the command line has `hermes-telemetry stats`, and prints nothing."""

    def __init__(self, **settings: Any) -> None:
        settings["formatter_class"] = partial(argparse.RawDescriptionHelpFormatter, width=COLUMNS)
        super().__init__(**settings)
        self.prog = self.prog.replace("/ ", "/")

    def print_help(self, file: Any = None) -> NoReturn:
        raise _HelpError(self.format_help().rstrip())

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{self.prog}: {message} (see {self.prog} --help)")


def _parser() -> _ChatParser:
    parser = _ChatParser(prog="/", add_help=False)
    # The classes below it are those of this parser: the annotation cannot say so.
    commands = cast("Commands", parser.add_subparsers(dest="telemetry_name", required=True))
    stats.add_parser(commands)
    setup.add_parser(commands)
    forecast.add_parser(budget.add_parser(commands))
    return parser
