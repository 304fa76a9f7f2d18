from decimal import Decimal

import pytest

from hermes_telemetry.money import to_nano, total, usd


@pytest.mark.parametrize(
    ("amount", "unpriced", "text"),
    [
        (1.234, 0, "$1.23"),
        (1234.5, 0, "$1,234.50"),
        (Decimal("1.23"), 0, "$1.23"),
        (0, 0, "$0.00"),
        (0.01, 0, "$0.01"),
        (0.0042, 0, "$0.0042"),
        (0.000012, 0, "$0.000012"),
        (-1.5, 0, "-$1.50"),
        (-0.0042, 0, "-$0.0042"),
        (1.234, 3, "≥ $1.23"),
        (0.0042, 1, "≥ $0.0042"),
        (0.0, 1, "≥ $0.00"),
        (None, 0, "–"),
        (None, 3, "–"),
        (float("nan"), 0, "–"),
        (float("inf"), 0, "–"),
        # What two sums of the same floats differ by.
        (9.5e-17, 0, "$0.00"),
        (-9.5e-17, 0, "$0.00"),
        (1e-12, 0, "$0.0000000000010"),
    ],
)
def test_money_reads(amount: float | Decimal | None, unpriced: int, text: str) -> None:
    assert usd(amount, unpriced) == text


def test_a_difference_is_told_to_the_nano_dollar() -> None:
    # 0.1 + 0.2 is 0.30000000000000004 in floats.
    assert to_nano(0.1 + 0.2 - 0.3) == 0.0
    assert to_nano(0.3 - 0.5) == -0.2
    assert to_nano(1.000000002 - 1.0) == 2e-9


def test_a_total_says_how_many_calls_it_misses() -> None:
    assert total(1.234, 0) == "$1.23"
    assert total(1.234, 1234) == "≥ $1.23 (1,234 unpriced)"
    assert total(None, 3) == "– (3 unpriced)"
