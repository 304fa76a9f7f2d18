"""The host's tariff inside the hooks: waited for a tenth of a second, kept as it changes."""

import threading
from decimal import Decimal
from typing import Any

import pytest

from hermes_telemetry import host
from support.recording import Recording
from support.threads import wait_for_threads

TARIFF = host.Tariff(
    input=Decimal(3),
    output=Decimal(15),
    cache_read=None,
    cache_write=None,
    request=None,
    source="provider_models_api",
    source_url=None,
    pricing_version="v1",
    fetched_at=None,
)
IDS = {"session_id": "s", "turn_id": "s:t:1", "api_request_id": "s:t:1:api:1"}
ABOUT: dict[str, Any] = {"model": "lab/m", "provider": "lab", "base_url": "https://lab.test/v1"}


def test_a_tariff_that_takes_long_delays_the_hook_by_a_tenth_of_a_second(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answer = threading.Event()

    def resolve(model: str, provider: str, base_url: str | None) -> host.Tariff | None:
        answer.wait(30)
        return TARIFF

    monkeypatch.setattr(recording.recorder._accounting._tariffs, "_resolve", resolve)
    asked = recording.time.seconds
    recording.fire("pre_api_request", **IDS, **ABOUT)
    assert recording.time.seconds == asked

    recording.fire("post_api_request", **IDS, **ABOUT, usage={"input_tokens": 1_000_000})

    answer.set()
    assert recording.time.seconds - asked == pytest.approx(0.1, abs=0.002)
    assert recording.row("llm_calls")["cost_usd"] is None
    assert [message.partition(":")[0] for message in caplog.messages if "'lab/m'" in message] == [
        "model 'lab/m' at provider 'lab' has no price yet, it is still being looked up"
    ]


def test_the_tariff_prices_the_call_and_is_kept_with_its_address(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()

    def resolve(model: str, provider: str, base_url: str | None) -> host.Tariff | None:
        assert (model, provider, base_url) == ("lab/m", "lab", "https://lab.test/v1")
        answered.set()
        return TARIFF

    monkeypatch.setattr(recording.recorder._accounting._tariffs, "_resolve", resolve)
    recording.fire("pre_api_request", **IDS, **ABOUT)
    assert answered.wait(10)
    wait_for_threads("telemetry-tariff")

    recording.fire("post_api_request", **IDS, **ABOUT, usage={"input_tokens": 1_000_000})

    assert recording.row("llm_calls")["cost_usd"] == 3.0
    assert recording.row("prices_used")["basis"] == "tariff"
    snapshot = recording.row("pricing_snapshots")
    assert (snapshot["provider"], snapshot["model"], snapshot["base_url"]) == (
        "lab",
        "lab/m",
        "https://lab.test/v1",
    )
    assert (snapshot["input_cost_per_million"], snapshot["output_cost_per_million"]) == (3, 15)
