"""`stats`: the reports that one looks at most; in chat, `/stats` is the same."""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import strict_json
from . import periods
from .options import InputError, add_command, add_db_option, ledger_path, nearest, screen

if TYPE_CHECKING:
    from datetime import date

    from .figures import Figure
    from .options import Commands, Screen

# What each report shows: the names of its canned queries.
REPORTS = {
    "summary": ("cost_by_day", "tool_reliability", "failed_attempts"),
    "cron": ("cron_attribution",),
    "providers": ("cost_by_provider",),
    "models": ("cost_by_model",),
    "efficiency": ("efficiency",),
    "smells": ("smells",),
    "raw": ("newest_runs",),
}
# They tell of some calls only: what others cost, or why nothing, would be beside the point.
_OF_SOME_CALLS = ("cron", "raw")
_AGE = re.compile("[0-9]+[hdw]")
_ROWS_IN_CHAT = 12


@dataclass(frozen=True)
class Asked:
    """A report and the parameters of its queries; '' is what each of them has by itself.

    ``runs`` is how many `raw` shows.
    """

    report: str
    runs: str
    since: str
    until: str


def add_parser(commands: Commands) -> None:
    """`stats [REPORT] [PERIOD] [--since --until] [--profile] [--json|--csv]`."""
    parser = add_command(
        commands,
        "stats",
        does="show a report: what was spent, by what, and how well it went",
        example="models week",
        handler=run,
    )
    reports = "|".join(name for name in REPORTS if name != "raw")
    parser.usage = (
        f"%(prog)s [{reports}|raw N]\n[{'|'.join(periods.PERIODS)}|7d|DATE|all] [options]"
    )
    parser.add_argument(
        "words",
        metavar="WORD",
        nargs="*",
        help="a report (default: summary; raw N: the N newest runs) and a period: local days (a"
        " week begins on Monday), a date, an age such as 7d or all (default: the 30 days up to"
        " today)",
    )
    periods.add_bounds(parser)
    # `hermes` takes every --profile for itself, wherever it stands.
    parser.add_argument("--profile", "--of-profile", help="one profile's runs")
    shapes = parser.add_mutually_exclusive_group()
    shapes.add_argument("--json", action="store_true", help="one object; amounts in USD")
    shapes.add_argument("--csv", action="store_true", help="the rows of the first table")
    add_db_option(parser)


def run(namespace: argparse.Namespace) -> int:
    """Prints the report."""
    from ..reports import configured_zone
    from ..windows import SYSTEM_CLOCK, local_day
    from . import output, zeros
    from .figures import ask, asking

    path = ledger_path(namespace)
    zone = configured_zone(database=path)
    asked = _asked(namespace, local_day(SYSTEM_CLOCK.now(), zone))
    parameters = {"since": asked.since, "until": asked.until, "profile": namespace.profile or ""}
    own = {"runs": asked.runs} if asked.report == "raw" else {}
    periods.require_window(parameters, zone)
    with asking(path, zone) as ledger:
        figures = [ask(ledger, path, name, parameters | own) for name in REPORTS[asked.report]]
        shown = screen(namespace)
        if namespace.json:
            content = {
                "report": asked.report,
                "since": asked.since or None,
                "until": asked.until or None,
                **_bounds(asked, _usual(figures[0]), zone),
                "profile": namespace.profile,
                "timezone": zone,
                "figures": {figure.query.name: figure.objects() for figure in figures},
            }
            shown.to.write(strict_json.text(content) + "\n")
        elif namespace.csv:
            output.write_csv(shown.to, figures[0].columns, figures[0].rows)
        else:
            _print_title(shown, asked, namespace.profile, zone, figures[0])
            for figure in figures:
                _print(shown, figure)
            if asked.report not in _OF_SOME_CALLS and any(
                "usd" in figure.query.units.values() for figure in figures
            ):
                zeros.say_why(shown, ledger, path, parameters)
    return 0


def _asked(namespace: argparse.Namespace, today: date) -> Asked:
    from ..windows import EVERYTHING, named_days

    report: str | None = None
    window: str | None = None
    runs = ""
    for word in namespace.words:
        if word in REPORTS and report is None:
            report = word
        elif window is None and (
            named_days(word, today) or _AGE.fullmatch(word) or word.lower() == EVERYTHING
        ):
            window = word
        elif report == "raw" and not runs and word.isdecimal():
            runs = word
        else:
            known = (*REPORTS, *periods.PERIODS, EVERYTHING)
            hint = "" if word in known else nearest(word, known)
            if hint:
                raise InputError(f"{word!r} is not understood here{hint}")
            raise InputError(
                f"{word!r} is not understood here: name a report ({', '.join(REPORTS)}; a number"
                f" of runs behind raw) and a period ({', '.join(periods.PERIODS)}, 7d, a date such"
                " as 2026-07-01, all), each once"
            )
    since, until = namespace.since or "", namespace.until or ""
    if window is not None:
        if since or until:
            raise InputError(f"name {window} or --since and --until, not both")
        days = named_days(window, today)
        since, until = (day.isoformat() for day in days) if days else (window, "")
    return Asked(report or "summary", runs, since, until)


def _usual(figure: Figure) -> str:
    """The length of the window that nobody asked for: "30 days"."""
    (usual,) = (each.default for each in figure.query.parameters if each.kind == "since")
    return usual


def _bounds(asked: Asked, usual: str, zone: str) -> dict[str, str | None]:
    """The window as instants in UTC, half-open, None where it has no bound, as the pages' JSON."""
    from ..windows import BEGINNING, END, SYSTEM_CLOCK, Window, timestamp

    days = int(usual.removesuffix(" days"))
    window = Window.asked(asked.since, asked.until, days, zone, SYSTEM_CLOCK.now())
    return {
        "window_start": None if window.start == BEGINNING else timestamp(window.start),
        "window_end": None if window.end == END else timestamp(window.end),
    }


def _print_title(
    shown: Screen, asked: Asked, profile: str | None, zone: str, figure: Figure
) -> None:
    from . import output

    of_profile = f", profile {profile}" if profile else ""
    output.say(shown, f"{asked.report}: {_window(asked, _usual(figure))} ({zone}){of_profile}")


def _window(asked: Asked, usual: str) -> str:
    since, until = asked.since, asked.until
    if since == until != "":
        return since
    if since.lower() == "all":
        return f"all up to {until}" if until else "all"
    if _AGE.fullmatch(since) and not until:
        return f"last {since}"
    if since:
        return f"{since} to {until or 'now'}"
    return f"{usual} up to {until or 'today'}"


def _print(shown: Screen, figure: Figure) -> None:
    from . import output

    shown.to.write("\n")
    query = figure.query
    output.say(shown, query.title + ("" if figure.rows else ": nothing in this window"))
    if not figure.rows:
        return
    columns, rows = figure.columns, figure.rows
    if shown.columns is not None:
        columns, rows = _for_chat(figure)
    output.write_on_screen(shown, columns, rows, query.units, query.unpriced)
    if len(rows) < len(figure.rows):
        output.say(shown, f"… and {len(figure.rows) - len(rows):,} more")
    total = _total(figure)
    if total is not None:
        output.say(shown, f"Total: {total}")


def _for_chat(figure: Figure) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Its first rows; a job goes by its name there, for its id and all the rest find no room."""
    columns = list(figure.columns)
    if "job_name" in columns:
        columns.remove("job_name")
        columns[columns.index("cron_job_id")] = "job_name"
    places = [figure.columns.index(column) for column in columns]
    return columns, [tuple(row[n] for n in places) for row in figure.rows[:_ROWS_IN_CHAT]]


def _total(figure: Figure) -> str | None:
    """What the rows cost together; None where the figure is not about money."""
    from ..money import total

    query = figure.query
    amount = next((name for name, unit in query.units.items() if unit == "usd"), None)
    if amount is None:
        return None
    rows = figure.objects()
    unpriced = sum(row[query.unpriced[amount]] for row in rows)
    return total(math.fsum(row[amount] or 0 for row in rows), unpriced)
