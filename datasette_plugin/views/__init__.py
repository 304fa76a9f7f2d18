"""The pages under /-/telemetry: one module each, on the frame of `frame.py`; see `routes.py`."""
