"""Prices from a router's feed, over a real connection, in good and in bad times."""

import gzip
import json
import logging
import os
import subprocess
import sys
import time as wall
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from hermes_telemetry.pricing import Catalog
from hermes_telemetry.pricing.editing import set_keys
from hermes_telemetry.pricing.files import PricingFileError
from hermes_telemetry.pricing.refresh import RefreshReport, refresh, refresh_if_due
from hermes_telemetry.pricing.sources import (
    LAST_VERIFIED,
    GoogleAISource,
    OpenRouterSource,
    PricingSource,
)
from support import feed as answers
from support.feed import Feed, model, models
from support.processes import fork
from support.stopped_clock import StoppedClock

USERS = """\
# Ours
models:
    "my/model":   { input: 3.00,  output: 15 }   # negotiated
    shared/model:
        input: 9       # dearer than the router's
        output: 90
unknown_key: kept
"""


@pytest.fixture
def feed() -> Iterator[Feed]:
    with answers.serve_feed() as feed:
        yield feed


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
    with pytest.raises(PricingFileError):
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
    both = [
        subprocess.Popen([sys.executable, "-c", code, str(home), feed.url], stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in both:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    data = written(home)
    assert len(data["models"]) == 302
    assert len(data["_meta"]["auto_models"]) == 300
    assert (home / "pricing.yaml").read_text().startswith(USERS.split("unknown_key")[0].rstrip())
    assert not [name for name in os.listdir(home) if name.startswith(".pricing.yaml")]


class TestOnceADay:
    @pytest.fixture(autouse=True)
    def _url(self, home: Path, feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("HERMES_TELEMETRY_NO_SETUP", raising=False)
        (home / "pricing.yaml").write_text(f"refresh: {{openrouter_url: '{feed.url}'}}\n")
        feed.answer(models(model("a/x")))

    def test_a_day_must_pass_between_two_refreshes(
        self, home: Path, feed: Feed, time: StoppedClock
    ) -> None:
        report = refresh_if_due(home, time.clock)
        assert report is not None
        assert "a/x" in report.added
        time.advance(24 * 3600 - 1)
        assert refresh_if_due(home, time.clock) is None
        time.advance(1)
        assert refresh_if_due(home, time.clock) is not None
        assert feed.requests == ["/models"] * 2

    def test_the_mark_is_the_files_time_of_change(
        self, home: Path, feed: Feed, time: StoppedClock
    ) -> None:
        now = time.clock.now().timestamp()
        (home / ".pricing_refresh").touch()
        os.utime(home / ".pricing_refresh", (now - 3600, now - 3600))
        assert refresh_if_due(home, time.clock) is None
        assert feed.requests == []

    def test_a_mark_from_the_future_does_not_stop_refreshing(
        self, home: Path, time: StoppedClock
    ) -> None:
        later = time.clock.now().timestamp() + 10 * 86400
        (home / ".pricing_refresh").touch()
        os.utime(home / ".pricing_refresh", (later, later))
        assert refresh_if_due(home, time.clock) is not None

    def test_a_failed_try_counts_and_is_told_in_one_line(
        self, home: Path, feed: Feed, time: StoppedClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        feed.answer(answers.body(b"", 503))
        assert refresh_if_due(home, time.clock) is not None
        assert refresh_if_due(home, time.clock) is None
        assert feed.requests == ["/models"]
        told = [r.getMessage() for r in caplog.records if "former prices" in r.getMessage()]
        assert told == ["openrouter: HTTP status 503; its former prices stay"]

    def test_a_process_that_is_ended_in_a_refresh_claims_ten_minutes_not_a_day(
        self, home: Path, feed: Feed, time: StoppedClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def end(*arguments: Any, **options: Any) -> None:
            os._exit(7)

        def refresh_until_ended() -> None:
            monkeypatch.setattr("hermes_telemetry.pricing.refresh.all_sources", end)
            refresh_if_due(home, time.clock)

        assert fork(refresh_until_ended) == 7
        time.advance(599)
        assert refresh_if_due(home, time.clock) is None
        time.advance(1)
        assert refresh_if_due(home, time.clock) is not None
        time.advance(24 * 3600 - 1)
        assert refresh_if_due(home, time.clock) is None

    def test_no_setup_means_no_refresh_by_itself_but_the_command_works(
        self, home: Path, feed: Feed, time: StoppedClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HERMES_TELEMETRY_NO_SETUP", "1")
        assert refresh_if_due(home, time.clock) is None
        assert not (home / ".pricing_refresh").exists()
        assert "a/x" in refresh(home, clock=time.clock).added

    def test_a_refresh_by_itself_never_raises(
        self, home: Path, time: StoppedClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        (home / "pricing.yaml").write_text("models: [")
        assert refresh_if_due(home, time.clock) is None
        assert [r.levelno for r in caplog.records] == [logging.WARNING]


def test_googles_table_comes_with_the_package(home: Path) -> None:
    report = refresh(home, [GoogleAISource()])
    assert report.failures == {}
    assert rates(home, "gemini-3.5-flash", "gemini") == ("listed", 1.5, 9)
    assert rates(home, "google/gemini-2.5-flash-lite", "vertex") == ("listed", 0.1, 0.4)
    price = Catalog(home).lookup("gemini-2.5-pro", "gemini")
    assert price is not None
    assert price.source == "google"
    assert [(t.min_prompt_tokens, float(t.rates.output)) for t in price.tiers] == [(200_001, 15)]


def test_the_day_of_googles_table_is_the_one_in_the_file() -> None:
    from hermes_telemetry.pricing.files import seeded_block

    assert str(seeded_block("google")["last_verified"]) == LAST_VERIFIED


class Ours(PricingSource):
    name = "ours"

    def fetch(self) -> Mapping[str, dict[str, Any]]:
        return {
            "our/model": {"input": 1, "output": 2},
            "our/broken": {"input": -1, "output": 2},
            "a/x": {"input": 7, "output": 7},
        }


class Failing(PricingSource):
    name = "failing"

    def fetch(self) -> Mapping[str, dict[str, Any]]:
        raise RuntimeError("secret address")


class Sleeping(PricingSource):
    name = "sleeping"
    deadline = 1.0

    def fetch(self) -> Mapping[str, dict[str, Any]]:
        wall.sleep(5)
        return {}


def test_other_peoples_sources_are_taken_over_and_bounded(home: Path, feed: Feed) -> None:
    feed.answer(models(model("a/x")))
    sources = [OpenRouterSource(feed.url), Ours(), Failing(), Sleeping()]
    report = refresh(home, sources)
    assert report.added == ("a/x", "our/model")
    assert report.failures == {
        "failing": "RuntimeError",
        "sleeping": "no complete answer within 1 s",
    }
    assert rates(home, "our/model", "anywhere") == ("listed", 1, 2)
    assert rates(home, "a/x") == ("listed", 3, 15)


def test_sources_of_other_packages_are_found_by_their_entry_point(
    home: Path, feed: Feed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "site" / "their_prices-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-prices\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[hermes_telemetry.pricing_sources]\ngood = their_prices:Good\n"
        "missing = their_prices:Missing\nother = their_prices:Other\n"
    )
    (info.parent / "their_prices.py").write_text(
        "from hermes_telemetry.pricing.sources import PricingSource\n"
        "class Good(PricingSource):\n"
        "    name = 'theirs'\n"
        "    def fetch(self): return {'their/model': {'input': 5, 'output': 6}}\n"
        "class Other: pass\n"
    )
    monkeypatch.syspath_prepend(str(info.parent))
    (home / "pricing.yaml").write_text(f"refresh: {{openrouter_url: '{feed.url}'}}\n")
    feed.answer(models(model("a/x")))
    assert "their/model" in refresh(home).added
    assert rates(home, "their/model", "x") == ("listed", 5, 6)
