"""The pictures of the docs, taken by a headless Chromium; scripts/screenshots runs this.

Each is of a page on one of four servers: a made-up ledger with a budget, without one and with one
that cannot be read, and an empty ledger. All are taken wide and narrow, as PNG with a palette.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from PIL import Image
from playwright.sync_api import BrowserContext, sync_playwright

from hermes_telemetry.store.migrations import migrate

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
WIDTHS = (1280, 375)
LARGEST_BYTES = 150_000
# More than one needs of text and bars; fewer are tried where a picture is too large.
COLOURS = (128, 64, 32, 16)

BROKEN = "budgets:\n  global: {daily_usd: five}\n"
# The pages show this month, of which there is next to nothing on its first days.
_TODAY = datetime.now(UTC).date()
_PERIOD = f"?since={_TODAY - timedelta(days=29)}&until={_TODAY}"
COST_BY_DAY = (
    "/telemetry/cost_by_day_and_model#g.mark=bar&g.x_column=day&g.x_type=ordinal"
    "&g.y_column=cost_usd&g.y_type=quantitative&g.color_column=model"
)


@dataclass(frozen=True)
class Shot:
    """A picture: the server that it is of, the address there, and how tall it may become."""

    server: str
    address: str
    tallest: int = 2000


SHOTS = {
    "overview": Shot("demo", f"/-/telemetry{_PERIOD}"),
    "budget": Shot("demo", "/-/telemetry/budget"),
    "cost-review": Shot("demo", f"/-/telemetry/charts{_PERIOD}"),
    "prune": Shot("demo", "/-/telemetry/prune?before=30d", 1200),
    "query": Shot("demo", COST_BY_DAY, 1300),
    "table": Shot("demo", "/telemetry/runs", 1000),
    "overview-no-budget": Shot("no budget", f"/-/telemetry{_PERIOD}"),
    "budget-no-budget": Shot("no budget", "/-/telemetry/budget"),
    "overview-broken-budget": Shot("broken budget", f"/-/telemetry{_PERIOD}"),
    "budget-broken-budget": Shot("broken budget", "/-/telemetry/budget"),
    "overview-empty": Shot("empty", "/-/telemetry"),
    "budget-empty": Shot("empty", "/-/telemetry/budget"),
    "cost-review-empty": Shot("empty", "/-/telemetry/charts"),
    "prune-empty": Shot("empty", "/-/telemetry/prune?before=30d"),
}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("names", metavar="NAME", nargs="*", help="only these (default: all)")
    options.add_argument("--chromium", required=True, help="path of the browser")
    options.add_argument("--list", action="store_true", help="print the names")
    given = options.parse_args()
    wanted = given.names or list(SHOTS)
    if given.list:
        print("\n".join(SHOTS))
        return 0
    if unknown := set(wanted) - set(SHOTS):
        options.error(f"there is no picture {', '.join(sorted(unknown))}")
    IMAGES.mkdir(exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(
            executable_path=given.chromium,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        sites: dict[str, BrowserContext] = {}
        for name in wanted:
            shot = SHOTS[name]
            if shot.server not in sites:
                ledger = ledger_of(shot.server, folder / shot.server.replace(" ", "-"))
                address, login = stack.enter_context(serving(ledger))
                sites[shot.server] = browser.new_context(base_url=address)
                sites[shot.server].new_page().goto(login)
            for width in WIDTHS:
                taken = take(sites[shot.server], shot.address, width, shot.tallest)
                size = save(taken, IMAGES / f"{name}-{width}.png")
                print(f"{name}-{width}.png: {size:,} bytes", flush=True)
        browser.close()
    return 0


def ledger_of(server: str, home: Path) -> Path:
    """The ledger of a telemetry home below `home`, with what a server shows beside it."""
    ledger = home / "telemetry" / "telemetry.db"
    ledger.parent.mkdir(parents=True)
    if server == "empty":
        migrate(ledger)
        return ledger
    # Made elsewhere: into a telemetry home the demo writes no budget.
    made = home / "made"
    made.mkdir()
    run("demo", str(made / "telemetry.db"), home=home)
    shutil.copy(made / "telemetry.db", ledger)
    budget = ledger.with_name("budget.yaml")
    if server == "demo":
        shutil.copy(made / "budget.yaml", budget)
    elif server == "broken budget":
        budget.write_text(BROKEN, encoding="utf-8")
    return ledger


def environment(home: Path) -> dict[str, str]:
    """That of a user who has set nothing up: nothing of this machine's may come into a picture."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HERMES")}
    return kept | {"HERMES_HOME": str(home), "HERMES_TELEMETRY_NO_SETUP": "1", "TZ": "UTC"}


def run(*words: str, home: Path) -> None:
    command = [sys.executable, "-m", "hermes_telemetry.commands.cli", *words]
    subprocess.run(command, check=True, env=environment(home), stdout=subprocess.DEVNULL)


@contextmanager
def serving(ledger: Path) -> Iterator[tuple[str, str]]:
    """The address of a server that ends with the block, and the one that logs in as root."""
    served = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "hermes_telemetry.commands.cli",
            "serve",
            str(ledger),
            "--port",
            "0",
        ],
        env=environment(ledger.parents[1]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert served.stdout is not None
        printed = ""
        for line in served.stdout:
            printed += line
            if found := re.search(r"(http://\S+)/\n.*(http://\S+token=\S+)", printed):
                yield found[1], found[2]
                return
        sys.exit(f"the server did not say where it is: {printed}")
    finally:
        served.terminate()
        served.wait(timeout=30)


def take(site: BrowserContext, address: str, width: int, tallest: int) -> Image.Image:
    """The page as it stands, down to where it ends or `tallest` is reached."""
    page = site.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    answer = page.goto(address, wait_until="networkidle")
    if answer is None or answer.status != 200:
        sys.exit(f"{address} answered {answer and answer.status}")
    # Charts are drawn when they come into view: each is brought there once.
    for position in range(0, tallest, 600):
        page.evaluate("y => window.scrollTo(0, y)", position)
        page.wait_for_timeout(150)
    page.wait_for_load_state("networkidle")
    page.evaluate("window.scrollTo(0, 0)")
    height = min(tallest, page.evaluate("document.documentElement.scrollHeight"))
    clip = {"x": 0, "y": 0, "width": width, "height": height}
    taken = page.screenshot(full_page=True, clip=clip)
    page.close()
    return Image.open(io.BytesIO(taken))


def save(image: Image.Image, path: Path) -> int:
    """Writes the picture with as many colours as keep it small; its size in bytes."""
    for colours in COLOURS:
        packed = io.BytesIO()
        image.convert("RGB").quantize(colours, Image.Quantize.MAXCOVERAGE).save(
            packed, "png", optimize=True
        )
        if packed.tell() <= LARGEST_BYTES:
            break
    path.write_bytes(packed.getvalue())
    return packed.tell()


sys.exit(main())
