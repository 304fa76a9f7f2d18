"""Pages, pictures and tables as a browser gets them from `hermes-telemetry serve`."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from statistics import median

from figures import Figure, Setting, medians
from ledgers import LARGE, end, ledger
from serving import Served

from hermes_telemetry.windows import local_day, machine_zone

PAGES = {
    "overview": "/-/telemetry",
    "budget": "/-/telemetry/budget",
    "charts": "/-/telemetry/charts",
    "prune": "/-/telemetry/prune",
}
# As on the last day of the longest month: without a period the pages show this month, of which
# there is nearly nothing on its first days.
_DAYS = 31
TABLE = "/telemetry/llm_calls"
QUERIES = tuple(f"/telemetry/{name}" for name in ("cost_by_day", "cost_by_model", "cost_per_turn"))
_BROWSERS = 8
# What starts the server's own machinery belongs to no page.
_WARM_UP = ("/-/versions.json", "/")
_PICTURE = re.compile(r'(?:src|srcset)="([^" ]+\.svg[^" ]*)"')


def group(setting: Setting) -> Iterator[Figure]:
    path = ledger(setting, LARGE, fresh=True)
    period = _period(path)
    found = medians([_one_server(path, period) for _ in range(setting.runs)])
    for name in PAGES:
        yield Figure(f"page {name}: cold", found[f"{name} cold"], "ms", 600)
        yield Figure(f"page {name}: warm", found[f"{name} warm"], "ms", 100)
    yield Figure("a chart, its data known and the engine running", found["chart"], "ms", 200)
    yield Figure("  the slowest of the charts", found["slowest chart"], "ms")
    yield Figure("table page of llm_calls: warm", found["table"], "ms", 150)
    refused, worst = _at_once(path, period)
    yield Figure(f"{_BROWSERS} browsers at once: answers that are none", refused, "", 0)
    yield Figure(f"{_BROWSERS} browsers at once: the longest wait", worst, "ms")


def _period(path: Path) -> str:
    """The last `_DAYS` days of the ledger at `path`, as the address of a page asks for them."""
    last = local_day(end(path), machine_zone())
    first = last - timedelta(days=_DAYS - 1)
    return f"?since={first}&until={last}"


def _one_server(path: Path, period: str) -> dict[str, float]:
    """Each page on a server that has not shown it before, then again, and then what it shows."""
    found = {}
    for name, page in PAGES.items():
        address = page + period
        # Pages share what they have read: each is the first of a server of its own.
        with Served(path) as served:
            for first in _WARM_UP:
                served.ms(first)
            found[f"{name} cold"] = served.ms(address)
            found[f"{name} warm"] = median(served.ms(address) for _ in range(5))
            if name == "charts":
                found |= _pictures(served, address)
                served.ms(TABLE)
                found["table"] = median(served.ms(TABLE) for _ in range(5))
    return found


def _pictures(served: Served, page: str) -> dict[str, float]:
    """The page's pictures, each drawn for the first time; the one that starts the engine apart."""
    addresses = [html.unescape(each) for each in _PICTURE.findall(served.get(page).text)]
    if len(addresses) < 2:
        raise SystemExit(f"{page} shows no charts: is vl-convert-python installed?")
    _, *times = [served.ms(address) for address in dict.fromkeys(addresses)]
    return {"chart": median(times), "slowest chart": max(times)}


def _at_once(path: Path, period: str) -> tuple[int, float]:
    """How many of the answers that eight browsers want at the same time are errors, and how many
    milliseconds the longest took.
    """
    wanted = (PAGES["overview"] + period, *QUERIES)
    with Served(path) as served, ThreadPoolExecutor(_BROWSERS) as browsers:
        served.ms(_WARM_UP[0])

        def browse(number: int) -> list[tuple[int, float]]:
            # Each begins elsewhere, so that all are asked for at once.
            order = [wanted[(number + step) % len(wanted)] for step in range(len(wanted))]
            answers = [served.get(address) for address in order]
            return [(answer.status, answer.ms) for answer in answers]

        answers = [each for browsed in browsers.map(browse, range(_BROWSERS)) for each in browsed]
    return sum(status != 200 for status, _ in answers), max(ms for _, ms in answers)
