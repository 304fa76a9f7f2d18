from support.ledger import HandMadeLedger, stored


def test_models_that_are_gone_the_latest_first(ledger: HandMadeLedger) -> None:
    ledger.gone("old", "2026-05-01T10:00")
    ledger.gone(
        *("new", "2026-06-01T10:00"),
        first_seen_at=stored("2026-05-20T10:00"),
        occurrences=3,
        provider="q",
        error_code=410,
        error_message="no such model",
    )
    new_since, new_last = stored("2026-05-20T10:00"), stored("2026-06-01T10:00")
    old = stored("2026-05-01T10:00")
    assert ledger.ask("models_unavailable") == [
        ("new", 3, "q", "gone", 410, new_since, new_last, None, "no such model"),
        ("old", 1, "p", "gone", 404, old, old, None, None),
    ]


def test_a_model_that_answered_later_is_there_again(ledger: HandMadeLedger) -> None:
    for model, answered in (
        ("back", "2026-06-02T10:00"),
        ("gone", "2026-05-31T10:00"),
        ("elsewhere", "2026-06-02T10:00"),
    ):
        ledger.gone(model, "2026-06-01T10:00")
        provider = "q" if model == "elsewhere" else "p"
        ledger.call("a", 0.5, answered, model=model, provider=provider)
        ledger.call("a", 0.5, "2026-05-01T10:00", model=model, provider=provider)
    assert ledger.ask("models_unavailable", "model status last_answered_at") == [
        ("back", "answers again", stored("2026-06-02T10:00")),
        ("elsewhere", "gone", None),
        ("gone", "gone", stored("2026-05-31T10:00")),
    ]


def test_without_a_provider_it_is_the_calls_without_one_that_answer(
    ledger: HandMadeLedger,
) -> None:
    for model, provider in (("null", None), ("empty", ""), ("elsewhere", "q")):
        ledger.gone(model, "2026-06-01T10:00", provider="")
        ledger.call("a", 0.5, "2026-06-02T10:00", model=model, provider=provider)
    ledger.gone("named", "2026-06-01T10:00", provider="p")
    ledger.call("a", 0.5, "2026-06-02T10:00", model="named", provider=None)
    assert sorted(ledger.ask("models_unavailable", "model status")) == [
        ("elsewhere", "gone"),
        ("empty", "answers again"),
        ("named", "gone"),
        ("null", "answers again"),
    ]


def test_an_empty_ledger_misses_no_model(ledger: HandMadeLedger) -> None:
    assert ledger.ask("models_unavailable") == []
