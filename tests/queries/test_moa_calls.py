from support.ledger import HandMadeLedger, stored


def test_calls_of_presets_newest_first(ledger: HandMadeLedger) -> None:
    ledger.call("a", 0.5, "2026-06-30T10:00", "t1", moa_preset="council", model="opus")
    ledger.call(
        *("b", None, "2026-06-30T11:00"),
        moa_preset="duo",
        tokens_in=7,
        tokens_out=5,
        cache_read_tokens=3,
        cache_write_tokens=2,
        latency_ms=900,
    )
    ledger.call("a", 0.25, "2026-06-30T12:00")
    ledger.call("a", 0.25, "2026-06-30T12:00", moa_preset="")
    assert ledger.ask("moa_calls") == [
        (stored("2026-06-30T11:00"), None, "duo", "m", "p", "b", None, 7, 5, 3, 2, 900, 1),
        (stored("2026-06-30T10:00"), 0.5, "council", "opus", "p", "a", "t1", 0, 0, 0, 0, None, 0),
    ]


def test_nothing_said_means_thirty_days_and_every_profile(ledger: HandMadeLedger) -> None:
    ledger.run("a", profile="work")
    ledger.run("b", profile="home")
    for session, usd, at in (("a", 1.0, "2026-06-01T23:59"), ("a", 2.0, "2026-06-02T00:00")):
        ledger.call(session, usd, at, moa_preset="council")
    ledger.call("b", 4.0, "2026-06-02T00:00", moa_preset="council")
    assert ledger.ask("moa_calls", "at_least_usd") == [(4.0,), (2.0,)]
    assert ledger.ask("moa_calls", "at_least_usd", profile="work") == [(2.0,)]
    assert ledger.ask("moa_calls", "at_least_usd", since="all", until="2026-06-01") == [(1.0,)]


def test_of_more_than_a_thousand_calls_the_newest_are_shown(ledger: HandMadeLedger) -> None:
    for number in range(1001):
        minute = f"2026-06-30T{number // 60:02}:{number % 60:02}"
        ledger.call("a", float(number), minute, moa_preset="council")
    rows = ledger.ask("moa_calls", "at_least_usd")
    assert len(rows) == 1000
    assert (rows[0], rows[-1]) == ((1000.0,), (1.0,))


def test_an_empty_ledger_has_no_presets(ledger: HandMadeLedger) -> None:
    assert ledger.ask("moa_calls", since="all") == []
