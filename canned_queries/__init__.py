"""The canned queries, one SQL file a figure; `hermes_telemetry.reports` loads them."""
