"""The figures that this project must keep, each beside its limit.

    python benchmarks/acceptance.py [NAMES…] [--small] [--ledgers DIR] [--runs 5]

Prints one table; exits 1 if a figure misses its limit. Without NAMES every group is measured.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

os.environ["HERMES_TELEMETRY_NO_SETUP"] = "1"

import commandline
import crowds
import gates
import pages
import pruning
import queries
import recording
import sizes
import soak
import startup
from figures import HEADING, Group, Setting

GROUPS: dict[str, Group] = {
    "recording": recording.group,
    "crowds": crowds.group,
    "gate": gates.group,
    "queries": queries.group,
    "pruning": pruning.group,
    "size": sizes.group,
    "pages": pages.group,
    "soak": soak.group,
    "startup": startup.group,
    "commands": commandline.group,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help=f"groups of figures: {', '.join(GROUPS)}"
    )
    parser.add_argument(
        "--small", action="store_true", help="small ledgers, one run: shows that all of it runs"
    )
    parser.add_argument(
        "--ledgers",
        metavar="DIR",
        type=Path,
        default=Path(tempfile.gettempdir()) / "hermes-telemetry-benchmark",
        help="where ledgers are kept that are made once (default: %(default)s)",
    )
    parser.add_argument("--runs", type=int, default=5, help="of which the median is taken")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(GROUPS)
    if unknown:
        parser.error(f"no such figures: {', '.join(sorted(unknown))}")
    folder = asked.ledgers / ("small" if asked.small else "full")
    folder.mkdir(parents=True, exist_ok=True)
    # No file of the user's, such as a budget, is to be found where a ledger has none beside it.
    os.environ["HERMES_TELEMETRY_HOME"] = str(folder / "no home")
    missed = []
    print(HEADING)
    for name, group in GROUPS.items():
        if asked.names and name not in asked.names:
            continue
        # Beside the ledgers: a copy of a large one fits where it fits.
        with tempfile.TemporaryDirectory(dir=folder, prefix=f"{name}-") as scratch:
            setting = Setting(folder, Path(scratch), 1 if asked.small else asked.runs, asked.small)
            for figure in group(setting):
                print(figure, flush=True)
                missed += [] if figure.has_passed else [figure.name]
    print(f"{len(missed)} missed" if missed else "all kept")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
