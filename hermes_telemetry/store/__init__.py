"""The ledger: one SQLite file. The only SQL outside ``canned_queries/`` is in here."""
