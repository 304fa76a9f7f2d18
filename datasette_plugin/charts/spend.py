"""Spend by day and model: which models cost how much, and when."""

from __future__ import annotations

import sqlite3
from collections import defaultdict

from hermes_telemetry.money import usd

from ..views import formats
from . import style
from .figure import LONGEST_TABLE, Figure, Row, Spec, Table, Total, as_json, nothing, short
from .reading import COSTS, Reading, Rows, by_model, priced, unpriced
from .stacks import Stacks
from .steps import Steps, day_in_words

QUERY = COSTS
NAME, TITLE = "spend", "Spend by day and model"


def figure(reading: Reading, conn: sqlite3.Connection) -> Figure:
    """The five most expensive models and all others, stacked for each day."""
    rows = reading.rows(conn, QUERY)
    steps = Steps.over(reading.period, [row["day"] for row in rows])
    title = TITLE.replace("day", steps.kind)
    if not rows:
        return nothing(NAME, title, QUERY, "No call was recorded in this period.")
    amount, lacking = priced(rows), unpriced(rows)
    total = Total(amount, "usd", usd(amount, lacking), lacking)
    if not amount:
        priceless = "no call has a price" if amount is None else "every call with a price was free"
        return Figure(NAME, title, QUERY, total, f"In this period {priceless}.")

    of_model = by_model(rows)
    of_day: dict[str, Rows] = defaultdict(list)
    for row in rows:
        of_day[row["day"]].append(row)
    cost = {model: priced(of) or 0 for model, of in of_model.items()}
    dearest = sorted(cost, key=lambda model: -cost[model])
    stacks = Stacks.of(
        steps,
        [model for model in dearest if cost[model]],
        [(row["day"], row["model"] or "", row["cost_usd"]) for row in rows if row["cost_usd"]],
    )

    def spec(narrow: bool) -> Spec:
        names = [str(model) for model in stacks.shown]
        return stacks.spec(narrow, names=names, others="other models", axis=style.usd_axis)

    day = max(of_day, key=lambda day: priced(of_day[day]) or 0)
    cost_of_day = usd(priced(of_day[day]), unpriced(of_day[day]))
    return Figure(
        NAME,
        title,
        QUERY,
        total,
        f"{short(dearest[0], 60)} made {formats.share(cost[dearest[0]] / amount)} of it;"
        f" the most expensive day was {day_in_words(day)} with {cost_of_day}.",
        rows=stacks.rows("model", "cost_usd"),
        table=_table([(short(model, 60), of_model[model]) for model in dearest], amount),
        wide=as_json(spec(False)),
        narrow=as_json(spec(True)),
    )


def _table(models: list[tuple[str, Rows]], amount: float) -> Table:
    if len(models) > LONGEST_TABLE:
        rest = models[LONGEST_TABLE - 1 :]
        merged = [row for _, rows in rest for row in rows]
        models = [*models[: LONGEST_TABLE - 1], (f"{len(rest)} others", merged)]
    return Table(
        (("Model", False), ("USD", True), ("Share", True), ("Calls", True)),
        tuple(
            Row(
                (
                    words,
                    usd(priced(rows), unpriced(rows)),
                    formats.share((priced(rows) or 0) / amount),
                    formats.number(sum(row["calls"] for row in rows)),
                )
            )
            for words, rows in models
        ),
    )
