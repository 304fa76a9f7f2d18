"""The rule of a pruning by page and API: each way of saying it takes the same rows, or none."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.windows import timestamp
from support import failures
from support.datasette_site import Page
from support.four_failures import ANN_MAY, KEPT, PATH, failure, fill, served_failures
from support.web_actors import Web


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Web, Path]]:
    """A server where ann may prune."""
    with served_failures(tmp_path_factory.mktemp("served"), ANN_MAY) as served:
        yield served


@pytest.fixture
def filled(server: tuple[Web, Path]) -> Path:
    """The file that it serves, with the four attempts."""
    fill(server[1])
    return server[1]


@pytest.fixture
def web(server: tuple[Web, Path], filled: Path) -> Web:
    return server[0]


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        ({"before": "1h"}, []),
        ({"before": "2024-05-02T10:00:00+00:00"}, [2, 3, 4]),
        ({"before": "1h", "status": 429}, [3]),
        ({"before": "1h", "status": [None]}, [1, 2, 4]),
        ({"before": "1h", "status": [429, "none"]}, []),
        ({"before": "1h", "error_type": "Timeout"}, [1, 2, 4]),
        ({"before": "1h", "error_type": ["Timeout", "Other"]}, [1, 2, 4]),
        ({"before": "1h", "model": "gpt", "provider": "p"}, [1, 2, 4]),
        ({"before": "1h", "model": "gpt", "provider": "q"}, [1, 2, 3, 4]),
        ({"before": "1h", "keep_last": 1}, [3, 4]),
    ],
)
def test_the_rule_takes_the_same_whichever_way_it_is_said(
    web: Web, filled: Path, rule: dict[str, Any], left: list[int]
) -> None:
    texts = {
        name: [("none" if one is None else str(one)) for one in _list(value)]
        for name, value in rule.items()
    }
    ways: list[dict[str, Any]] = [
        {"method": "POST", "json": rule},
        {"method": "POST", "form": texts},
        {"method": "DELETE", "params": texts},
        {"method": "DELETE", "json": rule},
    ]
    for way in ways:
        fill(filled)
        found = web.ask("GET", PATH + ".json", params=texts).json()
        assert (found["matching"], found["remaining"]) == (4 - len(left), len(left))
        assert web.ask(path=PATH, actor="ann", **way).status_code == 200
        assert (way, failures.ids(filled)) == (way, left)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_the_preview_as_json(web: Web) -> None:
    answer = web.ask("GET", PATH + ".json", params={"before": "2024-06-01"}).json()
    assert answer == {
        "ok": True,
        "database": "telemetry",
        "before": "2024-06-01T00:00:00+00:00",
        "matching": 3,
        "groups": [
            {"model": "sonnet", "provider": "p", "status_code": 429, "rows": 2},
            {"model": "gpt", "provider": "p", "status_code": None, "rows": 1},
        ],
        "remaining": 1,
        "oldest_remaining": KEPT,
    }


def test_the_form_carries_the_instant_of_its_preview(web: Web, filled: Path) -> None:
    """A row that grows old enough while the page stands there is not deleted with the others."""
    page = web.ask("GET", PATH + "?before=1h", "ann").text
    assert "Delete 4 rows" in page
    fields = hidden_fields(page)
    before = datetime.fromisoformat(fields["before"])
    failure(filled, 5, timestamp(before + timedelta(seconds=1)), "gpt", 500)
    while datetime.now(UTC) - timedelta(hours=1) <= before + timedelta(seconds=2):
        time.sleep(0.1)
    assert web.ask("GET", PATH + ".json?before=1h").json()["matching"] == 5
    done = web.ask("POST", PATH, "ann", form=fields)
    assert "4 failed attempts were deleted" in Page(done.text).text
    assert failures.ids(filled) == [5]


def test_the_form_carries_the_whole_rule(web: Web, filled: Path) -> None:
    rule = "before=2024-06-01&status=429,+none&error_type=Timeout&model=gpt&provider=p&keep_last=0"
    fields = hidden_fields(web.ask("GET", f"{PATH}?{rule}", "ann").text)
    del fields["csrftoken"]
    assert fields == {
        "before": "2024-06-01T00:00:00+00:00",
        "status": "none",  # the last of two
        "error_type": "Timeout",
        "model": "gpt",
        "provider": "p",
    }
    web.ask("POST", PATH, "ann", form={**fields, "status": ["429", "none"]})
    assert failures.ids(filled) == [1, 2, 4]


def hidden_fields(html: str) -> dict[str, str]:
    found: dict[str, str] = {}

    class Fields(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            field = dict(attrs)
            if tag == "input" and field.get("type") == "hidden":
                found[str(field["name"])] = str(field["value"])

    Fields().feed(html)
    return found


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({}, "say before when"),
        ({"before": 90}, "before: 90 is not a value that it takes"),
        ({"before": ["1d", "2d"]}, "before is given more than once"),
        ({"before": "1d", "modell": "gpt"}, "modell: not a parameter of a rule"),
        ({"before": "1d", "database": "other"}, "database: not a parameter of a rule"),
        ({"before": "1d", "model": ""}, "model is empty: leave it out"),
        ({"before": "1d", "model": None}, "model: null is not a value that it takes"),
        ({"before": "1d", "status": "4xx"}, "'4xx' is not a status code"),
        ({"before": "1d", "status": True}, "status: true is not a value that it takes"),
        ({"before": "1d", "status": []}, "status is empty: leave it out"),
        ({"before": "1d", "keep_last": -1}, "'-1' is not a number of rows to keep"),
        ({"before": "1d", "keep_last": 2**63}, f"{2**63} is not a number of rows to keep"),
        ({"before": "1d", "keep_last": 1.5}, "keep_last: 1.5 is not a value that it takes"),
        (["before"], "the body is not a JSON object"),
    ],
)
def test_a_rule_that_is_none_deletes_nothing(web: Web, filled: Path, rule: Any, why: str) -> None:
    answer = web.ask("POST", PATH, "ann", json=rule)
    assert (answer.status_code, answer.json()["ok"]) == (400, False)
    assert why in answer.json()["error"]
    assert failures.ids(filled) == [1, 2, 3, 4]


def test_bodies_that_cannot_be_read_delete_nothing(web: Web, filled: Path) -> None:
    for kind, body in (
        ("application/json", b"{"),
        ("application/json", b"\xff"),
        ("application/json", b"[" * 100_000),
        ("application/x-www-form-urlencoded", b"before=1d&model=\xff"),
        ("application/x-www-form-urlencoded", b"before=1d&modell=gpt"),
        ("application/x-www-form-urlencoded", b""),
    ):
        answer = web.ask("POST", PATH, "ann", content=body, headers={"content-type": kind})
        assert (body, answer.status_code) == (body, 400)
    assert failures.ids(filled) == [1, 2, 3, 4]


def test_a_rule_said_in_two_places_is_none(web: Web, filled: Path) -> None:
    answer = web.ask("POST", PATH + "?model=gpt", "ann", json={"before": "1d"})
    assert "model: give the rule in the body only, not in the address" in answer.json()["error"]
    assert web.ask("DELETE", PATH + "?before=1d&model=", "ann").status_code == 400
    assert failures.ids(filled) == [1, 2, 3, 4]


def test_hostile_names_are_shown_as_text(web: Web, filled: Path) -> None:
    name = "<script>alert(1)</script>\"'&\u202e"
    failure(filled, 7, "2024-05-01T10:00:00.000000+00:00", name, 429)
    html = web.ask("GET", PATH + "?before=1d", "ann").text
    assert "<script>alert" not in html
    # But for the sign that would turn what stands behind it.
    assert name.removesuffix("\u202e") in Page(html).text
    assert "\u202e" not in Page(html).text
    chosen = web.ask("GET", PATH, "ann", params={"before": "1d", "model": name}).text
    assert "<script>alert" not in chosen
    assert hidden_fields(chosen)["model"] == name
    assert web.ask("POST", PATH, "ann", form=hidden_fields(chosen)).status_code == 200
    assert failures.ids(filled) == [1, 2, 3, 4]
