"""What every command's sub-parser shares: its shape, its errors, and how it names a ledger.

Nothing here may import more than argparse and pathlib: building the whole tree is what
`--help` costs, and the host builds it for words that are not ours.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction["OneLineParser"]

Handler = Callable[[argparse.Namespace], int]

# As in store.spend and budget.verdicts, whose import would cost every --help a tenth of a second.
SCOPES = ("global", "cron_job", "sender", "profile")
WINDOWS = ("daily", "monthly")


class InputError(Exception):
    """Bad usage or input: the message is one line for stderr, the exit code is 2."""


class OneLineParser(argparse.ArgumentParser):
    """An argument parser whose errors are one line instead of the usage and a line.

    ``example`` is a command line that works, for who has left something out.
    """

    example = ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse, but each command refuses what it does not know, and names its own help: the
        program's, which argparse would name, does not list the command's options.

        Words behind an option join those before it, where there may be any number of them.
        """
        known, unknown = super().parse_known_args(args, namespace)
        if unknown and not any(word.startswith("-") for word in unknown):
            for action in self._get_positional_actions():
                if action.nargs in (argparse.ZERO_OR_MORE, argparse.ONE_OR_MORE):
                    words = [self._get_value(action, word) for word in unknown]
                    setattr(known, action.dest, [*getattr(known, action.dest), *words])
                    unknown = []
        if unknown:
            # The dashes alone make any two options somewhat alike.
            options = self._option_string_actions
            hint = nearest(unknown[0].partition("=")[0], options, cutoff=0.75)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return known, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            hint = nearest(str(value), [str(choice) for choice in action.choices or ()])
            if not hint:
                raise
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}{hint}") from error

    def error(self, message: str) -> NoReturn:
        if self.example and "are required: " in message:
            message += f", as in: {self.example}"
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """A question that names the one of ``known`` that is meant, where one is close; else ''.

    ``cutoff`` is how alike the two must be, 0 to 1.
    """
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return f": did you mean {close[0]}?" if close else ""


def add_command(
    commands: Commands, name: str, *, does: str, example: str, handler: Handler | None
) -> OneLineParser:
    """Adds the command `name`; `example` is what stands behind the name in its `--help`.

    The handler is kept as `telemetry_command`: the host's own parser uses `func`. None is for a
    group, whose commands below it have handlers of their own.
    """
    parser = commands.add_parser(
        name,
        help=does,
        description=does[0].upper() + does[1:] + ".",
        epilog="example:\n  %(prog)s " + example,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.example = f"{parser.prog} {example}"
    if handler is not None:
        parser.set_defaults(telemetry_command=handler)
    return parser


def add_db_option(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """`--db FILE`, read back by `ledger_path`.

    ``default`` is argparse.SUPPRESS below a command that takes the option, too: else what stands
    there would be forgotten.
    """
    parser.add_argument(
        "--db",
        metavar="FILE",
        default=default,
        help="the ledger (default: telemetry.db in the telemetry home)",
    )


def add_inherited_options(parser: argparse.ArgumentParser) -> None:
    """`--json` and `--db` below a command that takes both, too: either place is heard."""
    parser.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object"
    )
    add_db_option(parser, argparse.SUPPRESS)


def ledger_path(namespace: argparse.Namespace) -> Path:
    """The ledger that `--db` names, else the telemetry home's."""
    from .. import paths

    return Path(namespace.db) if namespace.db is not None else paths.database_path()


@dataclass(frozen=True)
class Screen:
    """Where a command prints, and how wide; `columns` None is as wide as it likes.

    A chat has 72 columns, and a process that serves one has a standard output for something else.
    """

    to: TextIO
    columns: int | None = None


def screen(namespace: argparse.Namespace) -> Screen:
    """The screen that a slash command was given as `telemetry_screen`, else standard output."""
    given: Screen | None = getattr(namespace, "telemetry_screen", None)
    return given or Screen(sys.stdout)
