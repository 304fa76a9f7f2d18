"""`query`: runs any canned query on a ledger that is opened read-only."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .options import InputError, add_command, add_db_option, ledger_path

if TYPE_CHECKING:
    from ..reports import Query
    from .options import Commands


def add_parser(commands: Commands) -> None:
    """`query NAME [--param KEY=VALUE]… [--csv|--json|--table]` and `query --list`."""
    parser = add_command(
        commands,
        "query",
        does="run a canned query and print its rows",
        example="cost_by_model --since 2026-07-01 --until 2026-07-31 --json",
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
        help="a parameter of the query; may be repeated",
    )
    parser.add_argument("--since", help="a date, an instant or 'all'; short for --param since=…")
    parser.add_argument("--until", help="a date (included) or an instant; likewise")
    parser.add_argument("--profile", help="one profile's runs; likewise")
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
        raise InputError(f"there is no query {namespace.name!r}{_nearest(namespace.name, queries)}")
    query = queries[namespace.name]
    columns, rows = _rows(namespace, query)
    from . import output

    if namespace.shape == "json":
        output.write_json(sys.stdout, columns, rows)
    elif namespace.shape == "csv":
        output.write_csv(sys.stdout, columns, rows)
    else:
        output.write_table(sys.stdout, columns, rows, query.units, query.unpriced)
    return 0


def _rows(namespace: argparse.Namespace, query: Query) -> tuple[list[str], list[tuple[Any, ...]]]:
    from contextlib import closing

    from .. import reports
    from ..store.files import db_option, open_ledger

    path = ledger_path(namespace)
    with closing(open_ledger(path)) as ledger:
        reports.prepare_connection(ledger, reports.configured_zone(database=path))
        reason = reports.unavailable(ledger, query)
        if reason is not None:
            raise InputError(f"{query.name}: {reason}{db_option(path)}")
        given = _parameters(namespace)
        try:
            answer = reports.run(ledger, query, given)
        except ValueError as error:  # a parameter that the query does not take, or cannot read
            raise InputError(str(error)) from error
    for parameter in query.parameters:
        if parameter.default == "no rows" and not given.get(parameter.name):
            raise InputError(f"{query.name} has no rows without --param {parameter.name}=…")
    return answer


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


def _nearest(name: str, queries: Iterable[str]) -> str:
    from difflib import get_close_matches

    nearest = get_close_matches(name, list(queries), n=1)
    return f": did you mean {nearest[0]}?" if nearest else "; --list prints them all"


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
        print(json.dumps(listing, indent=2))
        return
    width = max(len(query.name) for query in queries)
    for query in queries:
        takes = ", ".join(each.name for each in query.parameters)
        print(f"{query.name:<{width}}  {query.title}" + (f" ({takes})" if takes else ""))
