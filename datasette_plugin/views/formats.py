"""How figures and names read in the templates: the filters that begin with `tm_`, and `name`.

Money is the one formatter's, `hermes_telemetry.money`; unknown is "–" everywhere.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeGuard

from hermes_telemetry.money import UNKNOWN, to_nano, usd

from ..charts.figure import short

if TYPE_CHECKING:
    from jinja2 import Environment

LONGEST_NAME = 40


def name(text: object, longest: int = LONGEST_NAME) -> str:
    """A name out of a ledger, which may hold anything, as a page has room for it."""
    return short(text, longest)


def number(count: float | None) -> str:
    """A count or a number of tokens: ``1,234``."""
    return UNKNOWN if not _is_known(count) else f"{count:,.0f}"


def share(part: float | None) -> str:
    """A share of 1 in per cent, with one decimal below ten: ``8.3 %``, ``87 %``, ``< 0.1 %``."""
    if not _is_known(part):
        return UNKNOWN
    percent = part * 100
    if 0 < percent < 0.05:
        return "< 0.1 %"
    # Neither nothing nor everything by rounding: 99.96 % is not all.
    digits = 0 if percent == 0 or 9.95 <= percent < 99.5 or percent >= 100 else 1
    return f"{min(percent, 99.9) if percent < 100 else percent:,.{digits}f} %"


def change(now: float | None, before: float | None) -> str:
    """Two amounts in USD, one after the other: ``+12 % (+$3.10)``.

    After nothing there is no per cent: ``+$3.10``. "–" when one of them is unknown.
    """
    if not (_is_known(now) and _is_known(before)):
        return UNKNOWN
    difference = to_nano(now - before)
    signed = f"{'+' if difference >= 0 else ''}{usd(difference)}"
    if before == 0:
        return signed
    return f"{100 * difference / before:+,.0f} % ({signed})"


def _is_known(number: float | None) -> TypeGuard[float]:
    """Infinite is as good as unknown: only a broken file holds such a number."""
    return number is not None and math.isfinite(number)


def register(env: Environment) -> None:
    """Make the filters known to the templates."""
    env.filters.update(tm_usd=usd, tm_number=number, tm_share=share, tm_change=change)
