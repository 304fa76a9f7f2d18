"""A model that was free and now costs: told once, on its first paid call, and only then."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from hermes_telemetry.paths import pricing_path
from support.recording import Recording

Prices = Mapping[str, Mapping[str, Any]]
USED = {"input_tokens": 100_000, "output_tokens": 10_000}
PAID: dict[str, Any] = {"input": 3, "output": 15}
# 100,000 * 3 + 10,000 * 15 = 450,000 millionths.
COST = 0.45


def set_prices(recording: Recording, models: Prices) -> None:
    pricing_path().write_text(json.dumps({"models": models}), encoding="utf-8")
    recording.time.advance(10)  # the file is looked at once a second at most


def call(recording: Recording, model: str, number: int, usage: Any = USED) -> None:
    ids = {"session_id": "s", "turn_id": f"s:t:{number}", "api_request_id": f"s:t:{number}:api:1"}
    about = {"model": model, "provider": "nous", "api_call_count": 1}
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
