"""From tokens to dollars: prices, the chain that finds them, and what a call costs."""

from __future__ import annotations

from .catalog import Catalog, Estimate
from .cost import Usage, cost_of, usage_from_host
from .price import Price, Rates, Tier
from .tariffs import Tariffs

__all__ = [
    "Catalog",
    "Estimate",
    "Price",
    "Rates",
    "Tariffs",
    "Tier",
    "Usage",
    "cost_of",
    "usage_from_host",
]
