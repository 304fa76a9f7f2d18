"""Saved charts in the cost review: drawn for its period, and told of where they cannot be."""

import html
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.datasette_site import Page
from support.ledger import HandMadeLedger
from support.saved_charts import (
    ANN_MAY,
    CHART,
    FRAGMENT,
    REVIEW,
    SAVE,
    four_calls,
    kept,
    own_query,
    post,
    save,
    shown,
)
from support.web_actors import Web, serving

Serve = Callable[..., Web]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return four_calls(tmp_path / "ledger" / "telemetry.db")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts a server: (files and options, its configuration)."""
    with ExitStack() as stack:

        def start(*arguments: str | Path, configuration: Any = ANN_MAY) -> Web:
            return stack.enter_context(
                serving(*arguments, configuration=configuration, folder=tmp_path)
            )

        yield start


def links(page: str, title: str) -> dict[str, str]:
    """The addresses to which the figure of that title leads, by their words."""
    found = re.findall(rf'<a href="([^"]*)" aria-label="(\w+): {title}">', page)
    return {words: html.unescape(address) for address, words in found}


def parameters(address: str) -> dict[str, str]:
    return dict(httpx.URL(address).params)


# --- what is drawn


def test_a_chart_is_drawn_for_the_period_of_the_page(serve: Serve, ledger: Path) -> None:
    web = serve(ledger)
    save(web)
    # 0.5 + 0.25 and a call without a price on 1 July, 0.125 on 2 July.
    for asked, total, unpriced, days in (
        ({"since": "all"}, 0.875, 1, ["2026-07-02", "2026-07-01"]),
        ({"since": "2026-07-02", "until": "2026-07-31"}, 0.125, 0, ["2026-07-02"]),
    ):
        (chart,) = shown(web, **asked)
        assert (chart["total"], chart["unit"], chart["unpriced_calls"]) == (total, "usd", unpriced)
        assert [row["day"] for row in chart["rows"]] == days
        assert chart["error"] is None
    (chart,) = shown(web, since="2025-01-01", until="2025-01-31")
    assert (chart["total"], chart["rows"], chart["error"]) == (None, [], None)


def test_its_figure_has_total_picture_table_and_links(serve: Serve, ledger: Path) -> None:
    web = serve(ledger)
    id = save(web)
    page = web.ask("GET", f"{REVIEW}?since=2026-07-01&until=2026-07-31").text
    # 0.875 to the cent, and one call has no price.
    assert "What days cost: ≥ $0.88" in Page(page).text
    picture = page.split(f'src="{REVIEW}/saved_{id}.svg')[1].split('"')[0].replace("&amp;", "&")
    drawn = web.ask("GET", f"{REVIEW}/saved_{id}.svg{picture}")
    assert drawn.headers["content-type"] == "image/svg+xml"
    assert drawn.text.startswith("<svg")
    # Also when nobody has looked at the page, as after a restart.
    assert web.ask("GET", f"{REVIEW}/saved_{id}.svg?since=all").text.startswith("<svg")
    assert web.ask("GET", f"{REVIEW}/saved_{id + 1}.svg?since=all").status_code == 404

    leads = links(page, "What days cost")
    asked = {"since": "2026-07-01", "until": "2026-07-31"}
    assert list(leads) == ["Explore", "CSV", "JSON", "SQL"]
    assert leads["Explore"].startswith("/telemetry/cost_by_day?")
    assert leads["Explore"].endswith(f"#{FRAGMENT}")
    assert parameters(leads["Explore"]) == asked
    rows = web.ask("GET", leads["JSON"]).json()
    assert [row["cost_usd"] for row in rows] == [0.125, 0.75]
    assert web.ask("GET", leads["CSV"]).text.startswith("day,cost_usd,")
    assert "with recursive" in web.ask("GET", leads["SQL"]).text


def test_rows_of_several_models_are_one_bar_a_day(serve: Serve, ledger: Path) -> None:
    with closing(HandMadeLedger(ledger)) as made:
        made.call("u", 0.5, "2026-07-02T13:00:00", model="b")
        made.call("u", 0.375, "2026-07-02T13:00:00", model="c")
    web = serve(ledger)
    save(web, path="/telemetry/cost_by_day_and_model")
    # 1 July: 0.75 of model a, the dearest row, and b without a price. 2 July: 0.125 of a, 0.5 of b
    # and 0.375 of c are 1.0, the dearest day.
    (chart,) = shown(web)
    days = {row["day"]: row["cost_usd"] for row in chart["rows"]}
    assert days == {"2026-07-01": 0.75, "2026-07-02": 1.0}
    assert len(chart["rows"]) == 2
    assert chart["sentence"].startswith("The highest is 2026-07-02: $1.00.")
    page = Page(web.ask("GET", f"{REVIEW}?since=all").text)
    assert 'alt="What days cost. The highest is 2026-07-02: $1.00.' in page.html
    assert "2026-07-01 ≥ $0.75" in page.text


def test_its_own_parameters_stay_with_it(serve: Serve, ledger: Path) -> None:
    web = serve(ledger)
    turns = {
        "path": "/telemetry/cost_per_turn",
        "fragment": FRAGMENT.replace("x_column=day", "x_column=session_id"),
    }
    save(web, title="All", parameters="", **turns)
    save(web, title="Of t", parameters="?session_id=t&since=2026-07-01", **turns)
    every, of_t = shown(web)
    assert (every["total"], of_t["total"]) == (0.875, 0.125)
    page = web.ask("GET", f"{REVIEW}?since=all").text
    leads = links(page, "Of t")
    assert parameters(leads["Explore"]) == {"session_id": "t", "since": "all"}
    assert [row["total_usd"] for row in web.ask("GET", leads["JSON"]).json()] == [0.125]


def test_a_profile_of_the_page_comes_before_that_of_the_chart(serve: Serve, ledger: Path) -> None:
    web = serve(ledger)
    save(web, parameters="?profile=work")
    assert shown(web)[0]["rows"] == []  # the four calls are of no profile
    for asked, profile in (("", "work"), ("&profile=home", "home")):
        page = web.ask("GET", f"{REVIEW}?since=all{asked}").text
        leads = parameters(links(page, "What days cost")["Explore"])
        assert leads == {"since": "all", "profile": profile}


def test_a_query_of_the_users_own_is_drawn_too(serve: Serve, ledger: Path) -> None:
    sql = "select model as [the model], count(*) as [calls, all] from llm_calls"
    sql += " where :kind = '' group by 1 order by 1"
    web = serve(ledger, configuration=own_query("own", sql))
    chart = "g.mark=bar&g.x_column=the%20model&g.x_type=nominal"
    chart += "&g.y_column=calls%2C%20all&g.y_type=quantitative"
    save(web, title="Models", path="/telemetry/own", fragment=chart)
    (told,) = shown(web)
    # Three calls of a, one of b.
    assert told["rows"] == [
        {"the model": "a", "calls, all": 3},
        {"the model": "b", "calls, all": 1},
    ]
    assert told["total"] == 4
    page = web.ask("GET", f"{REVIEW}?since=all").text
    assert links(page, "Models")["Explore"] == f"/telemetry/own?#{chart}"


def test_the_users_own_query_of_our_name_has_no_units_of_ours(serve: Serve, ledger: Path) -> None:
    sql = "select 'x' as day, 3 as cost_usd"
    web = serve(ledger, configuration=own_query("cost_by_day", sql))
    save(web)
    (told,) = shown(web)
    assert told["rows"] == [{"day": "x", "cost_usd": 3}]
    assert (told["total"], told["unit"]) == (3, "number")


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("select day, cost_usd from nowhere", "its query fails: no such table: nowhere"),
        ("insert into runs (session_id) values ('x')", "its query fails: attempt to write"),
        ("select :_actor_id as day, 1 as cost_usd", "its query fails: You did not supply a value"),
        (
            "with recursive n(x) as (select 1 union all select x + 1 from n)"
            " select max(x) as day, 1 as cost_usd from n",
            "its query takes longer than 1,000 ms",
        ),
    ],
)
def test_what_cannot_be_drawn_is_not_saved(serve: Serve, ledger: Path, sql: str, why: str) -> None:
    web = serve(ledger, configuration=own_query("own", sql))
    answer = post(web, "ann", **{**CHART, "path": "/telemetry/own"})
    assert answer.status_code == 400
    assert f"the chart is not saved: {why}" in answer.json()["error"]
    assert kept(ledger) == []


# --- what is gone or not for everybody


def test_a_query_that_is_gone_leaves_the_name_and_the_reason(serve: Serve, ledger: Path) -> None:
    with serving(
        ledger,
        configuration=own_query("own", "select 1 as day, 2 as cost_usd"),
        folder=ledger.parent,
    ) as before:
        save(before, title="Mine", path="/telemetry/own")
        save(before, title="Column", path="/telemetry/cost_by_day")
    changed = own_query("cost_by_day", "select 1 as day")
    web = serve(ledger, configuration=changed)
    gone, column = shown(web)
    assert (gone["title"], gone["error"]) == ("Mine", "Its query 'own' is gone.")
    assert column["error"] == ("It cannot be drawn: the query has no column cost_usd (any more).")
    page = Page(web.ask("GET", REVIEW, "ann").text)
    assert "Mine Its query 'own' is gone." in page.text
    assert "Column It cannot be drawn: the query has no column cost_usd" in page.text
    post(web, "ann", f"{SAVE}/{gone['id']}/rename", title="Was mine")
    assert kept(ledger)[0] == (gone["id"], "Was mine")


def test_a_protected_query_is_shown_to_whom_it_is_for(serve: Serve, ledger: Path) -> None:
    rules = own_query("own", "select 'x' as day, 2 as cost_usd", allow={"id": "ann"})
    web = serve(ledger, configuration=rules)
    id = save(web, title="Secret", path="/telemetry/own")
    assert [chart["title"] for chart in shown(web, "ann")] == ["Secret"]
    for actor in (None, "bob"):
        assert shown(web, actor) == []
        assert "Secret" not in web.ask("GET", REVIEW, actor).text
        assert web.ask("GET", f"{REVIEW}/saved_{id}.svg", actor).status_code == 404
    # Who may save cannot reach it by saving, either.
    refused = post(web, "root", **{**CHART, "path": "/telemetry/own"})
    assert "telemetry has no query 'own'" in refused.json()["error"]


# --- several ledgers


def test_each_ledger_shows_its_own(serve: Serve, ledger: Path) -> None:
    other = four_calls(ledger.parent.parent / "elsewhere" / "other.db")
    web = serve(ledger, other, configuration=None)
    save(web, "root", title="First")
    on_other = f"{SAVE}?database=other"
    second = save(web, "root", on_other, title="Second", path="/other/cost_by_day")
    assert [(chart["database"], chart["title"]) for chart in shown(web)] == [("telemetry", "First")]
    assert [chart["title"] for chart in shown(web, database="other")] == ["Second"]
    # One file, beside the first ledger.
    assert len(kept(ledger)) == 2
    assert not other.with_name("saved_charts.db").exists()
    answer = post(web, "root", **{**CHART, "path": "/other/cost_by_day"})
    assert "is not a query of the ledger telemetry" in answer.json()["error"]
    assert post(web, "root", f"{SAVE}/{second}/delete").status_code == 404
    assert post(web, "root", f"{SAVE}/{second}/delete?database=other").status_code == 200
    assert [chart["title"] for chart in shown(web, database="other")] == []


def test_the_charts_of_a_renamed_ledger_are_told_of_by_the_first(
    serve: Serve, ledger: Path
) -> None:
    with serving(ledger, folder=ledger.parent) as before:
        save(before, "root")
    renamed = ledger.rename(ledger.with_name("renamed.db"))
    other = four_calls(ledger.parent.parent / "elsewhere" / "other.db")
    web = serve(renamed, other, configuration=None)
    (chart,) = shown(web)
    assert chart["error"] == "Its ledger 'telemetry' is not attached here."
    assert (
        "What days cost Its ledger 'telemetry' is not attached here."
        in Page(web.ask("GET", REVIEW).text).text
    )
    assert shown(web, database="other") == []
    assert post(web, "root", f"{SAVE}/{chart['id']}/rename", title="Old").status_code == 200
    assert post(web, "ann", f"{SAVE}/{chart['id']}/delete").status_code == 403
    assert post(web, "root", f"{SAVE}/{chart['id']}/delete").status_code == 200
    assert shown(web) == []


def test_who_may_not_see_every_ledger_does_not_see_the_file(serve: Serve, ledger: Path) -> None:
    other = four_calls(ledger.parent / "other.db")
    rules = {"databases": {"other": {"allow": {"id": ["ann", "root"]}}}}
    web = serve(ledger, other, configuration=rules)
    save(web, "root", f"{SAVE}?database=other", title="Secret", path="/other/cost_by_day")
    paths = ["/saved_charts", "/saved_charts/saved_charts", "/saved_charts/saved_charts.json"]
    paths += ["/saved_charts/saved_charts/1", "/saved_charts.json?sql=select+1"]
    paths += ["/saved_charts/-/query.json?sql=select+1", "/saved_charts.db"]
    for path in paths:
        for actor in (None, "bob"):
            answer = web.ask("GET", path, actor)
            assert answer.status_code in (403, 404) or "Secret" not in answer.text, path
            assert answer.status_code in (302, 403, 404), (path, answer.status_code)
    assert "saved_charts" not in web.ask("GET", "/").text
    assert web.ask("GET", "/telemetry").status_code == 200
    for path in paths[:4]:
        assert web.ask("GET", path, "ann").status_code == 200
    assert "Secret" in web.ask("GET", "/saved_charts/saved_charts.json?_shape=array", "ann").text
    (chart,) = shown(web, "ann", database="other")
    assert chart["title"] == "Secret"
    assert web.ask("GET", f"{REVIEW}?database=other", "bob").status_code == 403
