"""The cost review as files: HTML that asks nobody for anything, and pictures as PNG."""

from __future__ import annotations

import sqlite3
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from hermes_telemetry.money import UNKNOWN
from hermes_telemetry.store.newest import newest
from hermes_telemetry.windows import next_month, parse_timestamp, time_zone

from .. import ledgers
from ..views import formats
from ..views.period import Period
from . import drawing, review, saved
from .reading import Reading
from .review import Review

_ROOT = Path(__file__).parents[1]

Pictures = Mapping[str, tuple[bytes, bytes]]
"""The wide and the narrow SVG of each figure that can be drawn, by its name."""


@dataclass(frozen=True)
class Report:
    """A review and what stands above it: `database` is the ledger's name, `data_to` the time of
    its newest record as stored.
    """

    review: Review
    period: Period
    database: str
    data_to: str | None

    @classmethod
    def of_month(
        cls, conn: sqlite3.Connection, path: Path, month: date, zone: str, now: datetime
    ) -> Report:
        """Of the local month that begins with the day `month`, of the ledger at `path`.

        `conn` is one that `reports.prepare_connection` has seen. Of what an older file cannot
        answer a figure says so. Raises ValueError for a file that is no ledger.
        """
        found = ledgers.look(str(path), None, conn)
        if found is None or found[1] is None:
            raise ValueError(f"{path} is not a telemetry ledger")
        ledger = found[1]
        last = next_month(month) - timedelta(days=1)
        given = {"since": month.isoformat(), "until": last.isoformat()}
        period = Period.asked(given, zone, now)
        reading = Reading(ledger.queries, period, path, now)
        made = review.assemble(review.parts(review.NAMES, reading, conn))
        ts = newest(conn, ledger.columns).ts
        more = saved.of_ledger(conn, path, ledger.queries, period)
        return cls(replace(made, figures=(*made.figures, *more)), period, path.name, ts)

    def pictures(self) -> Pictures:
        """Drawn here and now; none without the extra `charts`."""
        if drawing.engine() is None:
            return {}
        return {
            figure.name: (drawing.svg(figure.wide), drawing.svg(figure.narrow))
            for figure in self.review.figures
            if figure.wide and figure.narrow
        }

    def pngs(self) -> dict[str, bytes]:
        """Each figure that can be drawn as a PNG file with its title, by its name.

        Raises ValueError without the extra `charts`.
        """
        return {
            figure.name: drawing.png(figure.wide, figure.title, figure.total.words)
            for figure in self.review.figures
            if figure.wide and figure.total
        }

    def html(self, pictures: Pictures) -> str:
        """The whole file, which holds its pictures and its style."""
        # Not Datasette's environment: a reader's own templates have no place in this file.
        env = Environment(loader=FileSystemLoader(_ROOT / "templates"), autoescape=True)
        formats.register(env)
        return env.get_template("telemetry_report.html").render(
            period=self.period,
            database=self.database,
            data_to=_told(self.data_to, self.period.window.zone),
            style=(_ROOT / "static" / "telemetry.css").read_text(encoding="utf-8"),
            comparison=self.review.comparison,
            no_pictures=None if drawing.engine() else drawing.MISSING,
            shown=[
                {
                    "figure": figure,
                    "links": [],
                    "leads_to": [None] * len(figure.table.rows if figure.table else ()),
                    "pictures": _data_addresses(pictures.get(figure.name)),
                }
                for figure in self.review.figures
            ],
        )


def _data_addresses(drawn: tuple[bytes, bytes] | None) -> dict[str, str] | None:
    if drawn is None:
        return None
    wide, narrow = (f"data:image/svg+xml;base64,{b64encode(svg).decode()}" for svg in drawn)
    return {"wide": wide, "narrow": narrow}


def _told(ts: str | None, zone: str) -> str:
    if ts is None:
        return UNKNOWN
    try:
        moment = parse_timestamp(ts).astimezone(time_zone(zone))
    except (ValueError, OverflowError):  # a file of other builds may hold anything
        return ts
    return f"{moment.day} {moment:%B %Y %H:%M:%S}"
