"""`bill`: the provider's own usage export beside the ledger's figures, per day and model."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import strict_json
from . import periods
from .options import InputError, add_command, add_db_option, ledger_path

if TYPE_CHECKING:
    from datetime import date

    from .bill_csv import Charge
    from .options import Commands

# "-20260701" and "-2026-07-01": the provider bills a dated id where the host asked for the plain.
_DATE = re.compile(r"[-@]20\d\d-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])$")
# Sums of floats; the ledger is right to the nano-dollar.
_DECIMALS = 9


def add_parser(commands: Commands) -> None:
    """`bill --csv FILE [--month YYYY-MM] [--provider NAME] [column options] [--day-zone ZONE]`."""
    parser = add_command(
        commands,
        "bill",
        does="set a provider's usage export beside the ledger, per day and model",
        example="--csv usage.csv --month 2026-07 --cost-column amount --provider anthropic",
        handler=run,
    )
    parser.add_argument("--csv", metavar="FILE", required=True, help="the export, with a header")
    parser.add_argument(
        "--month",
        metavar="YYYY-MM",
        type=periods.month,
        help="only that month, month (this one) or last-month (default: all its days)",
    )
    parser.add_argument(
        "--provider",
        metavar="NAME",
        help="only the ledger's calls at this provider (default: at all of them)",
    )
    for what, default in (("date", "date"), ("model", "model"), ("cost", "cost_usd")):
        parser.add_argument(
            f"--{what}-column",
            metavar="NAME",
            default=default,
            help=f"the export's column of the {what} (default: {default})",
        )
    parser.add_argument(
        "--day-zone",
        metavar="ZONE",
        help="whose days the export counts, such as UTC (default: those of the reports)",
    )
    add_db_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


@dataclass
class _Line:
    """A day and a model on both sides; None where a side has nothing, or nothing priced."""

    billed: float | None = None
    ledger: float | None = None
    calls: int = 0
    unpriced: int = 0

    def add(self, other: _Line) -> None:
        self.billed = _sum(self.billed, other.billed)
        self.ledger = _sum(self.ledger, other.ledger)
        self.calls += other.calls
        self.unpriced += other.unpriced

    def fields(self) -> dict[str, Any]:
        """``difference_usd`` is billed less ledger; with unpriced calls it is an upper bound."""
        return {
            "billed_usd": _rounded(self.billed),
            "ledger_usd": _rounded(self.ledger),
            "difference_usd": _rounded((self.billed or 0.0) - (self.ledger or 0.0)),
            "calls": self.calls,
            "unpriced_calls": self.unpriced,
        }


def run(namespace: argparse.Namespace) -> int:
    """Prints both sides and the difference of each day and model, of each model, and in all."""
    from .. import reports
    from ..windows import time_zone
    from .bill_csv import Columns, read_export

    path = ledger_path(namespace)
    try:
        zone = namespace.day_zone or reports.configured_zone(database=path)
        time_zone(zone)
    except ValueError as error:
        raise InputError(f"--day-zone: {error}") from error
    columns = Columns(namespace.date_column, namespace.model_column, namespace.cost_column)
    charges = read_export(Path(namespace.csv), columns, zone)
    since, until = _period(
        periods.first_of(namespace.month, zone) if namespace.month else None, charges
    )
    taken = [charge for charge in charges if since <= charge.day <= until]
    lines = _lines(taken, _recorded(path, zone, since, until, namespace.provider))
    models = _by_model(lines)
    total = _Line()
    for line in models.values():
        total.add(line)
    if namespace.json:
        report = {
            "file": str(path),
            "csv": namespace.csv,
            "since": since,
            "until": until,
            "zone": zone,
            "provider": namespace.provider,
            "lines_left_out": len(charges) - len(taken),
            "days": [
                {"day": day, "model": model, **line.fields()}
                for (day, model), line in lines.items()
            ],
            "models": [{"model": model, **line.fields()} for model, line in models.items()],
            "total": total.fields(),
        }
        print(strict_json.text(report))
        return 0
    _print(lines, models, total)
    if len(charges) > len(taken):
        print(f"lines of other days in the export: {len(charges) - len(taken):,}, left out")
    return 0


def _period(month: date | None, charges: Sequence[Charge]) -> tuple[str, str]:
    """First and last day that are compared."""
    if month is not None:
        from calendar import monthrange

        _, days = monthrange(month.year, month.month)
        return month.isoformat(), month.replace(day=days).isoformat()
    if not charges:
        raise InputError("the export holds no line: say which --month to compare")
    return min(charge.day for charge in charges), max(charge.day for charge in charges)


def _recorded(
    path: Path, zone: str, since: str, until: str, provider: str | None
) -> list[tuple[str, str, _Line]]:
    """The ledger's side, by the query that every report of days and models is made of."""
    from contextlib import closing

    from .. import reports
    from ..store.files import db_option, open_ledger
    from .bill_csv import NO_MODEL

    query = reports.load_queries()["cost_by_day_and_model"]
    with closing(open_ledger(path)) as ledger:
        reports.prepare_connection(ledger, zone)
        reason = reports.unavailable(ledger, query)
        if reason is not None:
            raise InputError(f"{reason}{db_option(path)}")
        columns, rows = reports.run(ledger, query, {"since": since, "until": until})
    records = [dict(zip(columns, row, strict=True)) for row in rows]
    return [
        (
            row["day"],
            row["model"] or NO_MODEL,
            _Line(None, row["cost_usd"], row["calls"], row["unpriced_calls"]),
        )
        for row in records
        if provider in (None, row["provider"])
    ]


def _lines(
    charges: Iterable[Charge], recorded: Iterable[tuple[str, str, _Line]]
) -> dict[tuple[str, str], _Line]:
    """Both sides by day and model, by the ledger's name of a model where it has one."""
    names: dict[str, str] = {}
    lines: dict[tuple[str, str], _Line] = {}

    def add(day: str, model: str, line: _Line) -> None:
        # Two names of one model meet here: ids differ in case, and in a date behind them.
        name = names.setdefault(_DATE.sub("", model.lower()), model)
        lines.setdefault((day, name), _Line()).add(line)

    for day, model, line in recorded:
        add(day, model, line)
    for charge in charges:
        add(charge.day, charge.model, _Line(billed=float(charge.usd)))
    return dict(sorted(lines.items()))


def _by_model(lines: dict[tuple[str, str], _Line]) -> dict[str, _Line]:
    models: dict[str, _Line] = {}
    for (_, model), line in lines.items():
        models.setdefault(model, _Line()).add(line)
    return dict(sorted(models.items()))


def _sum(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else one + other


def _rounded(usd: float | None) -> float | None:
    return None if usd is None else round(usd, _DECIMALS)


def _print(lines: dict[tuple[str, str], _Line], models: dict[str, _Line], total: _Line) -> None:
    from ..money import total as told
    from ..money import usd
    from .output import write_table

    money = ["billed", "ledger", "difference", "calls", "unpriced_calls"]
    units = dict.fromkeys(money, "count")
    write_table(
        sys.stdout,
        ["day", "model", *money],
        [[day, model, *_cells(line)] for (day, model), line in lines.items()],
        units,
    )
    print()
    write_table(
        sys.stdout,
        ["model", *money],
        [[model, *_cells(line)] for model, line in models.items()],
        units,
    )
    figures = total.fields()
    print(
        f"total: billed {usd(figures['billed_usd'])}, ledger"
        f" {told(figures['ledger_usd'], total.unpriced)}, difference {_cells(total)[2]}"
    )


def _cells(line: _Line) -> list[Any]:
    """What the provider says is exact; what the ledger says may be a lower bound."""
    from ..money import usd

    fields = line.fields()
    bound = "≤ " if line.unpriced else ""
    return [
        usd(fields["billed_usd"]),
        usd(fields["ledger_usd"], line.unpriced),
        bound + usd(fields["difference_usd"]),
        line.calls,
        line.unpriced,
    ]
