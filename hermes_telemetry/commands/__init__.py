"""The command line: one argparse tree for `hermes-telemetry …` and `hermes telemetry …`."""
