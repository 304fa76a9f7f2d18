"""Prices that come with the package, and those of other people's sources."""

import time as wall
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.pricing import Catalog
from hermes_telemetry.pricing.refresh import refresh
from hermes_telemetry.pricing.sources import (
    LAST_VERIFIED,
    GoogleAISource,
    OpenRouterSource,
    PricingSource,
)
from support.feed import Feed, model, models


def rates(home: Path, id: str, provider: str = "openrouter") -> tuple[str, float, float] | None:
    price = Catalog(home).lookup(id, provider)
    return price and (price.basis, float(price.rates.input), float(price.rates.output))


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
