from support.ledger import HandMadeLedger


def test_models_by_cost_with_share_and_cache_hit_rate(ledger: HandMadeLedger) -> None:
    ledger.call("a", 2.0, model="large", tokens_in=100, tokens_out=7, cache_read_tokens=800)
    ledger.call("b", 1.0, model="large", tokens_in=50, tokens_out=3, cache_write_tokens=50)
    ledger.call("b", 1.0, model="small", tokens_in=9, tokens_out=1)
    # large: 800 of 100 + 50 fresh, 800 read, 50 written.
    assert ledger.ask("cost_by_model") == [
        ("large", 3.0, 0.75, 2, 150, 10, 0.8, 0),
        ("small", 1.0, 0.25, 1, 9, 1, 0.0, 0),
    ]


def test_a_model_without_a_price_has_no_cost_and_no_share(ledger: HandMadeLedger) -> None:
    ledger.call("a", 2.0, model="known")
    ledger.call("a", None, model="known")
    ledger.call("a", None, model="mystery")
    assert ledger.ask("cost_by_model", "model cost_usd share calls unpriced_calls") == [
        ("known", 2.0, 1.0, 2, 1),
        ("mystery", None, None, 1, 1),
    ]


def test_a_total_of_nothing_has_no_shares(ledger: HandMadeLedger) -> None:
    ledger.call("a", 0.0, model="free")
    assert ledger.ask("cost_by_model", "model cost_usd share") == [("free", 0.0, None)]


def test_a_model_without_tokens_has_no_hit_rate(ledger: HandMadeLedger) -> None:
    ledger.call("a", 1.0, tokens_in=None, tokens_out=None)
    assert ledger.ask("cost_by_model", "cache_hit_rate") == [(None,)]


def test_shares_are_of_the_window_and_the_profile(ledger: HandMadeLedger) -> None:
    ledger.run("a", profile="work")
    ledger.run("b", profile="home")
    ledger.call("a", 1.0, "2026-06-30T10:00", model="small")
    ledger.call("a", 3.0, "2026-06-30T10:00", model="large")
    ledger.call("a", 8.0, "2026-06-29T10:00", model="large")
    ledger.call("b", 16.0, "2026-06-30T10:00", model="large")
    assert ledger.ask("cost_by_model", "model share", since="2026-06-30", profile="work") == [
        ("large", 0.75),
        ("small", 0.25),
    ]


def test_an_empty_ledger_has_no_models(ledger: HandMadeLedger) -> None:
    assert ledger.ask("cost_by_model") == []
