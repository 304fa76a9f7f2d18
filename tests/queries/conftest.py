"""An empty ledger for each test, and one that is filled by chance."""

import random

import pytest

from support.ledger import HandMadeLedger
from support.ledger_fixtures import blank_ledger, ledger
from support.random_ledger import scatter

__all__ = ["blank_ledger", "ledger"]


@pytest.fixture(params=range(4))
def filled(request: pytest.FixtureRequest, ledger: HandMadeLedger) -> HandMadeLedger:
    scatter(ledger, random.Random(request.param))
    return ledger
