"""Budgets: limits, what is spent of them, what follows, and where spend goes."""
