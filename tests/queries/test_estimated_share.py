import random

import pytest

from support.ledger import HandMadeLedger
from support.random_ledger import scatter

CLASSES = (
    "estimated_calls unpriced_calls assumed_calls free_calls declared_calls"
    " unexplained_zero_calls tariff_calls catalogue_calls family_calls builtin_calls listed_calls"
)


@pytest.mark.parametrize(
    ("basis", "usd", "column"),
    [
        ("free", 0.0, "free_calls"),
        ("declared", 0.0, "declared_calls"),
        ("listed", 0.5, "listed_calls"),
        ("builtin", 0.5, "builtin_calls"),
        ("family", 0.5, "family_calls"),
        ("tariff", 0.5, "tariff_calls"),
        ("tariff", 0.0, "tariff_calls"),
        ("catalogue", 0.5, "catalogue_calls"),
        ("assumed", 0.5, "assumed_calls"),
        (None, None, "unpriced_calls"),
        (None, 0.0, "unexplained_zero_calls"),
        (None, 0.5, "listed_calls"),
    ],
)
def test_a_call_is_of_the_class_of_its_price(
    ledger: HandMadeLedger, basis: str | None, usd: float | None, column: str
) -> None:
    price = None if basis is None else ledger.price(basis, input=1.0, output=2.0)
    ledger.call("a", usd, price=price, tokens_in=7)
    expected = tuple(int(name == column) for name in CLASSES.split())
    assert ledger.ask("estimated_share", CLASSES) == [expected]


def test_the_first_class_that_fits_counts(ledger: HandMadeLedger) -> None:
    free = ledger.price("free", input=0.0, output=0.0)
    assumed = ledger.price("assumed", input=1.0, output=2.0)
    ledger.call("a", 0.5, estimated=1, provider_assumed=1, price=assumed)
    ledger.call("a", None, estimated=1)
    ledger.call("a", 0.0, estimated=1, price=free)
    ledger.call("a", None, provider_assumed=1)
    ledger.call("a", 0.0, provider_assumed=1, price=free)
    # Three of them had no usage, one has no price, one is assumed.
    assert ledger.ask("estimated_share", f"calls {CLASSES}") == [(5, 3, 1, 1, *[0] * 8)]


def test_a_cost_is_a_lower_bound_by_every_call_without_one(ledger: HandMadeLedger) -> None:
    ledger.call("a", 0.5)
    ledger.call("a", None, estimated=1)
    ledger.call("a", None)
    assert ledger.ask("estimated_share", "cost_usd unpriced_calls cost_unpriced_calls") == [
        (0.5, 1, 2)
    ]


def test_a_cost_of_another_build_is_listed_without_a_record(ledger: HandMadeLedger) -> None:
    listed = ledger.price("listed", input=1.0, output=2.0)
    ledger.call("a", 0.5, price=listed)
    ledger.call("a", 0.25)
    assert ledger.ask("estimated_share", "listed_calls unrecorded_calls") == [(2, 1)]


def test_a_zero_for_no_tokens_needs_no_explanation(ledger: HandMadeLedger) -> None:
    """Three calls used nothing; each of the other four one kind of tokens."""
    for tokens_in, tokens_out in ((0, 0), (None, None), (0, None)):
        ledger.call("a", 0.0, tokens_in=tokens_in, tokens_out=tokens_out)
    kinds = ("tokens_in", "tokens_out", "cache_read_tokens", "cache_write_tokens")
    for kind in kinds:
        ledger.call("a", 0.0, **{**dict.fromkeys(kinds), kind: 1})
    # A price that nobody knows stays unknown with and without tokens.
    ledger.call("a", None, tokens_in=0, tokens_out=0)
    ledger.call("a", None, tokens_in=1, tokens_out=1)
    columns = "calls unexplained_zero_calls listed_calls unrecorded_calls unpriced_calls"
    assert ledger.ask("estimated_share", columns) == [(9, 4, 3, 3, 2)]


def test_providers_and_models_stand_apart(ledger: HandMadeLedger) -> None:
    builtin = ledger.price("builtin", input=1.0, output=2.0)
    ledger.call("a", 0.5, price=builtin, provider="p", model="m")
    ledger.call("a", 0.25, price=builtin, provider="p", model="m")
    ledger.call("a", 4.0, provider="q", model="m")
    ledger.call("a", None, provider="p", model="n")
    columns = "provider cost_usd model calls unpriced_calls builtin_calls listed_calls"
    assert ledger.ask("estimated_share", columns) == [
        ("q", 4.0, "m", 1, 0, 0, 1),
        ("p", 0.75, "m", 2, 0, 2, 0),
        ("p", None, "n", 1, 1, 0, 0),
    ]


def test_classes_add_up_to_calls(ledger: HandMadeLedger) -> None:
    chance = random.Random(5)
    scatter(ledger, chance)
    prices = [
        ledger.price(basis, input=1.0, output=2.0)
        for basis in ("free", "declared", "listed", "assumed", "tariff", "reported")
    ]
    for _ in range(200):
        ledger.call(
            "a",
            chance.choice([None, 0.0, 0.25]),
            price=chance.choice([None, *prices]),
            estimated=chance.choice([None, 0, 1]),
            provider_assumed=chance.choice([None, 0, 1]),
        )
    rows = ledger.ask("estimated_share", f"calls {CLASSES}", since="all")
    assert [sum(classes) for _, *classes in rows] == [calls for calls, *_ in rows]
    assert sum(calls for calls, *_ in rows) == 500


def test_nothing_said_means_thirty_days_and_every_profile(ledger: HandMadeLedger) -> None:
    ledger.run("a", profile="work")
    ledger.run("b", profile="home")
    ledger.call("a", 1.0, "2026-06-01T23:59:59.999999")
    ledger.call("a", 2.0, "2026-06-02T00:00")
    ledger.call("b", 4.0, "2026-06-02T00:00")
    assert ledger.ask("estimated_share", "cost_usd calls") == [(6.0, 2)]
    assert ledger.ask("estimated_share", "cost_usd calls", profile="work") == [(2.0, 1)]
    assert ledger.ask("estimated_share", "calls", since="all", until="2026-06-01") == [(1,)]


def test_an_empty_ledger_has_no_shares(ledger: HandMadeLedger) -> None:
    assert ledger.ask("estimated_share", since="all") == []
