"""A model that was free and now costs: told once, on its first paid call, and only then."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from hermes_telemetry.paths import pricing_path
from support.feed import model, models, serve_feed
from support.recording import Recording
from support.threads import wait_for_threads

Prices = Mapping[str, Mapping[str, Any]]
USED = {"input_tokens": 100_000, "output_tokens": 10_000}
PAID: dict[str, Any] = {"input": 3, "output": 15}
# 100,000 * 3 + 10,000 * 15 = 450,000 millionths.
COST = 0.45


def set_prices(recording: Recording, models: Prices) -> None:
    pricing_path().write_text(json.dumps({"models": models}), encoding="utf-8")
    recording.time.advance(10)  # the file is looked at once a second at most


def call(
    recording: Recording,
    model: str,
    number: int,
    usage: Any = USED,
    provider: str | None = "nous",
) -> None:
    ids = {"session_id": "s", "turn_id": f"s:t:{number}", "api_request_id": f"s:t:{number}:api:1"}
    about = {"model": model, "provider": provider, "api_call_count": 1}
    recording.fire("pre_api_request", **ids, **about, approx_input_tokens=100_000)
    recording.fire("post_api_request", **ids, **about, usage=usage)


def notice(recording: Recording) -> str | None:
    told = recording.fire("pre_llm_call", session_id="s")
    return None if told is None else told["context"]


WAS_FREE = "{} at nous was free so far and is not any more. Its first paid call cost $0.45."
LEFT = (
    "{} at nous left your plan: it was declared as covered, and this call was billed."
    " Its first paid call cost $0.45."
)


@pytest.mark.parametrize(
    ("free", "before", "paid", "after", "said"),
    [
        ("lab/m", {"lab/m": {"input": 0, "output": 0}}, "lab/m", {"lab/m": PAID}, WAS_FREE),
        ("lab/m:free", {}, "lab/m", {"lab/m": PAID}, WAS_FREE),
        ("lab/m:free", {}, "lab/m-550b", {"lab/m-550b": PAID}, WAS_FREE),
        ("lab/m", {"lab/m": {"_subscription": True}}, "lab/m", {"lab/m": PAID}, LEFT),
    ],
    ids=["the same id", "the dropped :free", "a suffixed paid id", "a left subscription"],
)
def test_the_first_paid_call_is_told_once(
    recording: Recording, free: str, before: Prices, paid: str, after: Prices, said: str
) -> None:
    set_prices(recording, before)
    call(recording, free, 1)
    assert notice(recording) is None
    assert {row["model"] for row in recording.rows("known_free_models")} == {free}

    set_prices(recording, after)
    call(recording, paid, 2)
    call(recording, paid, 3)

    assert notice(recording) == said.format(paid)
    assert notice(recording) is None
    assert recording.said.count("WARNING: " + said.format(paid)) == 1
    flip = recording.row("free_paid_transitions")
    assert (flip["model"], flip["provider"], flip["session_id"]) == (paid, "nous", "s")
    assert flip["first_paid_cost_usd"] == pytest.approx(COST, abs=1e-12)
    assert [row["cost_usd"] for row in recording.rows("llm_calls")] == [
        0,
        pytest.approx(COST, abs=1e-12),
        pytest.approx(COST, abs=1e-12),
    ]


@pytest.mark.parametrize(
    ("free", "paid", "usage"),
    [
        ("lab/unknown", "lab/unknown", USED),
        ("lab/m:free", "lab/mm", USED),
        ("lab/m:free", "lab/m", None),
    ],
    ids=["unknown before", "a look-alike", "an estimated call"],
)
def test_what_is_no_flip_is_not_told(
    recording: Recording, free: str, paid: str, usage: Any
) -> None:
    set_prices(recording, {})
    call(recording, free, 1)
    set_prices(recording, {paid: PAID})
    call(recording, paid, 2, usage)

    assert recording.rows("llm_calls")[1]["cost_usd"] > 0
    assert notice(recording) is None
    assert recording.rows("free_paid_transitions") == []


def test_a_free_call_without_reported_usage_arms_nothing(recording: Recording) -> None:
    set_prices(recording, {})
    call(recording, "lab/m:free", 1, usage=None)
    assert recording.row("llm_calls")["cost_usd"] == 0
    assert recording.rows("known_free_models") == []


def test_a_stored_price_is_not_changed_by_a_new_one(recording: Recording) -> None:
    set_prices(recording, {"lab/m": PAID})
    call(recording, "lab/m", 1)
    before = recording.rows("llm_calls"), recording.rows("llm_call_prices")
    set_prices(recording, {"lab/m": {"input": 30, "output": 150}})
    call(recording, "lab/m", 2)

    assert (recording.rows("llm_calls")[:1], recording.rows("llm_call_prices")[:1]) == before
    assert recording.rows("llm_calls")[1]["cost_usd"] == pytest.approx(10 * COST, abs=1e-12)


def all_prices_ready(recording: Recording) -> None:
    """The first hook, and what it has done beside it."""
    recording.fire("on_session_start", session_id="s", model="any", platform="cli")
    wait_for_threads("telemetry-prices")


def test_what_the_user_prices_at_nothing_is_known_to_be_free_at_the_first_hook(
    recording: Recording,
) -> None:
    set_prices(recording, {"gift": {"input": 0, "output": 0}, "lab/m": PAID})
    all_prices_ready(recording)
    (known,) = recording.rows("known_free_models")
    assert (known["model"], known["provider"]) == ("gift", "")

    set_prices(recording, {"gift": PAID})
    call(recording, "gift", 1)
    assert notice(recording) == WAS_FREE.format("gift")


@pytest.mark.parametrize("provider", ["openrouter", "custom", None])
def test_a_free_twin_in_the_routers_list_makes_no_paid_model_free(
    recording: Recording, provider: str | None
) -> None:
    listed = {"_source": "openrouter"}
    set_prices(recording, {"lab/m": PAID, "lab/m:free": {"input": 0, "output": 0, **listed}})
    all_prices_ready(recording)
    call(recording, "lab/m", 1, provider=provider)
    assert recording.row("llm_calls")["cost_usd"] == pytest.approx(COST, abs=1e-12)
    assert (notice(recording), recording.rows("free_paid_transitions")) == (None, [])


def test_a_free_call_between_paid_ones_ends_nothing(recording: Recording) -> None:
    set_prices(recording, {"lab/m": PAID})
    for number, id in enumerate(("lab/m", "lab/m:free", "lab/m"), start=1):
        call(recording, id, number)
        recording.time.advance(1)
    assert recording.row("known_free_models")["model"] == "lab/m:free"
    assert notice(recording) is None


def test_a_free_call_of_no_known_provider_says_nothing_of_any(recording: Recording) -> None:
    set_prices(recording, {"gift": {"input": 0, "output": 0, "providers": {"nous": PAID}}})
    call(recording, "gift", 1, provider=None)
    call(recording, "gift", 2)
    assert [row["cost_usd"] for row in recording.rows("llm_calls")] == [
        0,
        pytest.approx(COST, abs=1e-12),
    ]
    assert (notice(recording), recording.rows("known_free_models")) == (None, [])


def test_a_price_that_is_assumed_ends_no_plan(recording: Recording) -> None:
    set_prices(recording, {"lab/m": {"_subscription": True}})
    call(recording, "lab/m", 1)
    set_prices(recording, {"lab/m": {**PAID, "_source": "openrouter"}})
    call(recording, "lab/m", 2)
    assert recording.rows("llm_calls")[1]["provider_assumed"] == 1
    assert (notice(recording), recording.rows("free_paid_transitions")) == (None, [])


def test_the_same_id_in_another_case_is_told_once(recording: Recording) -> None:
    set_prices(recording, {"kase": {"input": 0, "output": 0}})
    call(recording, "Kase", 1)
    set_prices(recording, {"kase": PAID})
    call(recording, "Kase", 2)
    call(recording, "kase", 3)
    assert notice(recording) == WAS_FREE.format("Kase")
    assert recording.row("free_paid_transitions")["model"] == "Kase"


def test_the_first_hook_has_list_prices_renewed(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HERMES_TELEMETRY_NO_SETUP")
    with serve_feed() as feed:
        feed.answer(models(model("lab/listed")))
        pricing_path().write_text(f"refresh: {{openrouter_url: '{feed.url}'}}\n")
        all_prices_ready(recording)
        assert feed.requests == ["/models"]
    assert "lab/listed" in pricing_path().read_text()
