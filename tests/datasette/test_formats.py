"""How figures read on the pages."""

import pytest

from hermes_telemetry_datasette.views import formats


@pytest.mark.parametrize(
    ("part", "text"),
    [(None, "–"), (0, "0 %"), (0.0004, "< 0.1 %"), (0.0006, "0.1 %"), (0.083, "8.3 %")]
    + [(0.0994, "9.9 %"), (0.0999, "10 %"), (0.874, "87 %"), (0.996, "99.6 %")]
    + [(0.99999, "99.9 %"), (1, "100 %"), (1.234, "123 %")],
)
def test_a_share_is_neither_nothing_nor_all_by_rounding(part: float | None, text: str) -> None:
    assert formats.share(part) == text


@pytest.mark.parametrize(
    ("now", "before", "text"),
    [
        (28.1, 25.0, "+12 % (+$3.10)"),
        (25.0, 28.1, "-11 % (-$3.10)"),
        (3.1, 0, "+$3.10"),
        (0, 0, "+$0.00"),
        (2.0, 2.0, "+0 % (+$0.00)"),
        (0, 2.0, "-100 % (-$2.00)"),
        (None, 2.0, "–"),
        (2.0, None, "–"),
        (1.0042, 1.0, "+0 % (+$0.0042)"),
        (0.1 + 0.2, 0.3, "+0 % (+$0.00)"),
    ],
)
def test_a_change_says_per_cent_and_money(
    now: float | None, before: float | None, text: str
) -> None:
    assert formats.change(now, before) == text


def test_a_number_has_its_thousands() -> None:
    assert [formats.number(count) for count in (None, 0, 1234567)] == ["–", "0", "1,234,567"]
