"""Pruning in the browser and by its API, over HTTP: who may, and which files."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from support import failures, old_ledger
from support.datasette_site import Page
from support.four_failures import ANN_MAY, KEPT, PATH, fill
from support.web_actors import Web, may, serving

BEFORE = {
    "right": "2024-06-01T00:00:00Z",
    "empty": "",
    "unparsable": "soon",
    "future": "2999-01-01",
}
WHY = {
    "empty": "say before when: an age such as 90d, a date or an instant",
    "unparsable": "'soon' is not an age (12h, 90d, 4w), date (2026-07-01) or instant"
    " (2026-07-01T12:00:00+00:00)",
    "future": "'2999-01-01' lies in the future",
}


@pytest.fixture
def filled(ledger: Path) -> Path:
    """The four attempts."""
    fill(ledger)
    return ledger


@pytest.fixture
def web(filled: Path, tmp_path: Path) -> Iterator[Web]:
    """A server on them, where ann may prune."""
    with serving(filled, configuration=ANN_MAY, folder=tmp_path) as web:
        yield web


# --- who may


def ask(web: Web, method: str, before: str, actor: str | None) -> httpx.Response:
    if method == "GET":
        return web.ask("GET", PATH, actor, params={"before": before})
    if method == "POST form":
        return web.ask("POST", PATH, actor, form={"before": before})
    if method == "POST JSON":
        return web.ask("POST", PATH, actor, json={"before": before})
    return web.ask("DELETE", PATH + ".json", actor, params={"before": before})


@pytest.mark.parametrize("immutable", [False, True])
def test_who_may_what_with_which_before(filled: Path, tmp_path: Path, immutable: bool) -> None:
    """All 64 of actor, method and `before`: status, what is said, and what is in the file."""
    file = ["-i", filled] if immutable else [filled]
    with serving(*file, configuration=ANN_MAY, folder=tmp_path) as web:
        for actor in (None, "stranger", "ann", "root"):
            for method in ("GET", "POST form", "POST JSON", "DELETE"):
                for kind, before in BEFORE.items():
                    answer = ask(web, method, before, actor)
                    case = (actor, method, kind, answer.status_code)
                    status, says, rows = expected(actor, method, kind, immutable)
                    assert case == (actor, method, kind, status)
                    assert says in said(answer), case
                    assert (case, failures.ids(filled)) == (case, rows)
                    if rows == [4]:
                        fill(filled)


def expected(
    actor: str | None, method: str, kind: str, immutable: bool
) -> tuple[int, str, list[int]]:
    everything = [1, 2, 3, 4]
    if method == "GET":
        if kind != "right":
            return 400, WHY[kind], everything
        return 200, "3 failed attempts before", everything
    if actor not in ("ann", "root"):
        return 403, "telemetry-prune on telemetry is not allowed for you", everything
    if immutable:
        return 403, "telemetry is served as immutable: nothing can be deleted", everything
    if kind != "right":
        return 400, WHY[kind], everything
    if method == "POST form":
        return 200, "3 failed attempts were deleted. 1 remain, the oldest of 5 Jun 2024", [4]
    done = {
        "ok": True,
        "database": "telemetry",
        "deleted": 3,
        "remaining": 1,
        "oldest_remaining": KEPT,
    }
    return 200, json.dumps(done), [4]


def said(answer: httpx.Response) -> str:
    """A page's text; of JSON its error, or else all of it."""
    if answer.headers["content-type"].startswith("application/json"):
        return str(answer.json().get("error") or answer.text)
    return Page(answer.text).text


def test_other_methods_do_nothing(web: Web, filled: Path) -> None:
    for method in ("PUT", "PATCH"):
        assert web.ask(method, PATH, "root", json={"before": "0h"}).status_code == 405
    assert web.ask("HEAD", PATH + "?before=0h", "root").status_code == 200
    assert failures.ids(filled) == [1, 2, 3, 4]


def test_the_button_is_for_whom_it_works(web: Web) -> None:
    path = f"{PATH}?before={BEFORE['right']}"
    assert "Delete 3 rows" in web.ask("GET", path, "ann").text
    stranger = web.ask("GET", path, "stranger").text
    assert "Delete 3 rows" not in stranger
    assert "deleting requires the action telemetry-prune" in Page(stranger).text


@pytest.mark.parametrize("block", [{"id": "ann"}, True])
def test_the_whole_configuration_may_name_who_may(
    filled: Path, tmp_path: Path, block: object
) -> None:
    everywhere = {"permissions": {"telemetry-prune": block}}
    with serving(filled, configuration=everywhere, folder=tmp_path) as web:
        assert web.ask("POST", PATH, "ann", json={"before": "1d"}).status_code == 200


def test_a_database_of_its_own_rule_is_not_opened_by_the_general_one(
    filled: Path, tmp_path: Path
) -> None:
    rules = {"permissions": {"telemetry-prune": True}, **may("telemetry-prune", {"id": "ann"})}
    with serving(filled, configuration=rules, folder=tmp_path) as web:
        for actor in ("bob", "root"):
            assert web.ask("POST", PATH, actor, json={"before": "1d"}).status_code == 403
        assert web.ask("POST", PATH, "ann", json={"before": "1d"}).status_code == 200


def test_who_may_not_see_the_ledger_may_not_prune_it(filled: Path, tmp_path: Path) -> None:
    rules = may("telemetry-prune", True)
    rules["databases"]["telemetry"]["allow"] = {"id": "ann"}
    with serving(filled, configuration=rules, folder=tmp_path) as web:
        for method in ("GET", "POST form", "POST JSON", "DELETE"):
            assert ask(web, method, "1d", "bob").status_code == 403
        assert failures.ids(filled) == [1, 2, 3, 4]
        assert ask(web, "POST JSON", "1d", "ann").status_code == 200


# --- files


def test_each_of_several_ledgers_is_pruned_by_its_name(filled: Path) -> None:
    other = filled.with_name("other.db")
    other.write_bytes(filled.read_bytes())
    with serving(filled, other, folder=filled.parent) as both:
        page = Page(both.ask("GET", f"{PATH}?database=other&before=1d", "root").text)
        assert page.address_of("telemetry") == f"{PATH}?database=telemetry"
        answer = both.ask("POST", f"{PATH}?database=other", "root", json={"before": "1d"})
        assert (answer.json()["database"], answer.json()["deleted"]) == ("other", 4)
        assert failures.ids(filled) == [1, 2, 3, 4]
        assert failures.ids(other) == []
        assert both.ask("GET", f"{PATH}?database=nowhere", "root").status_code == 404


def test_a_locked_ledger_says_when_to_come_back(web: Web, filled: Path) -> None:
    with closing(sqlite3.connect(filled, isolation_level=None)) as other:
        other.execute("begin immediate")
        answer = web.ask("POST", PATH, "ann", json={"before": "1d"})
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
        assert "locked by another program" in answer.json()["error"]
        assert "0 rows were deleted before" in answer.json()["error"]
    assert failures.ids(filled) == [1, 2, 3, 4]
    assert web.ask("POST", PATH, "ann", json={"before": "1d"}).json()["deleted"] == 4


def test_an_older_file_names_the_command_that_brings_it_up_to_date(tmp_path: Path) -> None:
    older = old_ledger.build(tmp_path / "old.db", 12)
    with serving(older, folder=tmp_path) as web:
        answer = web.ask("POST", PATH, "root", json={"before": "1d"})
        assert answer.status_code == 409
        assert f"hermes-telemetry migrate --db {older}" in answer.json()["error"]
        page = web.ask("GET", PATH + "?before=1d", "root")
        assert page.status_code == 409
        assert f"hermes-telemetry migrate --db {older}" in page.text


def test_a_file_that_cannot_be_written_says_so(filled: Path, tmp_path: Path) -> None:
    filled.chmod(0o444)
    with serving(filled, folder=tmp_path) as web:
        answer = web.ask("POST", PATH, "root", json={"before": "1d"})
        assert answer.status_code == 403
        assert "telemetry cannot be written" in answer.json()["error"]
