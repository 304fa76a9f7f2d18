"""Budgets: what is configured."""
