"""Configuration that a user writes in YAML: read, followed as it changes, edited in place."""
