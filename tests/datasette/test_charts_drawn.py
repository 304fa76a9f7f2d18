"""The pictures of the cost review over HTTP: what is drawn, for whom, and without the extra."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from support.datasette_site import Page, Site
from support.ledger import HandMadeLedger
from support.web_actors import Web, serving

PATH = "/-/telemetry/charts"
JULY = "since=2026-07-01&until=2026-07-03"
SVG = "{http://www.w3.org/2000/svg}"
RIGHT_TO_LEFT = "עברית \u202eevil"
HOSTILE = [
    "<script>alert(1)</script>",
    "\"quoted\" 'too' & more",
    "line\nbreak\u0007",
    RIGHT_TO_LEFT,
    "datum['x']",
    "n" * 10_000,
]


@pytest.fixture(autouse=True)
def days_are_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def filled(ledger: Path) -> Path:
    """In every figure something, on 1 June and 1 July: 0.50 by a cron job, 0.25 in a chat."""
    with closing(HandMadeLedger(ledger)) as made:
        for day in ("06-01", "07-01"):
            made.run(f"job-{day}", f"2026-{day}T03:00", cron_job_id="0123456789ab")
            made.call(f"job-{day}", 0.5, f"2026-{day}T03:01", model="opus", tokens_in=1000)
            made.call("chat", 0.25, f"2026-{day}T10:00", model=f"m{day}")
            made.failure("chat", f"2026-{day}T10:01")
    return ledger


@pytest.fixture
def web(filled: Path, tmp_path: Path) -> Iterator[Web]:
    with serving(filled, folder=tmp_path) as web:
        yield web


def pictures(html: str) -> dict[str, tuple[str, str]]:
    """The addresses of each figure's picture, wide and narrow, by the figure's name."""
    found = {}
    for block in re.findall(r"<figure.*?</figure>", html, re.DOTALL):
        (name,) = re.findall(r'<figure[^>]* id="tm-(\w+)"', block)
        narrow = re.findall(r'<source media="\(max-width: 40rem\)" srcset="([^"]+)"', block)
        wide = re.findall(r'<img src="([^"]+)"[^>]*loading="lazy"', block)
        if wide or narrow:
            found[name] = (unescape(wide[0]), unescape(narrow[0]))
    return found


def texts(svg: bytes) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def width(svg: bytes) -> int:
    return int(ElementTree.fromstring(svg).attrib["width"])


# --- drawn


def test_every_figure_has_a_picture_for_pages_and_one_for_telephones(web: Web) -> None:
    found = pictures(web.ask("GET", f"{PATH}?{JULY}").text)
    assert list(found) == (
        ["spend", "running_total", "changes", "cron_jobs", "sessions", "cache", "failures", "trust"]
    )
    for addresses in found.values():
        for address, wide in zip(addresses, (760, 340), strict=True):
            answer = web.ask("GET", address)
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "image/svg+xml"
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert width(answer.content) == wide
    assert {"opus", "m07-01", "1 Jul"} <= set(texts(web.ask("GET", found["spend"][0]).content))
    running = texts(web.ask("GET", found["running_total"][0]).content)
    assert {"1-3 July 2026", "1-3 June 2026"} <= set(running)
    changes = texts(web.ask("GET", found["changes"][0]).content)
    assert {"+$0.25", "-$0.25", "▲ costs more", "▼ costs less"} <= set(changes)


def test_a_picture_is_what_its_page_says_whatever_is_recorded_meanwhile(
    web: Web, filled: Path
) -> None:
    def spend() -> str:
        return pictures(web.ask("GET", f"{PATH}?{JULY}").text)["spend"][0]

    before = spend()
    with closing(HandMadeLedger(filled)) as made:
        made.call("chat", 1.0, "2026-07-02T10:00", model="newcomer")
    assert "newcomer" not in texts(web.ask("GET", before).content)
    after = spend()
    assert after != before
    assert "newcomer" in texts(web.ask("GET", after).content)
    # A name that is not known any more is today's picture.
    forgotten = re.sub(r"drawing=\w+", "drawing=0", before)
    assert "newcomer" in texts(web.ask("GET", forgotten).content)


def test_who_has_a_picture_does_not_get_it_twice(web: Web) -> None:
    address = pictures(web.ask("GET", f"{PATH}?{JULY}").text)["spend"][0]
    tag = web.ask("GET", address).headers["etag"]
    again = web.ask("GET", address, headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert web.ask("GET", address, headers={"if-none-match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    ("address", "status", "says"),
    [
        (f"{PATH}/nothing.svg?{JULY}", 404, "the cost review has no figure 'nothing'"),
        (f"{PATH}/spend.svg?since=1999-01-01&until=1999-01-02", 404, "No call was recorded"),
        (f"{PATH}/spend.svg?since=soon", 400, "neither a date"),
        (f"{PATH}?since=soon", 400, "neither a date"),
        (f"{PATH}/review.html?since=soon", 400, "neither a date"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    sites: Callable[..., Site], filled: Path, address: str, status: int, says: str
) -> None:
    assert says in unescape(sites(filled).get(address, status=status).text)


@pytest.mark.parametrize("path", ["", ".json", "/spend.svg", "/review.html"])
def test_who_may_not_see_the_ledger_sees_no_figure(
    sites: Callable[..., Site], filled: Path, path: str
) -> None:
    site = sites(filled, metadata={"allow": {"id": "ann"}})
    address = f"{PATH}{path}?{JULY}"
    for actor in (None, "bob"):
        assert "opus" not in site.get(address, actor=actor, status=403).text
    site.get(address, actor="ann")


def test_a_drawing_is_for_those_who_may_see_its_ledger(
    sites: Callable[..., Site], filled: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    other.write_bytes(filled.read_bytes())
    with closing(HandMadeLedger(other)) as made:
        made.change("update llm_calls set model = 'public'")
    secret = {"metadata": {"databases": {"telemetry": {"allow": {"id": "ann"}}}}}
    site = sites(filled, other, **secret)
    page = site.get(f"{PATH}?{JULY}&database=telemetry", actor="ann").text
    address = pictures(page)["spend"][0]
    site.get(address, status=403)
    elsewhere = address.replace("database=telemetry", "database=other")
    assert "public" in texts(site.get(elsewhere).content)


# --- harmless


@pytest.fixture
def hostile(ledger: Path) -> Path:
    with closing(HandMadeLedger(ledger)) as made:
        for number, name in enumerate(HOSTILE):
            made.run(name, "2026-07-01T10:00", cron_job_id=name)
            for day in ("2026-06-01", "2026-07-01"):
                cost = 2.0 ** (number + int(day[6]))
                made.call(name, cost, f"{day}T10:00", model=name, provider=name, tokens_in=5)
            made.failure(name, "2026-07-01T10:00", model=name, error_message=name)
    return ledger


def test_names_of_any_kind_are_harmless(hostile: Path, tmp_path: Path) -> None:
    with serving(hostile, folder=tmp_path) as web:
        page = web.ask("GET", f"{PATH}?{JULY}").text
        file = web.ask("GET", f"{PATH}/review.html?{JULY}").text
        said = web.ask("GET", f"{PATH}.json?{JULY}").json()
        drawn = {
            name: [web.ask("GET", address).content for address in addresses]
            for name, addresses in pictures(page).items()
        }
    for html in (page, file):
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert(1)" in html
        assert "\u202e" not in html
        assert "n" * 100 not in Page(html).text
        assert "עברית" in html
    # In JSON a name is what it is.
    figures = {figure["name"]: figure["rows"] for figure in said["figures"]}
    models = {row["model"] for row in figures["spend"]}
    assert models - {None} == {*HOSTILE[1:]}
    assert {row["cron_job_id"] for row in figures["cron_jobs"]} == {*HOSTILE}
    for name in ("spend", "changes", "cron_jobs", "trust"):
        for svg, longest in zip(drawn[name], (34, 20), strict=True):
            assert not [each for each in ElementTree.fromstring(svg).iter() if "script" in each.tag]
            shown = texts(svg)
            assert max(map(len, shown)) <= longest
            assert not [text for text in shown if not text.isprintable()]
            assert [text for text in shown if text.startswith("עברית")]
            assert [text for text in shown if text.startswith("nnn") and "…" in text]


def test_names_that_look_alike_stay_apart(ledger: Path, sites: Callable[..., Site]) -> None:
    alike = ["x" * 50 + middle + "y" * 50 for middle in "ab"]
    with closing(HandMadeLedger(ledger)) as made:
        for name in alike:
            made.call("s", 1.0, "2026-07-01T10:00", model=name)
    shown = texts(sites(ledger).get(f"{PATH}/spend.svg?{JULY}").content)
    cut = "x" * 22 + "…" + "y" * 11
    assert [text for text in shown if text.startswith("xxx")] == [cut, f"{cut} (2)"]


# --- without the extra


@pytest.fixture
def without_charts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server started now finds no vl-convert."""
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "vl_convert.py").write_text("raise ImportError('not for this machine')\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))


@pytest.mark.usefixtures("without_charts")
def test_without_the_extra_tables_stand_and_one_line_names_it(filled: Path, tmp_path: Path) -> None:
    line = "Charts are not drawn here: pip install 'hermes-telemetry[charts]'"
    with serving(filled, folder=tmp_path) as web:
        for path in (PATH, f"{PATH}/review.html"):
            html = web.ask("GET", f"{path}?{JULY}").text
            assert Page(html).text.count(line) == 1
            assert pictures(html) == {}
            assert html.count("<details open>") == 8
            assert "Model USD Share Calls opus $0.50 67 % 1 m07-01 $0.25 33 % 1" in Page(html).text
        answer: Any = web.ask("GET", f"{PATH}/spend.svg?{JULY}")
        assert (answer.status_code, line in unescape(answer.text)) == (404, True)
