"""`report`: a month's cost review as one file that asks nobody for anything, and its pictures."""

import re
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hermes_telemetry_datasette.charts import drawing
from support import old_ledger

Cli = Callable[..., Any]
Refused = Callable[..., str]


@pytest.fixture
def without_charts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """vl-convert is not installed."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    drawing.engine.cache_clear()
    yield
    drawing.engine.cache_clear()


def written(cli: Cli, ledger: Path, out: Path, *more: str | Path) -> str:
    answer = cli("report", "--month", "2026-07", "--out", out, "--db", ledger, *more)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[0] == str(out)
    return out.read_text(encoding="utf-8")


def text(html: str) -> str:
    body = re.sub(r"<(style|head)\b.*?</\1>", "", html, flags=re.DOTALL)
    # Parts of a line stand in spans.
    words = re.sub(r"<[^>]*>", " ", re.sub(r"</?span[^>]*>", "", body))
    return " ".join(unescape(words).split())


def test_the_file_holds_the_review_of_the_month(cli: Cli, ledger: Path, tmp_path: Path) -> None:
    said = text(written(cli, ledger, tmp_path / "review.html"))
    assert "1-31 July 2026" in said
    assert "telemetry.db" in said
    assert "data to 2 July 2026 22:30:01" in said
    # 0.50 + 0.25 + 0.0042, and the call without a price.
    assert "Spend by day and model: ≥ $0.75" in said
    assert "Calls 4 1 without a price: totals are lower bounds" in said
    assert "What changed Nothing is recorded before 1 July 2026." in said
    assert "sonnet made 100 % of it; the most expensive day was 1 July with ≥ $0.75." in said


def test_a_month_without_a_call_is_told(cli: Cli, ledger: Path, tmp_path: Path) -> None:
    out = tmp_path / "review.html"
    answer = cli("report", "--month", "2020-01", "--out", out, "--db", ledger)
    assert (answer.code, answer.out) == (0, f"{out}\n")
    assert answer.err == "no call of 2020-01 is recorded: the review is empty\n"


@pytest.mark.usefixtures("on_wednesday")  # 2026-07-01
@pytest.mark.parametrize(("name", "days"), [("month", "1 July 2026"), ("last-month", "June 2026")])
def test_a_month_goes_by_a_name(
    cli: Cli, ledger: Path, tmp_path: Path, name: str, days: str
) -> None:
    out = tmp_path / "review.html"
    assert cli("report", "--month", name, "--out", out, "--db", ledger).code == 0
    assert days in text(out.read_text(encoding="utf-8"))


def test_the_file_asks_nobody_for_anything(cli: Cli, ledger: Path, tmp_path: Path) -> None:
    html = written(cli, ledger, tmp_path / "review.html")
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in html
    addresses = re.findall(r'(?:src|href|srcset|action|url)\s*[=(]\s*["\']?([^"\'\s>)]+)', html)
    assert addresses
    assert {address.partition(",")[0] for address in addresses} == {"data:image/svg+xml;base64"}
    assert "<script" not in html
    assert "@import" not in html
    widths = [
        ElementTree.fromstring(b64decode(address.partition(",")[2])).attrib["width"]
        for address in addresses
    ]
    # spend, running total, sessions, cache and trust, each for telephones and for pages.
    assert widths == ["340", "760"] * 5


def test_pictures_go_to_a_folder(cli: Cli, ledger: Path, tmp_path: Path) -> None:
    answer = cli("report", "--month", "2026-07", "--png", tmp_path / "charts", "--db", ledger)
    names = ["spend", "running_total", "sessions", "cache", "trust"]
    files = [tmp_path / "charts" / f"{name}.png" for name in names]
    assert (answer.code, answer.out.splitlines()) == (0, [str(file) for file in files])
    assert sorted((tmp_path / "charts").iterdir()) == sorted(files)
    for file in files:
        content = file.read_bytes()
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        # Two pixels for each of 760, and the title above.
        assert int.from_bytes(content[16:20]) >= 1520


def test_without_a_name_the_file_is_named_after_the_month(
    cli: Cli, ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = cli("report", "--month", "2026-07", "--db", ledger)
    assert (answer.code, answer.out) == (0, "telemetry-2026-07.html\n")
    assert "1-31 July 2026" in (tmp_path / "telemetry-2026-07.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("without_charts")
def test_without_the_extra_the_file_has_tables(
    cli: Cli, refused: Refused, ledger: Path, tmp_path: Path
) -> None:
    html = written(cli, ledger, tmp_path / "review.html")
    line = "Charts are not drawn here: pip install 'hermes-telemetry[charts]'"
    assert text(html).count(line) == 1
    assert "<img" not in html
    assert "Model USD Share Calls sonnet $0.75 100 % 3 =mystery() – 0 % 1" in text(html)
    refusal = refused("report", "--month", "2026-07", "--png", tmp_path / "charts", "--db", ledger)
    assert refusal == f"hermes-telemetry report: --png: {line}"
    assert not (tmp_path / "charts").exists()


def test_a_month_without_calls_says_so(cli: Cli, ledger: Path, tmp_path: Path) -> None:
    out = tmp_path / "review.html"
    answer = cli("report", "--month", "2026-05", "--out", out, "--db", ledger)
    assert answer.code == 0
    said = text(out.read_text(encoding="utf-8"))
    assert said.count("No call was recorded in this period.") == 3
    assert "Spent $0.00" in said


@pytest.mark.usefixtures("on_wednesday")
def test_this_month_is_as_far_as_it_goes(cli: Cli, ledger: Path, tmp_path: Path) -> None:
    said = text(written(cli, ledger, tmp_path / "review.html"))
    assert "1 July 2026, so far" in said


@pytest.mark.usefixtures("on_wednesday")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--month", "2026-08"], "2026-08 is yet to come"),
        (["--month", "July"], "argument --month: 'July' is not a month (2026-07)"),
        (["--month", "2026-13"], "argument --month: '2026-13' is not a month (2026-07)"),
        (["--month", "2026-07", "--out", "{folder}/no/review.html"], "there is no folder"),
        (["--month", "2026-07", "--png", "{folder}/no/charts"], "there is no folder"),
        (["--month", "2026-07", "--out", "{folder}/telemetry.db"], "telemetry.db exists"),
        (["--month", "2026-07", "--db", "{folder}/none.db"], "there is no file"),
        ([], "the following arguments are required: --month"),
    ],
)
def test_what_cannot_be_written_is_one_line(
    refused: Refused, ledger: Path, tmp_path: Path, arguments: list[str], why: str
) -> None:
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    told = [argument.format(folder=tmp_path) for argument in arguments]
    db = [] if "--db" in told else ["--db", str(ledger)]
    assert why in refused("report", *told, *db)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_of_an_older_file_the_figures_name_the_command(cli: Cli, tmp_path: Path) -> None:
    older = old_ledger.build(tmp_path / "old.db", 1)
    out = tmp_path / "review.html"
    assert cli("report", "--month", "2026-07", "--out", out, "--db", older).code == 0
    said = text(out.read_text(encoding="utf-8"))
    assert said.count("hermes-telemetry migrate adds it.") >= 1


def test_names_of_any_kind_are_harmless(cli: Cli, book: Any, tmp_path: Path) -> None:
    for name in ("<script>alert(1)</script>", "</style>", "n" * 10_000, "\u202edlrow"):
        book.call(name, 1.0, "2026-07-01T10:00", model=name, provider=name)
    html = written(cli, book.path, tmp_path / "review.html")
    assert "<script" not in html
    assert html.count("</style>") == 1
    assert "n" * 100 not in html
    assert "\u202e" not in html
