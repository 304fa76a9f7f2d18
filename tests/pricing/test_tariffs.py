"""The host's tariff: asked beside the call, waited for a tenth of a second at most."""

import threading
import time as wall
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

from hermes_telemetry.pricing import Catalog, Price, Tariffs
from hermes_telemetry.pricing.entries import Multipliers
from support.stopped_clock import StoppedClock
from support.threads import wait_for_threads


@dataclass(frozen=True)
class Stated:
    """What host.py answers with."""

    input: Decimal | None = Decimal(2)
    output: Decimal | None = Decimal(8)
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    request: Decimal | None = None
    source: str | None = "provider_models_api"
    source_url: str | None = "http://host/models"
    pricing_version: str | None = "v1"
    fetched_at: str | None = None


class Host:
    """A host that answers at once, or only when it is let."""

    def __init__(self, **tariffs: Stated | Exception | None) -> None:
        self.tariffs = {name.replace("_", "-"): tariff for name, tariff in tariffs.items()}
        self.asked: list[tuple[str, str, str | None]] = []
        self.answers = threading.Event()
        self.answers.set()

    def __call__(self, model: str, provider: str, base_url: str | None) -> Stated | None:
        self.asked.append((model, provider, base_url))
        assert self.answers.wait(10)
        answer = self.tariffs.get(model)
        if isinstance(answer, Exception):
            raise answer
        return answer


def answered(tariffs: Tariffs, model: str, provider: str = "p") -> Price | None:
    """The price once the thread has come to its end."""
    tariffs.price(model, provider, Multipliers())
    wait_for_threads("telemetry-tariff")
    return tariffs.price(model, provider, Multipliers())


def test_a_tariff_only_the_host_has_prices_the_first_call(home: Path) -> None:
    tariffs = Tariffs(Host(m=Stated(cache_read=Decimal("0.2"), request=Decimal("0.01"))))
    catalog = Catalog(home, tariff=tariffs.price)
    tariffs.begin("m", "p", "http://host/v1", "chat_completions")
    price = catalog.lookup("m", "p")
    assert price is not None
    assert (price.basis, price.source, price.matched_id) == ("tariff", "provider_models_api", "m")
    assert price.record() == {
        "basis": "tariff",
        "source": "provider_models_api",
        "matched_id": "m",
        "input": 2.0,
        "output": 8.0,
        "cache_read": 0.2,
        "cache_write": 2.0,
        "reasoning": None,
        "request": 0.01,
        "tier_from": None,
    }


def test_a_host_that_takes_five_seconds_delays_one_call_by_a_tenth(time: StoppedClock) -> None:
    host = Host(m=Stated())
    host.answers.clear()
    tariffs = Tariffs(host, clock=time.clock)
    tariffs.begin("m", "p")
    assert tariffs.price("m", "p", Multipliers()) is None
    assert 0.1 <= time.seconds < 0.102
    # The same question is not waited for again.
    assert tariffs.price("m", "p", Multipliers()) is None
    assert time.seconds < 0.102
    host.answers.set()
    price = answered(tariffs, "m")
    assert price is not None
    assert price.rates.output == 8
    assert len(host.asked) == 1


def test_beginning_waits_for_nothing() -> None:
    host = Host(m=Stated())
    host.answers.clear()
    tariffs = Tariffs(host)
    started = wall.monotonic()
    for _ in range(3):
        tariffs.begin("m", "p")
        tariffs.begin(None, None)
    assert wall.monotonic() - started < 5
    host.answers.set()
    assert answered(tariffs, "m") is not None
    assert len(host.asked) == 1


def test_each_pair_is_asked_for_once_in_six_hours(time: StoppedClock) -> None:
    host = Host(m=Stated(), gone=None)
    tariffs = Tariffs(host, clock=time.clock)
    for provider in ("p", "q"):
        assert answered(tariffs, "m", provider) is not None
    assert answered(tariffs, "gone") is None
    time.advance(6 * 3600 - 10)
    for model in ("m", "gone"):
        answered(tariffs, model)
    assert len(host.asked) == 3
    time.advance(10)
    answered(tariffs, "m")
    assert len(host.asked) == 4


def test_the_former_answer_holds_while_the_host_is_asked_again(time: StoppedClock) -> None:
    host = Host(m=Stated())
    tariffs = Tariffs(host, clock=time.clock)
    assert answered(tariffs, "m") is not None
    time.advance(6 * 3600)
    host.answers.clear()
    price = tariffs.price("m", "p", Multipliers())
    assert price is not None
    assert price.rates.input == 2
    host.tariffs["m"] = Stated(input=Decimal(3))
    host.answers.set()
    price = answered(tariffs, "m")
    assert price is not None
    assert price.rates.input == 3


@pytest.mark.parametrize(
    "tariff",
    [
        None,
        ValueError("no"),
        Stated(input=Decimal(-1_000_000), output=Decimal(-1_000_000)),
        Stated(cache_read=Decimal(-1)),
        Stated(request=Decimal("NaN")),
        Stated(output=Decimal("Infinity")),
        Stated(input=None),
        Stated(output=None),
    ],
    ids=str,
)
def test_an_answer_that_is_no_price_prices_nothing_and_frees_nothing(
    home: Path, tariff: Stated | Exception | None
) -> None:
    tariffs = Tariffs(Host(m=tariff))
    assert answered(tariffs, "m") is None
    assert tariffs.take_snapshot("m", "p") is None
    catalog = Catalog(home, tariff=tariffs.price)
    assert catalog.lookup("m", "p") is None
    assert not catalog.is_explicitly_priced("m", "p")


def test_a_host_that_charges_nothing_is_a_known_zero_but_not_an_explicit_one(home: Path) -> None:
    tariffs = Tariffs(Host(m=Stated(input=Decimal(0), output=Decimal(0))))
    catalog = Catalog(home, tariff=tariffs.price)
    assert answered(tariffs, "m") is not None
    price = catalog.lookup("m", "p")
    assert price is not None
    assert (price.basis, price.rates.input) == ("tariff", 0)
    assert not catalog.is_explicitly_priced("m", "p")


@pytest.mark.parametrize(
    ("asked", "listed"),
    [("m-20260701", "m"), ("m-20260701:free", "m:free"), ("a/m-2-20260701", "a/m-2")],
)
def test_a_dated_id_that_the_host_misses_is_asked_for_undated(asked: str, listed: str) -> None:
    host = Host()
    host.tariffs[listed] = Stated()
    tariffs = Tariffs(host)
    price = answered(tariffs, asked)
    assert [model for model, _, _ in host.asked] == [asked, listed]
    assert price is not None
    assert price.matched_id == listed
    snapshot = tariffs.take_snapshot(asked, "p")
    assert snapshot is not None
    assert (snapshot["model"], snapshot["resolved_model"]) == (asked, listed)


@pytest.mark.parametrize("id", ["m", "m-2026", "m-20261301", "m-20260701-x", "m20260701"])
def test_other_ids_are_asked_for_once(id: str) -> None:
    host = Host()
    answered(Tariffs(host), id)
    assert [model for model, _, _ in host.asked] == [id]


def test_a_resolved_tariff_is_handed_out_once_for_the_history(time: StoppedClock) -> None:
    tariffs = Tariffs(Host(m=Stated(cache_read=Decimal("0.2"))), clock=time.clock)
    tariffs.begin("m", "p", "http://host/v1", "chat_completions")
    answered(tariffs, "m")
    snapshot = tariffs.take_snapshot("m", "p")
    assert snapshot is not None
    assert str(snapshot.pop("captured_at")).startswith("2026-07-01T12:00:00.")
    assert snapshot == {
        "provider": "p",
        "model": "m",
        "input_cost_per_million": 2.0,
        "output_cost_per_million": 8.0,
        "cache_read_cost_per_million": 0.2,
        "cache_write_cost_per_million": None,
        "request_cost": None,
        "source": "provider_models_api",
        "source_url": "http://host/models",
        "pricing_version": "v1",
        "fetched_at": None,
        "base_url": "http://host/v1",
        "api_mode": "chat_completions",
        "resolved_model": None,
    }
    assert tariffs.take_snapshot("m", "p") is None
    assert tariffs.take_snapshot("never asked", "p") is None


def test_a_cache_rate_of_0_beside_a_price_is_not_stated(home: Path) -> None:
    tariffs = Tariffs(Host(m=Stated(cache_read=Decimal(0), cache_write=Decimal(0))))
    price = answered(tariffs, "m")
    assert price is not None
    assert (price.rates.cache_read, price.rates.cache_write) == (2, 2)
    snapshot = tariffs.take_snapshot("m", "p")
    assert snapshot is not None
    assert snapshot["cache_read_cost_per_million"] is None


def test_the_users_multipliers_fill_what_the_host_does_not_state(home: Path) -> None:
    (home / "pricing.yaml").write_text("defaults: {cache_read_multiplier: 0.1}")
    tariffs = Tariffs(Host(m=Stated()))
    assert answered(tariffs, "m") is not None
    price = Catalog(home, tariff=tariffs.price).lookup("m", "p")
    assert price is not None
    assert (price.rates.cache_read, price.rates.cache_write) == (Decimal("0.2"), Decimal(2))


def test_many_models_do_not_grow_the_memory_without_end() -> None:
    host = Host()
    tariffs = Tariffs(host)
    for n in range(513):
        tariffs.begin(f"m{n}", "p")
    answered(tariffs, "m512")
    assert len(host.asked) == 513
    # The oldest was forgotten to make room, and is asked for again.
    answered(tariffs, "m0")
    assert len(host.asked) == 514
    answered(tariffs, "m2")
    assert len(host.asked) == 514
