from collections.abc import Iterable

import pytest

from support.ledger import HandMadeLedger, stored


def at(second: int) -> str:
    """A time of the last day of June, in seconds after ten."""
    minutes, seconds = divmod(second, 60)
    return f"2026-06-30T{10 + minutes // 60}:{minutes % 60:02}:{seconds:02}"


def failures(ledger: HandMadeLedger, seconds: Iterable[int], session: str = "a") -> None:
    for second in seconds:
        ledger.failure(session, at(second))


def test_a_storm_with_all_that_is_known_of_it(ledger: HandMadeLedger) -> None:
    for second, session, turn, status in (
        (0, "a", "t", 429),
        (1, "a", "t", 503),
        (2, "a", "u", 429),
        (3, "b", None, None),
        (600, "b", "", 429),
    ):
        ledger.failure(session, at(second), turn, status_code=status, duration_ms=second)
    # Sessions a and b, turns t and u, 0 + 1 + 2 + 3 + 600 ms.
    assert ledger.ask("retry_storms") == [
        (stored(at(0)), 5, "m", "p", stored(at(600)), 2, 2, "429,503", 606)
    ]


@pytest.mark.parametrize(
    ("seconds", "given", "storms"),
    [
        # By default five within ten minutes.
        ([0, 1, 2, 3], {}, []),
        ([0, 1, 2, 3, 600], {}, [5]),
        ([0, 1, 2, 3, 601], {}, []),
        ([0, 1, 2, 3, 601], {"minutes": "11"}, [5]),
        ([0, 60, 120], {"failures": "3", "minutes": "2"}, [3]),
        ([0, 60, 121], {"failures": "3", "minutes": "2"}, []),
        ([0, 60], {"failures": "3"}, []),
        # One alone is a burst of one.
        ([0], {"failures": "1"}, [1]),
        # A storm goes on while the last attempts were close enough: each three are within a minute.
        ([0, 30, 60, 90, 120, 150], {"failures": "3", "minutes": "1"}, [6]),
        # 60 ends the first burst and opens the second; 61 would not be in the first.
        ([0, 30, 60, 90, 120], {"failures": "3", "minutes": "1"}, [5]),
        # 0 to 60 and 60 to 110 share an attempt, though 10 to 100 are too far apart.
        ([0, 10, 60, 100, 110], {"failures": "3", "minutes": "1"}, [5]),
        ([0, 30, 60, 900, 930, 960], {"failures": "3", "minutes": "1"}, [3, 3]),
        # What stands alone before, between and after is in none.
        (
            [0, 500, 501, 502, 1000, 1500, 1501, 1502, 2000],
            {"failures": "3", "minutes": "1"},
            [3, 3],
        ),
        ([0, 0, 0, 0, 0], {}, [5]),
    ],
)
def test_bursts(
    seconds: list[int], given: dict[str, str], storms: list[int], ledger: HandMadeLedger
) -> None:
    failures(ledger, seconds)
    assert [attempts for (attempts,) in ledger.ask("retry_storms", "attempts", **given)] == storms


def test_each_model_of_each_provider_storms_for_itself(ledger: HandMadeLedger) -> None:
    for number, (model, provider) in enumerate([("m", "p"), ("m", "q"), ("n", "p")] * 3):
        ledger.failure("a", at(number), model=model, provider=provider)
    assert ledger.ask("retry_storms", failures="4") == []
    assert ledger.ask("retry_storms", "started_at model provider attempts", failures="3") == [
        (stored(at(2)), "n", "p", 3),
        (stored(at(1)), "m", "q", 3),
        (stored(at(0)), "m", "p", 3),
    ]


def test_the_newest_first_and_without_a_status_none_is_named(ledger: HandMadeLedger) -> None:
    failures(ledger, range(5))
    for second in range(3000, 3005):
        ledger.failure("a", at(second), status_code=None)
    assert ledger.ask("retry_storms", "started_at status_codes") == [
        (stored(at(3000)), None),
        (stored(at(0)), "429"),
    ]


def test_a_storm_has_the_attempts_of_the_window_and_of_the_profile(ledger: HandMadeLedger) -> None:
    ledger.run("a", profile="work")
    failures(ledger, range(6))
    failures(ledger, range(6, 9), "b")
    assert ledger.ask("retry_storms", "attempts") == [(9,)]
    assert ledger.ask("retry_storms", "attempts", profile="work") == [(6,)]
    assert ledger.ask("retry_storms", "attempts", since="2026-06-30T10:00:02Z") == [(7,)]
    assert ledger.ask("retry_storms", "attempts", until="2026-06-30T10:00:04Z") == []
