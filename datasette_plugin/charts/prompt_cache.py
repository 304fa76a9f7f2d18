"""The prompt cache: which part of the input was read from it, and what that saved."""

from __future__ import annotations

import sqlite3
from collections import Counter
from functools import partial

from hermes_telemetry.money import usd

from ..views import formats
from . import style
from .figure import Figure, Row, Spec, Table, Total, as_json, nothing
from .reading import Reading, Rows, priced, unpriced
from .stacks import Stacks
from .steps import Steps

QUERY = "cache_savings"
NAME, TITLE = "cache", "What the prompt cache saved"
# As the query names them, what was not paid anew at the bottom.
_KINDS = ("cache read", "cache write", "fresh")


def figure(reading: Reading, conn: sqlite3.Connection) -> Figure:
    """The share of each kind of input, for each day."""
    rows = reading.rows(conn, QUERY)
    of_kind: dict[str, Rows] = {kind: [] for kind in _KINDS}
    for row in rows:
        of_kind[row["kind"]].append(row)
    tokens = {kind: sum(row["tokens"] or 0 for row in of_kind[kind]) for kind in _KINDS}
    whole = sum(tokens.values())
    if not whole:
        return nothing(NAME, TITLE, QUERY, "No input tokens were recorded in this period.")
    saved = priced(rows, "saved_usd")
    lacking = unpriced(rows)
    steps = Steps.over(reading.period, [row["day"] for row in rows])
    shares = _shares(steps, rows)
    heights = {(step, _KINDS.index(kind)): share for (step, kind), share in shares.items()}
    spec = partial(
        Stacks(steps, _KINDS, False, heights).spec,
        names=_KINDS,
        others="",
        axis=_share_axis,
        side_by_side=True,
    )
    read = formats.share(tokens["cache read"] / whole)
    left_out = " Calls whose rates are not recorded are not in what was saved." if lacking else ""
    return Figure(
        NAME,
        TITLE,
        QUERY,
        Total(saved, "usd_difference", f"saved {usd(saved)}", lacking),
        f"{read} of {formats.number(whole)} input tokens were read from the cache.{left_out}",
        rows=[
            {steps.kind: step, "kind": kind, "share": share}
            for (step, kind), share in shares.items()
        ],
        table=Table(
            (
                ("Kind", False),
                ("Input tokens", True),
                ("Share", True),
                ("Cost", True),
                ("Saved", True),
            ),
            tuple(
                Row(
                    (
                        kind,
                        formats.number(tokens[kind]),
                        formats.share(tokens[kind] / whole),
                        usd(priced(of_kind[kind]), unpriced(of_kind[kind])),
                        usd(priced(of_kind[kind], "saved_usd")),
                    )
                )
                for kind in _KINDS
            ),
        ),
        wide=as_json(spec(False)),
        narrow=as_json(spec(True)),
    )


def _shares(steps: Steps, rows: Rows) -> dict[tuple[str, str], float]:
    """The share of each kind in the input of each step that has any."""
    tokens: Counter[tuple[str, str]] = Counter()
    whole: Counter[str] = Counter()
    for row in rows:
        step = steps.of(row["day"])
        tokens[step, row["kind"]] += row["tokens"] or 0
        whole[step] += row["tokens"] or 0
    return {
        (step, kind): tokens[step, kind] / whole[step]
        for step in sorted(whole)
        for kind in _KINDS
        if whole[step]
    }


def _share_axis(_: float) -> Spec:
    return style.SHARE_AXIS
