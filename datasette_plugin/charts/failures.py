"""Failed attempts: how many requests to a model failed, when and with which status."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from functools import partial

from hermes_telemetry.money import UNKNOWN

from ..views import formats
from . import style
from .figure import LONGEST_TABLE, Figure, Row, Table, Total, as_json, many, nothing
from .reading import Reading, Rows
from .stacks import Stacks
from .steps import Steps, day_in_words

QUERY = "failed_attempts"
NAME, TITLE = "failures", "Failed attempts"


def figure(reading: Reading, conn: sqlite3.Connection) -> Figure:
    """The five most frequent statuses and all others, stacked for each day."""
    rows = reading.rows(conn, QUERY)
    if not rows:
        return nothing(NAME, TITLE, QUERY, "No attempt failed in this period.")
    of_status: dict[int | None, Rows] = defaultdict(list)
    by_day: Counter[str] = Counter()
    for row in rows:
        of_status[row["status_code"]].append(row)
        by_day[row["day"]] += row["attempts"]
    attempts = {status: sum(row["attempts"] for row in of) for status, of in of_status.items()}
    frequent = sorted(attempts, key=lambda status: -attempts[status])
    stacks = Stacks.of(
        Steps.over(reading.period, by_day),
        frequent,
        [(row["day"], row["status_code"], row["attempts"]) for row in rows],
    )
    spec = partial(
        stacks.spec,
        names=[_words(status) for status in stacks.shown],
        others="other statuses",
        axis=style.count_axis,
    )
    total = sum(attempts.values())
    day, worst = by_day.most_common(1)[0]
    first = frequent[0]
    return Figure(
        NAME,
        TITLE,
        QUERY,
        Total(total, "attempts", many(total, "attempt")),
        f"Most often {_words(first)}: {formats.share(attempts[first] / total)} of them;"
        f" the worst day was {day_in_words(day)} with {formats.number(worst)}.",
        rows=stacks.rows("status_code", "attempts"),
        table=_table(frequent, of_status, attempts, total),
        wide=as_json(spec(False)),
        narrow=as_json(spec(True)),
    )


def _words(status: object) -> str:
    return "no status" if status is None else str(status)


def _table(
    frequent: list[int | None],
    of_status: dict[int | None, Rows],
    attempts: dict[int | None, int],
    total: int,
) -> Table:
    shown, rest = frequent, []
    if len(frequent) > LONGEST_TABLE:
        shown, rest = frequent[: LONGEST_TABLE - 1], frequent[LONGEST_TABLE - 1 :]
    lines = [(_words(status), [status]) for status in shown]
    lines += [(f"{len(rest)} others", rest)] if rest else []
    return Table(
        (("Status", False), ("Attempts", True), ("Share", True), ("Minutes lost", True)),
        tuple(
            Row(
                (
                    words,
                    formats.number(sum(attempts[status] for status in of)),
                    formats.share(sum(attempts[status] for status in of) / total),
                    _minutes([row for status in of for row in of_status[status]]),
                )
            )
            for words, of in lines
        ),
    )


def _minutes(rows: Rows) -> str:
    known = [row["wasted_ms"] for row in rows if row["wasted_ms"] is not None]
    return f"{sum(known) / 60_000:,.1f}" if known else UNKNOWN
