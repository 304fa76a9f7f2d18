"""How an amount of money reads, everywhere it is shown."""

from __future__ import annotations

import math
from decimal import Decimal

UNKNOWN = "–"
BEYOND_ALL_SUMS = 1e100
"""USD that nobody has spent, though a foreign file may say so: sums of more may be infinite. The
same holds below zero.
"""
HIGHEST_LIMIT = 1e9
"""USD that a budget may allow: more is a typo, and limits nothing."""
_CENT = 0.01
# A token at a millionth of a dollar per million tokens.
_LAST_DIGIT = 12
_NANO = 9


def usd(amount: float | Decimal | None, unpriced: int = 0) -> str:
    """US dollars as text: ``$1.23``, ``$0.0042`` below a cent, ``–`` when nothing is known.

    ``unpriced`` is the number of calls in the amount that have no price: with any, the amount is
    a lower bound and reads ``≥ $1.23``.
    """
    # A file of another build may hold a text where an amount belongs.
    if not isinstance(amount, float | int | Decimal) or not math.isfinite(amount):
        return UNKNOWN
    # What is less is left of sums of floats that are the same amount.
    value = round(float(amount), _LAST_DIGIT)
    digits = 2
    if 0 < abs(value) < _CENT:
        # Two figures that count, however small: four decimals down to $0.0010, more below that.
        digits = max(4, 1 - math.floor(math.log10(abs(value))))
    sign = "-" if value < 0 else ""
    bound = "≥ " if unpriced else ""
    return f"{bound}{sign}${abs(value):,.{digits}f}"


def to_nano(difference: float) -> float:
    """A difference of amounts in USD to the nano-dollar, as the canned queries give theirs.

    What is less is left over by the arithmetic of floats: equal amounts do not differ.
    """
    return round(difference, _NANO)


def total(amount: float | Decimal | None, unpriced: int) -> str:
    """A total as it ends a list: ``$1.23``, or ``≥ $1.23 (3 unpriced)``."""
    text = usd(amount, unpriced)
    return f"{text} ({unpriced:,} unpriced)" if unpriced else text
