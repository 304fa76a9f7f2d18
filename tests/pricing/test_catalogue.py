"""The optional genai-prices package: used when there, harmless when absent, broken or slow."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hermes_telemetry.pricing import Catalog, Price, Tariffs
from hermes_telemetry.pricing.catalogue import Catalogue
from hermes_telemetry.pricing.entries import Multipliers
from support.stopped_clock import StoppedClock
from support.threads import wait_for_threads


class Named:
    """Anything with attributes: the package's objects as far as they are used."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def clause(**attributes: Any) -> Named:
    """A matching rule: equals, starts_with, ends_with, contains, regex, or_, and_."""
    return Named(is_match=lambda model: True, **attributes)


class Package:
    """genai-prices with one model, found by whatever id is asked for."""

    Usage = Named

    def __init__(self, match: Named, id: str = "listed", provider: str = "p", **prices: Any):
        self.asked: list[tuple[str, str | None]] = []
        self.times: list[datetime] = []
        self._found = Named(
            provider=Named(id=provider),
            model=Named(id=id, match=match, get_prices=self._prices),
        )
        self._stated = Named(**prices)

    def _prices(self, at: datetime) -> Named:
        self.times.append(at)
        return self._stated

    def calc_price(self, usage: Any, model: str, provider_id: str | None) -> Named:
        self.asked.append((model, provider_id))
        if model == "missing":
            raise LookupError(model)
        return self._found


CHEAP = {"input_mtok": Decimal(1), "output_mtok": Decimal(4)}


def catalogue(load: Callable[[], Any]) -> Catalogue:
    """One that waits until it is answered, however busy the machine is."""
    return Catalogue(load=load, wait=30)


def price_of(package: Package, model: str, provider: str = "p") -> Price | None:
    return catalogue(lambda: package).price(model, provider, None, Multipliers())


@pytest.mark.parametrize(
    ("match", "model", "found"),
    [
        (clause(equals="M"), "m", True),
        (clause(equals="m"), "m-2", False),
        (clause(equals="other"), "LISTED", True),
        (clause(starts_with="m-4-5"), "m-4-5", True),
        (clause(starts_with="m-4-5"), "m-4-5-20251101", True),
        (clause(starts_with="m-4-5"), "m-4-50", False),
        (clause(starts_with="m-4-5"), "m-4-5-mini", False),
        (clause(starts_with="m-4@"), "m-4@20251101", True),
        (clause(regex=r"^m-\d{8}$"), "m-20251101", True),
        (clause(regex=r"^m-\d"), "m-9-ultra", False),
        (clause(contains="m-4-5"), "us.vendor.m-4-5-20251101-v1:0", True),
        (clause(contains="m-4-5"), "xm-4-5", False),
        (clause(contains="m-4-5"), "vendor/m-4-5-mini", False),
        (clause(ends_with="m-4"), "vendor/m-4", True),
        (clause(or_=[clause(equals="x"), clause(starts_with="m")]), "m-v2", True),
        (clause(or_=[clause(equals="x")]), "m-v2", False),
        (clause(and_=[clause(starts_with="m"), clause(regex="^(?!.*tts)")]), "m-v2", True),
        (clause(something_new=1), "m", False),
    ],
)
def test_only_the_model_itself_is_found_not_one_whose_name_begins_alike(
    match: Named, model: str, found: bool
) -> None:
    price = price_of(Package(match, **CHEAP), model)
    assert (price is not None) is found
    if price is not None:
        assert (price.basis, price.source, price.matched_id) == (
            "catalogue",
            "genai-prices",
            "listed",
        )


@pytest.mark.parametrize(
    ("provider", "asked"),
    [
        ("gemini", "google"),
        ("vertex", "google"),
        ("xai", "x-ai"),
        ("openai-api", "openai"),
        ("bedrock", "aws"),
        ("Anthropic", "anthropic"),
        ("", None),
    ],
)
def test_the_hosts_words_for_providers_are_translated(provider: str, asked: str | None) -> None:
    package = Package(clause(equals="m"), provider=asked or "any", **CHEAP)
    assert price_of(package, "M", provider) is not None
    assert package.asked == [("m", asked)]


def test_another_provider_than_the_one_asked_for_is_no_answer() -> None:
    assert (
        price_of(Package(clause(equals="m"), provider="openai", **CHEAP), "m", "my-openai") is None
    )


@pytest.mark.parametrize(
    "prices",
    [
        {},
        {"input_mtok": Decimal(1)},
        {"output_mtok": Decimal(1)},
        {"input_mtok": Decimal(-1), "output_mtok": Decimal(1)},
        {"input_mtok": Decimal("NaN"), "output_mtok": Decimal(1)},
        {"input_mtok": "free", "output_mtok": Decimal(1)},
    ],
    ids=str,
)
def test_an_entry_without_prices_for_text_is_no_answer_and_not_free(
    home: Path, prices: dict[str, Any]
) -> None:
    package = Package(clause(equals="m"), **prices)
    catalog = Catalog(home, catalogue=catalogue(lambda: package))
    assert catalog.lookup("m", "p") is None
    assert not catalog.is_explicitly_priced("m", "p")


def test_tiers_start_above_their_threshold() -> None:
    def tiered(base: str, *tiers: tuple[int, str]) -> Named:
        return Named(
            base=Decimal(base),
            tiers=[Named(start=start, price=Decimal(price)) for start, price in tiers],
        )

    price = price_of(
        Package(
            clause(equals="m"),
            input_mtok=tiered("1", (100, "2"), (200, "3")),
            output_mtok=tiered("4", (200, "9")),
            cache_read_mtok=Decimal("0.5"),
            requests_kcount=Decimal(12),
        ),
        "m",
    )
    assert price is not None
    assert price.rates.request == Decimal("0.012")
    rates = [
        (tier, float(r.input), float(r.output), float(r.cache_read), float(r.cache_write))
        for r, tier in (price.rates_for(n) for n in (100, 101, 201))
    ]
    assert rates == [(None, 1, 4, 0.5, 1), (101, 2, 4, 0.5, 2), (201, 3, 9, 0.5, 3)]


def test_prices_are_those_of_the_time_of_the_call(home: Path, time: StoppedClock) -> None:
    package = Package(clause(equals="m"), **CHEAP)
    catalog = Catalog(home, clock=time.clock, catalogue=Catalogue(load=lambda: package, wait=30))
    then = datetime(2025, 3, 1, tzinfo=UTC)
    assert catalog.lookup("m", "p", then) is not None
    assert package.times == [then]


def test_a_price_is_worked_out_once_a_minute_and_anew_in_the_next() -> None:
    package = Package(clause(equals="m"), **CHEAP)
    ours = catalogue(lambda: package)
    fill = Multipliers(cache_read=Decimal("0.5"))
    noon = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
    rates = [
        price.rates.cache_read
        for at, multipliers in (
            (noon, Multipliers()),
            (noon.replace(second=59), Multipliers()),
            (noon.replace(minute=1), Multipliers()),
            (noon.replace(minute=1), fill),
            (noon, Multipliers()),
        )
        if (price := ours.price("m", "p", at, multipliers))
    ]
    # The package states no cache rate: it is the input's, and half of that with the user's word.
    assert rates == [1, 1, 1, Decimal("0.5"), 1]
    one, two = noon, noon.replace(minute=1)
    assert package.times == [one, two, two, one], "not in the same minute by the same multipliers"


def test_misses_are_remembered() -> None:
    package = Package(clause(equals="m"), **CHEAP)
    ours = catalogue(lambda: package)
    for _ in range(3):
        assert ours.price("missing", "p", None, Multipliers()) is None
        assert ours.price("m", "p", None, Multipliers()) is not None
    assert package.asked == [("missing", "p"), ("m", "p")]


def test_calls_that_ask_at_the_same_time_get_the_same_answer() -> None:
    let = threading.Event()

    class Slow(Package):
        def calc_price(self, usage: Any, model: str, provider_id: str | None) -> Named:
            assert let.wait(30)
            return super().calc_price(usage, model, provider_id)

    package = Slow(clause(equals="m"), **CHEAP)
    ours = catalogue(lambda: package)
    prices: list[Price | None] = []
    callers = [
        threading.Thread(target=lambda: prices.append(ours.price("m", "p", None, Multipliers())))
        for _ in range(6)
    ]
    for caller in callers:
        caller.start()
    let.set()
    for caller in callers:
        caller.join(30)

    assert [price and price.rates.output for price in prices] == [4] * 6
    assert package.asked == [("m", "p")]


def test_host_and_catalogue_together_delay_a_call_by_a_tenth_of_a_second(
    home: Path, time: StoppedClock
) -> None:
    never = threading.Event()
    catalog = Catalog(
        home,
        clock=time.clock,
        tariff=Tariffs(lambda *asked: never.wait(30) and None, clock=time.clock).price,
        catalogue=Catalogue(load=lambda: never.wait(30), clock=time.clock),
    )
    assert catalog.lookup("m", "p") is None
    never.set()
    assert 0.1 <= time.seconds < 0.104


def _absent() -> Any:
    raise ModuleNotFoundError("No module named 'genai_prices'")


def _broken() -> Any:
    raise RuntimeError("an incompatible pydantic")


def _leaving() -> Any:
    raise SystemExit(1)


@pytest.mark.parametrize("load", [_absent, _broken, _leaving])
def test_a_package_that_cannot_be_imported_changes_nothing_but_the_basis(
    home: Path, load: Callable[[], Any]
) -> None:
    (home / "pricing.yaml").write_text("models: {r: {input: 1, output: 2, _source: openrouter}}")
    catalog = Catalog(home, catalogue=catalogue(load))
    assert catalog.lookup("m", "p") is None
    assert [price.basis for price in catalog.steps("r", "nous")] == ["assumed"]
    assert [price.basis for price in catalog.steps("gpt-5", "openai")] == ["builtin"]


def test_a_package_known_to_be_absent_is_not_asked_for_the_next_model() -> None:
    ours = catalogue(_absent)
    assert ours.is_asking("m", "p")
    assert ours.price("m", "p", None, Multipliers()) is None
    assert not ours.is_asking("next", "p")


def test_a_slow_import_delays_one_call_by_a_tenth_of_a_second(
    home: Path, time: StoppedClock
) -> None:
    ready = threading.Event()
    package = Package(clause(equals="m"), **CHEAP)

    def load() -> Package:
        assert ready.wait(10)
        return package

    catalog = Catalog(home, catalogue=Catalogue(load=load, clock=time.clock))
    catalog.prepare("m", "p")
    assert time.seconds == 0
    for _ in range(3):
        assert catalog.lookup("m", "p") is None
    assert 0.1 <= time.seconds < 0.102
    ready.set()
    wait_for_threads("telemetry-catalogue")
    price = catalog.lookup("m", "p")
    assert price is not None
    assert price.basis == "catalogue"


def test_a_price_that_comes_when_its_lookup_has_just_given_up_counts(
    home: Path,
    time: StoppedClock,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ready = threading.Event()
    package = Package(clause(equals="m"), **CHEAP)

    def load() -> Package:
        assert ready.wait(10)
        return package

    look = Catalogue.price

    def before_the_answer(*asked: Any) -> Price | None:
        price = look(*asked)
        ready.set()
        wait_for_threads("telemetry-catalogue")
        return price

    monkeypatch.setattr(Catalogue, "price", before_the_answer)
    catalog = Catalog(home, catalogue=Catalogue(load=load, clock=time.clock))
    price = catalog.lookup("m", "p")
    assert price is not None
    assert price.basis == "catalogue"
    assert caplog.messages == []


@pytest.mark.parametrize("slow", ["host", "package"])
def test_a_price_that_comes_too_late_for_a_call_is_not_said_to_be_unknown(
    home: Path, time: StoppedClock, caplog: pytest.LogCaptureFixture, slow: str
) -> None:
    ready = threading.Event()

    def nothing(*asked: Any) -> None:
        assert slow not in asked or ready.wait(10)

    tariffs = Tariffs(lambda *asked: nothing("host"), clock=time.clock)
    catalog = Catalog(
        home,
        clock=time.clock,
        tariff=tariffs.price,
        tariff_awaited=tariffs.is_asking,
        catalogue=Catalogue(load=lambda: nothing("package"), clock=time.clock),
    )
    for _ in range(2):
        assert catalog.lookup("m", "p") is None
    (early,) = caplog.messages
    assert early.startswith("model 'm' at provider 'p' has no price yet, it is still being looked")
    ready.set()
    wait_for_threads("telemetry-")
    for _ in range(2):
        assert catalog.lookup("m", "p") is None
    assert caplog.messages[1:] == [
        "model 'm' at provider 'p' has no price that is known: its calls stay without a cost"
    ]


def test_the_package_is_not_even_imported_while_others_know_the_model(home: Path) -> None:
    imported = []
    catalog = Catalog(home, catalogue=catalogue(lambda: imported.append(1)))
    for model in ("gpt-5", "claude-opus-4-6-20260115", "a:free"):
        catalog.prepare(model, "x")
        assert catalog.lookup(model, "x") is not None
    assert imported == []


def test_the_catalogue_comes_after_families_and_before_assumptions(home: Path) -> None:
    (home / "pricing.yaml").write_text("models: {m: {input: 1, output: 2, _source: openrouter}}")
    package = Package(clause(equals="m"), **CHEAP)
    catalog = Catalog(home, catalogue=catalogue(lambda: package))
    assert [price.basis for price in catalog.steps("m", "p")] == ["catalogue", "assumed"]
    package = Package(clause(starts_with="nvidia/nemotron-3-ultra"), **CHEAP)
    catalog = Catalog(home, catalogue=catalogue(lambda: package))
    ids = [price.basis for price in catalog.steps("nvidia/nemotron-3-ultra-550b", "p")]
    assert ids == ["family", "catalogue"]
