"""`query`: runs any canned query on a ledger that is opened read-only."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Any

from .. import strict_json
from . import periods
from .options import InputError, add_command, add_db_option, ledger_path, nearest, screen

if TYPE_CHECKING:
    from ..reports import Query
    from .figures import Figure
    from .options import Commands

_CAP = re.compile(r"^ *limit ([0-9]+)$", re.MULTILINE)


def add_parser(commands: Commands) -> None:
    """`query NAME [--param KEY=VALUE]… [--sort COLUMN] [--limit N] [--csv|--json|--table]` and
    `query --list`.
    """
    parser = add_command(
        commands,
        "query",
        does="run a canned query and print its rows",
        example="cost_by_model --since last-month --until last-month --json",
        handler=run,
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="the query; --list names them all")
    parser.add_argument("--list", action="store_true", help="print every query with its title")
    parser.add_argument(
        "--param",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        type=_parameter,
        help="a parameter of the query (turn_id=…, model=…); may be repeated",
    )
    periods.add_bounds(parser)
    # `hermes` takes every --profile for itself, wherever it stands.
    parser.add_argument("--profile", "--of-profile", help="one profile's runs")
    parser.add_argument(
        "--sort",
        metavar="COLUMN",
        help="the rows by a column, the largest or latest first, names from A",
    )
    parser.add_argument("--reverse", action="store_true", help="the other way round")
    parser.add_argument(
        "--limit", metavar="N", type=_count, help="the first N rows; sorting comes before"
    )
    shapes = parser.add_mutually_exclusive_group()
    for shape, text in (
        ("table", "aligned columns, amounts to read (default)"),
        ("csv", "comma-separated values with a header"),
        ("json", "a list of objects; amounts are numbers in USD"),
    ):
        shapes.add_argument(
            f"--{shape}", dest="shape", action="store_const", const=shape, help=text
        )
    parser.set_defaults(shape="table")
    add_db_option(parser)


def run(namespace: argparse.Namespace) -> int:
    """Prints the rows, or the list of queries."""
    from .. import reports

    queries = reports.load_queries()
    if namespace.list:
        _print_list(list(queries.values()), as_json=namespace.shape == "json")
        return 0
    if namespace.name is None:
        raise InputError("name a query; --list prints them all")
    if namespace.name not in queries:
        hint = nearest(namespace.name, queries) or "; --list prints them all"
        raise InputError(f"there is no query {namespace.name!r}{hint}")
    figure = _figure(namespace)
    from . import output

    if namespace.shape == "json":
        output.write_json(sys.stdout, figure.columns, figure.rows)
    elif namespace.shape == "csv":
        output.write_csv(sys.stdout, figure.columns, figure.rows)
    else:
        query = figure.query
        columns, rows = figure.columns, figure.rows
        output.write_on_screen(screen(namespace), columns, rows, query.units, query.unpriced)
    return 0


def _figure(namespace: argparse.Namespace) -> Figure:
    from dataclasses import replace

    from .. import reports
    from . import figures

    path = ledger_path(namespace)
    given = _parameters(namespace)
    zone = reports.configured_zone(database=path)
    periods.require_window(given, zone)
    with figures.asking(path, zone) as ledger:
        figure = figures.ask(ledger, path, namespace.name, given)
    for parameter in figure.query.parameters:
        if parameter.default == "no rows" and not given.get(parameter.name):
            raise InputError(f"{namespace.name} has no rows without --param {parameter.name}=…")
    _tell_of_cap(figure, namespace)
    rows = figure.rows
    if namespace.sort is not None:
        rows = _sorted(figure, namespace.sort, reverse=namespace.reverse)
    elif namespace.reverse:
        rows = rows[::-1]
    return replace(figure, rows=rows[: namespace.limit])


def _tell_of_cap(figure: Figure, namespace: argparse.Namespace) -> None:
    """Says so where rows may be missing that the answer should have: the SQL of some queries gives
    only the newest ones. The first few of the newest are right in any case.
    """
    query = figure.query
    stated = _CAP.search(query.sql)
    if stated is None or len(figure.rows) < int(stated[1]):
        return
    cap = f"{int(stated[1]):,}"
    sorts = namespace.sort is not None or namespace.reverse
    if not sorts and namespace.limit is not None and namespace.limit < len(figure.rows):
        return
    if any(parameter.kind == "since" for parameter in query.parameters):
        where = " of the window"
        advice = ": choose a shorter one with --since and --until, and go month by month"
    else:
        where = advice = ""
    sorted_ones = " and only these were sorted" if sorts else ""
    print(
        f"{query.name} gives the newest {cap} rows{where}{sorted_ones}; older ones, if there are"
        f" any, are left out{advice}",
        file=sys.stderr,
    )


def _sorted(figure: Figure, column: str, *, reverse: bool) -> list[tuple[Any, ...]]:
    """The rows by a column: what is unknown last, equal ones in the order of the query."""
    if column not in figure.columns:
        raise InputError(
            f"{figure.query.name} has no column {column!r} (it has: {', '.join(figure.columns)})"
        )
    place = figure.columns.index(column)

    def key(row: tuple[Any, ...]) -> tuple[bool, Any]:
        value = row[place]
        # A damaged or a foreign file may hold text where numbers are meant.
        return (False, value) if isinstance(value, int | float) else (True, str(value))

    from_a = figure.query.units[column] in ("text", "id")
    known = [row for row in figure.rows if row[place] is not None]
    known.sort(key=key, reverse=from_a == reverse)
    return known + [row for row in figure.rows if row[place] is None]


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows, 1 or more")
    return int(text)


def _parameter(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def _parameters(namespace: argparse.Namespace) -> dict[str, str]:
    given: list[tuple[str, str]] = list(namespace.param)
    for name in ("since", "until", "profile"):
        value = getattr(namespace, name)
        if value is not None:
            given.append((name, value))
    parameters = dict(given)
    if len(parameters) < len(given):
        raise InputError("a parameter is given twice")
    return parameters


def _print_list(queries: list[Query], *, as_json: bool) -> None:
    if as_json:
        listing = [
            {
                "name": query.name,
                "title": query.title,
                "description": query.description,
                "parameters": {each.name: each.default for each in query.parameters},
                "units": dict(query.units),
                "unpriced": dict(query.unpriced),
            }
            for query in queries
        ]
        print(strict_json.text(listing))
        return
    width = max(len(query.name) for query in queries)
    for query in queries:
        takes = ", ".join(each.name for each in query.parameters)
        print(f"{query.name:<{width}}  {query.title}" + (f" ({takes})" if takes else ""))
