"""A ledger made by hand."""

from support.ledger_fixtures import blank_ledger, ledger

__all__ = ["blank_ledger", "ledger"]
