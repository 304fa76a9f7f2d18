"""What a page of another site makes a browser send deletes nothing, on either line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import failures
from support.datasette_site import KEEPS_QUERIES
from support.four_failures import PATH, fill, served_failures
from support.web_actors import Web, may

TOKENS = """
from datasette import hookimpl

@hookimpl
def actor_from_request(request):
    if request.headers.get("authorization") == "Bearer of-ann":
        return {"id": "ann"}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Web, Path]]:
    """A server where everybody may prune, and ann is known by a token."""
    folder = tmp_path_factory.mktemp("served")
    plugins = folder / "plugins"
    plugins.mkdir()
    (plugins / "tokens.py").write_text(TOKENS, encoding="utf-8")
    everybody = may("telemetry-prune", True)
    with served_failures(folder, everybody, "--plugins-dir", plugins) as served:
        yield served


@pytest.fixture
def filled(server: tuple[Web, Path]) -> Path:
    """The file that it serves, with the four attempts."""
    fill(server[1])
    return server[1]


@pytest.fixture
def web(server: tuple[Web, Path], filled: Path) -> Web:
    return server[0]


@pytest.mark.parametrize("actor", [None, "root"])
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://evil.example", "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_form_of_another_site_changes_nothing(
    web: Web, filled: Path, headers: dict[str, str], actor: str | None
) -> None:
    """Whether the browser sends its cookies along or not, where everybody may prune."""
    for sent in ({"form": {"before": "0h"}}, {"json": {"before": "0h"}}):
        for token in (False, True):
            answer = web.ask("POST", PATH, actor, headers=headers, token=token, **sent)
            assert answer.status_code == 403
    plain = {"content-type": "text/plain", **headers}
    assert web.ask("POST", PATH, actor, headers=plain, content="before=0h").status_code == 403
    assert web.ask("DELETE", PATH + "?before=0h", actor, headers=headers).status_code == 403
    assert failures.ids(filled) == [1, 2, 3, 4]


def test_the_pages_own_form_is_let_through(web: Web, filled: Path) -> None:
    origin = str(web.client.base_url).rstrip("/")
    for headers in ({"origin": origin}, {"origin": origin, "sec-fetch-site": "same-origin"}):
        fill(filled)
        answer = web.ask("POST", PATH, form={"before": "1d"}, headers=headers)
        assert answer.status_code == 200
        assert failures.ids(filled) == []


def test_json_with_a_cookie_needs_the_token_of_065(web: Web, filled: Path) -> None:
    rule = {"before": "1d"}
    without = web.ask("POST", PATH, "ann", json=rule, token=False)
    assert without.status_code == (200 if KEEPS_QUERIES else 403)
    assert failures.ids(filled) == ([] if KEEPS_QUERIES else [1, 2, 3, 4])
    assert web.ask("POST", PATH, "ann", json=rule).status_code == 200
    assert failures.ids(filled) == []


def test_who_is_known_by_a_token_needs_no_other(web: Web, filled: Path) -> None:
    wrong = {"authorization": "Bearer of-nobody"}
    assert web.ask("GET", "/-/actor.json", headers=wrong).json()["actor"] is None
    right = {"authorization": "Bearer of-ann"}
    assert web.ask("GET", "/-/actor.json", headers=right).json()["actor"]["id"] == "ann"
    answer = web.ask("POST", PATH, headers=right, json={"before": "1d", "status": 429})
    assert answer.json()["deleted"] == 3  # 1, 2 and 4
    deleted = web.ask("DELETE", PATH, headers=right, json={"before": "1d"})
    assert deleted.json()["deleted"] == 1
    assert failures.ids(filled) == []
