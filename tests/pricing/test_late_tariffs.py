"""A model that was said to have no price, and then gets one from the host."""

import threading
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

from hermes_telemetry.pricing import Catalog, Price, Tariffs
from hermes_telemetry.pricing.catalogue import Catalogue
from hermes_telemetry.pricing.entries import Multipliers
from hermes_telemetry.pricing.price import Rates
from support.stopped_clock import StoppedClock
from support.threads import wait_for_threads

SIX_HOURS = 6 * 3600
NO_PRICE = "model 'm' at provider 'p' has no price that is known: its calls stay without a cost"
NO_PRICE_YET = "model 'm' at provider 'p' has no price yet, it is still being looked up"


class LateHost:
    """A host that knows no price at first; then it lists one, and takes its time to say so."""

    def __init__(self) -> None:
        self.lists_it = False
        self.answers = threading.Event()
        self.answers.set()

    def __call__(self, model: str, provider: str, base_url: str | None) -> SimpleNamespace | None:
        assert self.answers.wait(10)
        unstated = ("cache_read", "cache_write", "request")
        unnamed = ("source", "source_url", "pricing_version", "fetched_at")
        tariff = SimpleNamespace(
            input=Decimal(2), output=Decimal(8), **dict.fromkeys(unstated + unnamed)
        )
        return tariff if self.lists_it else None

    def answer(self) -> None:
        self.answers.set()
        wait_for_threads("telemetry-tariff")


def absent() -> None:
    raise ModuleNotFoundError("No module named 'genai_prices'")


@pytest.fixture
def host() -> LateHost:
    return LateHost()


@pytest.fixture
def tariffs(host: LateHost, time: StoppedClock) -> Tariffs:
    return Tariffs(host, clock=time.clock)


@pytest.fixture
def warned(
    home: Path,
    time: StoppedClock,
    host: LateHost,
    tariffs: Tariffs,
    caplog: pytest.LogCaptureFixture,
) -> Catalog:
    """Prices as the recorder has them, six hours after the host had no price for the model."""
    catalog = Catalog(
        home,
        clock=time.clock,
        # Looked up when this fixture is done, so that a test may watch.
        tariff=lambda *asked: tariffs.price(*asked),
        tariff_awaited=tariffs.is_asking,
        catalogue=Catalogue(load=absent, clock=time.clock),
    )
    tariffs.begin("m", "p")
    wait_for_threads()
    assert catalog.lookup("m", "p") is None
    wait_for_threads()
    assert catalog.lookup("m", "p") is None
    assert caplog.messages == [NO_PRICE]
    time.advance(SIX_HOURS)
    host.lists_it = True
    host.answers.clear()
    return catalog


def test_the_price_counts_for_the_first_call_after_the_answer(
    host: LateHost, warned: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    assert warned.lookup("m", "p") is None
    host.answer()
    price = warned.lookup("m", "p")
    assert price is not None
    assert (price.basis, price.rates.input) == ("tariff", 2)
    assert [line[: len(NO_PRICE_YET)] for line in caplog.messages] == [NO_PRICE_YET]


def test_an_answer_that_comes_when_a_call_has_just_given_up_counts_for_it(
    host: LateHost,
    tariffs: Tariffs,
    warned: Catalog,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    look = tariffs.price

    def before_the_answer(model: str, provider: str, fill: Multipliers) -> Price | None:
        price = look(model, provider, fill)
        host.answer()
        return price

    monkeypatch.setattr(tariffs, "price", before_the_answer)
    price = warned.lookup("m", "p")
    assert price is not None
    assert (price.basis, price.rates.input) == ("tariff", 2)
    assert caplog.messages == []


def test_a_pair_is_being_asked_for_until_the_host_has_answered_for_the_next_six_hours(
    host: LateHost, time: StoppedClock, tariffs: Tariffs
) -> None:
    assert tariffs.is_asking("m", "p")
    tariffs.begin("m", "p")
    wait_for_threads("telemetry-tariff")
    assert not tariffs.is_asking("m", "p")
    time.advance(SIX_HOURS)
    assert tariffs.is_asking("m", "p")
    host.answers.clear()
    tariffs.begin("m", "p")
    assert tariffs.is_asking("m", "p")
    host.answer()
    assert not tariffs.is_asking("m", "p")


def test_the_steps_are_gone_through_once_however_many_models_have_no_price(home: Path) -> None:
    asked: list[str] = []

    def tariff(model: str, provider: str, fill: Multipliers) -> Price | None:
        asked.append(model)
        return Price("tariff", "h", model, Rates(*[Decimal(1)] * 4)) if model == "known" else None

    catalog = Catalog(home, tariff=tariff, catalogue=Catalogue(load=absent, wait=30))
    models = [f"m{number}" for number in range(5000)]
    for _ in range(2):
        asked.clear()
        for model in models:
            assert catalog.lookup(model, "p") is None
    assert asked == models
