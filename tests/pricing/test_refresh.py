"""Prices from a router's feed, over a real connection, in good and in bad times."""

import gzip
import json
import os
import time as wall
from pathlib import Path
from typing import Any

import pytest
import yaml

from hermes_telemetry.pricing import Catalog
from hermes_telemetry.pricing.refresh import RefreshReport, refresh
from hermes_telemetry.pricing.sources import (
    OpenRouterSource,
)
from hermes_telemetry.yaml_files.editing import set_keys
from hermes_telemetry.yaml_files.text import ConfigFileError
from support import feed as answers
from support.feed import Feed, model, models
from support.processes import running

USERS = """\
# Ours
models:
    "my/model":   { input: 3.00,  output: 15 }   # negotiated
    shared/model:
        input: 9       # dearer than the router's
        output: 90
unknown_key: kept
"""


def take_over(home: Path, feed: Feed, **options: Any) -> RefreshReport:
    return refresh(home, [OpenRouterSource(feed.url, **options)])


def written(home: Path) -> dict[str, Any]:
    return yaml.safe_load((home / "pricing.yaml").read_text())


def rates(home: Path, id: str, provider: str = "openrouter") -> tuple[str, float, float] | None:
    price = Catalog(home).lookup(id, provider)
    return price and (price.basis, float(price.rates.input), float(price.rates.output))


def test_the_feeds_prices_are_taken_over_per_million(home: Path, feed: Feed) -> None:
    feed.answer(
        models(
            model(
                "a/full",
                "0.000003",
                "0.000015",
                input_cache_read="0.0000003",
                input_cache_write="0.00000375",
                internal_reasoning="0.00002",
                request="0.01",
                image="0.5",
                web_search="0",
            ),
            model("a/gift:free", "0", "0"),
            model("a/gift", "0", "0"),
            model("a/router", "-1", "-1"),
            model("a/half", "0.000003", "-1"),
            model(
                "a/plain", "0.0000001", "0.0000002", input_cache_read="0", internal_reasoning="0"
            ),
            model("a/number", 3e-06, 1.5e-05),
        )
    )
    report = take_over(home, feed)
    assert len(report.added) == 7
    assert report.failures == {}
    data = written(home)
    assert data["models"]["a/full"] == {
        "input": 3,
        "output": 15,
        "cache_read": 0.3,
        "cache_write": 3.75,
        "reasoning": 20,
        "request": 0.01,
        "_source": "openrouter",
    }
    # A "0" beside a price means "not billed apart", not "free of charge".
    assert data["models"]["a/plain"] == {"input": 0.1, "output": 0.2, "_source": "openrouter"}
    assert data["models"]["a/router"] == {"_estimated_price": True, "_source": "openrouter"}
    assert sorted(data["_meta"]["auto_models"]) == sorted(data["models"])
    assert data["_meta"]["estimated_price_models"] == ["a/half", "a/router"]
    assert rates(home, "a/full") == ("listed", 3, 15)
    assert rates(home, "a/full", "nous") == ("assumed", 3, 15)
    assert rates(home, "a/number") == ("listed", 3, 15)
    assert rates(home, "a/gift") == ("free", 0, 0)
    assert rates(home, "a/router") is None
    assert not Catalog(home).is_explicitly_priced("a/router", "openrouter")


def test_overrides_become_tiers(home: Path, feed: Feed) -> None:
    feed.answer(
        models(
            model(
                "a/tiered",
                "0.000002",
                "0.00001",
                input_cache_read="0.0000002",
                overrides=[
                    {"min_prompt_tokens": 272000, "prompt": "0.000004", "completion": "0.000015"},
                    {"min_prompt_tokens": 500000, "prompt": "0.000008", "input_cache_read": "0.1"},
                    {"min_prompt_tokens": "many", "prompt": "1"},
                    "nonsense",
                ],
            ),
            model("a/unsteady", overrides=[{"min_prompt_tokens": 9, "prompt": "-1"}]),
        )
    )
    take_over(home, feed)
    price = Catalog(home).lookup("a/tiered", "openrouter")
    assert price is not None
    assert [
        (t.min_prompt_tokens, float(t.rates.input), float(t.rates.output)) for t in price.tiers
    ] == [
        (272000, 4, 15),
        (500000, 8, 10),
    ]
    # Not stated for the tier: its own input rate, an upper bound.
    assert [float(tier.rates.cache_read) for tier in price.tiers] == [4, 100000]
    assert rates(home, "a/unsteady") is None


def test_the_users_entries_and_comments_are_byte_identical_and_reported(
    home: Path, feed: Feed
) -> None:
    path = home / "pricing.yaml"
    path.write_text(USERS)
    feed.answer(models(model("shared/model"), model("new/model"), model("MY/model")))
    report = take_over(home, feed)
    assert report.added == ("new/model",)
    assert [(d.id, d.source, d.own, d.listed) for d in report.differences] == [
        ("shared/model", "openrouter", (9.0, 90.0), (3.0, 15.0))
    ]
    assert report.unchanged == 0
    text = path.read_text()
    added = "\n    new/model: {input: 3, output: 15, _source: openrouter}"
    assert added in text
    assert text.replace(added, "").startswith(USERS)
    assert (home / "pricing.yaml.bak").read_text() == USERS


def test_only_automatic_entries_follow_the_feed(home: Path, feed: Feed) -> None:
    feed.answer(models(model("a/x"), model("a/y")))
    take_over(home, feed)
    path = home / "pricing.yaml"
    # The user takes a/y over by taking it off the list.
    path.write_text(path.read_text().replace("a/x, a/y", "a/x"))
    feed.answer(models(model("a/x", "0.000004"), model("a/y", "0.000005"), model("a/z")))
    report = take_over(home, feed)
    assert (report.added, report.changed) == (("a/z",), ("a/x",))
    assert [difference.id for difference in report.differences] == ["a/y"]
    assert rates(home, "a/x") == ("listed", 4, 15)
    assert rates(home, "a/y") == ("listed", 3, 15)


def test_an_id_that_the_feed_drops_keeps_its_price(home: Path, feed: Feed) -> None:
    feed.answer(models(model("a/x"), model("a/y")))
    take_over(home, feed)
    feed.answer(models(model("a/x")))
    take_over(home, feed)
    assert rates(home, "a/y") == ("listed", 3, 15)


def test_the_same_feed_again_changes_no_price(home: Path, feed: Feed) -> None:
    feed.answer(models(model("a/x"), model("a/y", "-1")))
    take_over(home, feed)
    report = take_over(home, feed)
    assert (report.added, report.changed, report.unchanged) == ((), (), 2)


GOOD = json.dumps({"data": [model(f"a/{n}") for n in range(10)]}).encode()
FAULTS = {
    "a hang": (answers.hang, "no complete answer within 0.5 s"),
    "slow headers": (answers.drip_headers, "no complete answer within 0.5 s"),
    "a slow body": (answers.drip_body, "no complete answer within 0.5 s"),
    "a cut body": (answers.cut_off(GOOD), "the transfer failed (ChunkedEncodingError)"),
    "HTML": (answers.body(b"<html>Bad gateway</html>"), "the answer is not JSON"),
    "no JSON object": (answers.body(b"[1]"), "the answer holds no list of models"),
    "no list": (answers.body(b'{"data": {"a": 1}}'), "the answer holds no list of models"),
    "deep nesting": (answers.body(b"[" * 100_000), "the answer is not JSON"),
    "an empty list": (models(), "the list is empty"),
    "a shrunken list": (
        models(*[model(f"a/{n}", "0.1") for n in range(4)]),
        "the list shrank from 10 to 4 prices (if that is right, write"
        " `feed_sizes: {openrouter: 4}` below `_meta:` in pricing.yaml)",
    ),
    "nothing usable": (models(*[model(f"a/{n}", "NaN") for n in range(9)]), "the list is empty"),
    "429": (
        answers.body(b"", 429, Retry_After="30"),
        "HTTP status 429, to be asked again in 30 s",
    ),
    "503": (answers.body(b"", 503), "HTTP status 503"),
    "204": (answers.body(b"", 204), "HTTP status 204"),
    "too much": (answers.body(b" " * 2_000_000), "the answer is longer than 1000000 bytes"),
    "a bomb": (
        answers.body(gzip.compress(b" " * 5_000_000), Content_Encoding="gzip"),
        "the answer is longer than 1000000 bytes",
    ),
    "broken compression": (
        answers.body(b"no gzip", Content_Encoding="gzip"),
        "the transfer failed (ContentDecodingError)",
    ),
    "a redirect in a circle": (answers.body(b"", 302, Location="/models"), "too many redirects"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_source_in_trouble_leaves_the_last_good_prices_and_is_named_once(
    home: Path, feed: Feed, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    feed.answer(answers.body(GOOD))
    take_over(home, feed)
    before = (home / "pricing.yaml").read_bytes()
    answer, reason = FAULTS[fault]
    feed.answer(answer)
    started = wall.monotonic()
    # Only where the time is the fault is it short: a busy machine may be slow by itself.
    deadline = 0.5 if "within" in reason else 20
    report = take_over(home, feed, deadline=deadline, byte_cap=1_000_000)
    assert wall.monotonic() - started < 8
    assert report.failures == {"openrouter": reason}
    assert (home / "pricing.yaml").read_bytes() == before
    assert rates(home, "a/3") == ("listed", 3, 15)
    # The report names it; whoever asked for the refresh tells of it.
    assert reason not in caplog.text


def test_a_list_that_really_shrank_is_taken_once_the_user_says_so(home: Path, feed: Feed) -> None:
    feed.answer(answers.body(GOOD))
    take_over(home, feed)
    feed.answer(models(*[model(f"a/{n}", "0.000001") for n in range(4)]))
    assert list(take_over(home, feed).failures) == ["openrouter"]
    path = home / "pricing.yaml"
    path.write_text(set_keys(path.read_text(), "_meta", {"feed_sizes": {"openrouter": 4}}))
    assert take_over(home, feed).failures == {}
    assert rates(home, "a/3") == ("listed", 1, 15)


def test_a_redirect_to_another_host_is_not_followed(home: Path, feed: Feed) -> None:
    with answers.serve_feed() as elsewhere:
        elsewhere.answer(models(model("a/x")))
        feed.answer(answers.body(b"", 302, Location=elsewhere.url))
        report = take_over(home, feed)
        assert report.failures == {"openrouter": "it redirects to another host"}
        assert elsewhere.requests == []
    assert not (home / "pricing.yaml").exists()


def test_a_closed_port_is_a_failure_like_others(home: Path) -> None:
    report = refresh(home, [OpenRouterSource("http://127.0.0.1:9/models", deadline=2)])
    assert report.failures == {"openrouter": "the transfer failed (ConnectionError)"}


def test_a_redirect_on_the_same_host_is_followed(home: Path, feed: Feed) -> None:
    feed.answer(answers.body(b"", 307, Location="/v2/models"))
    feed.answer(models(model("a/x")), "/v2/models")
    assert take_over(home, feed).added == ("a/x",)
    assert feed.requests == ["/models", "/v2/models"]


def test_bad_elements_spoil_only_themselves(
    home: Path, feed: Feed, caplog: pytest.LogCaptureFixture
) -> None:
    feed.answer(models(*[model(id) for id in ("a/nan", "a/inf", "a/text", "a/bool", "a/none")]))
    take_over(home, feed)
    caplog.clear()
    feed.answer(
        answers.body(
            b'{"data": ['
            b'{"id": "a/nan", "pricing": {"prompt": NaN, "completion": "0.1"}},'
            b'{"id": "a/inf", "pricing": {"prompt": "Infinity", "completion": "0.1"}},'
            b'{"id": "a/text", "pricing": {"prompt": "cheap", "completion": "0.1"}},'
            b'{"id": "a/bool", "pricing": {"prompt": true, "completion": "0.1"}},'
            b'{"id": "a/none", "pricing": {"completion": "0.1"}},'
            b'{"id": "a/cache", "pricing":'
            b' {"prompt": "0.000001", "completion": "0.1", "input_cache_read": "NaN"}},'
            b'{"id": "a/twice", "pricing": {"prompt": "0.000001", "completion": "0.000001"}},'
            b'{"id": "A/Twice", "pricing": {"prompt": "0.000009", "completion": "0.000009"}},'
            b'{"id": "a/\\n", "pricing": {"prompt": "0.1", "completion": "0.1"}},'
            b'{"id": "", "pricing": {"prompt": "0.1", "completion": "0.1"}},'
            b'{"id": 7, "pricing": {"prompt": "0.1", "completion": "0.1"}},'
            b'{"id": "a/list", "pricing": ["0.1"]}, {"pricing": {}}, "text", null'
            b"]}"
        )
    )
    # Five of them are usable in the last list, two in this one.
    report = take_over(home, feed)
    assert list(report.failures) == ["openrouter"]
    assert report.failures["openrouter"].startswith("the list shrank from 5 to 2 prices (")
    feed.answer(feed.answers["/models"])
    (home / "pricing.yaml").unlink()
    caplog.clear()
    report = take_over(home, feed)
    assert report.added == ("a/cache", "a/twice")
    assert written(home)["models"]["a/twice"]["input"] == 1
    assert "cache_read" not in written(home)["models"]["a/cache"]
    assert [record.getMessage() for record in caplog.records] == [
        "openrouter: of 15 models 12 have no usable price and 1 come again (the first counts)"
    ]


def test_a_malformed_price_file_is_left_alone(home: Path, feed: Feed) -> None:
    (home / "pricing.yaml").write_text("models: [")
    feed.answer(models(model("a/x")))
    with pytest.raises(ConfigFileError):
        take_over(home, feed)
    assert (home / "pricing.yaml").read_text() == "models: ["


def test_two_processes_at_once_leave_one_valid_file(home: Path, feed: Feed) -> None:
    (home / "pricing.yaml").write_text(USERS)
    feed.answer(models(*[model(f"a/{n}") for n in range(300)]))
    code = (
        "import sys; from pathlib import Path;"
        "from hermes_telemetry.pricing.refresh import refresh;"
        "from hermes_telemetry.pricing.sources import OpenRouterSource;"
        "[refresh(Path(sys.argv[1]), [OpenRouterSource(sys.argv[2])]) for _ in range(3)]"
    )
    with running(code, home, feed.url) as one, running(code, home, feed.url) as other:
        assert (one.end(), other.end()) == (0, 0)
    data = written(home)
    assert len(data["models"]) == 302
    assert len(data["_meta"]["auto_models"]) == 300
    assert (home / "pricing.yaml").read_text().startswith(USERS.split("unknown_key")[0].rstrip())
    assert not [name for name in os.listdir(home) if name.startswith(".pricing.yaml")]
