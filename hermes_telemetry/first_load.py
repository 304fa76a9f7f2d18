"""The files that a telemetry home starts with: ``pricing.yaml`` and ``budget.yaml``, with what
could stand there in comments. They are the user's from then on: nothing here overwrites a file.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from .paths import pricing_path
from .whole_files import write_new

_log = logging.getLogger("hermes_telemetry")

NO_SETUP = "HERMES_TELEMETRY_NO_SETUP"
_MODE = 0o644

PRICING = """\
# Prices of your own, in USD per 1 million tokens. They go before the built-in prices and the lists
# that `hermes-telemetry pricing refresh` fetches; what you write here is never changed by a
# refresh. Changes hold at once. `hermes-telemetry pricing show MODEL` says which price counts.

models:
  # my-model: {input: 3, output: 15}
  # my-cached-model: {input: 3, output: 15, cache_read: 0.30, cache_write: 3.75}
  # my-own-hardware: {input: 0, output: 0}
  # Part of a subscription: nothing is billed for a call.
  # my-plan-model: {input: 0, output: 0, _subscription: true}
  # Another price of the same model at one provider:
  # my-routed-model: {input: 3, output: 15, providers: {nous: {input: 2, output: 10}}}
  # From 200,001 tokens of prompt on, the whole call at other rates:
  # my-long-model: {input: 1, output: 5, tiers: [{min_prompt_tokens: 200001, input: 2, output: 8}]}

families:
  # Every model whose name is this one with a date or a version behind it:
  # my-model: {input: 3, output: 15}

defaults:
  # Where a model has no cache rate of its own, this share of its input rate (else the whole of it):
  # cache_read_multiplier: 0.1
  # cache_write_multiplier: 1.25

refresh:
  # openrouter_url: http://127.0.0.1:8080/models
"""

_BUDGET = """\
# Spending limits in USD, per local day and month. Changes apply within a second.
# `hermes-telemetry budget` shows what is spent and reports errors in this file.

budgets:
  {limit}global: {{daily_usd: 5, monthly_usd: 100}}
  # Limits for each cron job (by id or name), sender or profile; "overrides" are for single ones:
  # per_cron_job: {{default: {{daily_usd: 1}}, overrides: {{nightly-report: {{daily_usd: 3}}}}}}
  # per_sender: {{default: {{daily_usd: 2}}}}
  # per_profile: {{default: {{monthly_usd: 50}}}}

# Shares of a limit: a notice is given at soft_pct, and the limit counts as reached at hard_pct.
thresholds: {{soft_pct: 0.80, hard_pct: 1.00}}

# When a limit is reached: "notify" gives a notice; "block" blocks tools and pauses cron jobs, too.
on_breach: {{mode: {on_breach}}}

# Estimated costs: "warn_only" never blocks because of them; "enforce" counts them like any other.
on_estimated: {{mode: warn_only}}

# Calls without a known price: "warn" reports how many there are; "block" treats one as a breach.
on_unpriced: {{mode: warn}}

# Time zone of days and months; default: that of this machine.
# timezone: Europe/Madrid
"""

BUDGET = _BUDGET.format(limit="", on_breach="block")
BUDGET_THAT_NOTIFIES = _BUDGET.format(limit="", on_breach="notify")
BUDGET_TO_FILL_IN = _BUDGET.format(limit="# ", on_breach="block")


def write_pricing(home: Path) -> bool:
    """A ``pricing.yaml`` without prices; False if there is one. Raises OSError."""
    return _write(pricing_path(home), PRICING)


def write_budget(home: Path, text: str) -> bool:
    """A ``budget.yaml``, one of the texts above; False if there is one. Raises OSError."""
    return _write(home / "budget.yaml", text)


def write_missing(home: Path) -> None:
    """Both files where they are missing, unless HERMES_TELEMETRY_NO_SETUP is 1: nobody has decided
    anything yet, so the budget only notifies. Never raises.
    """
    if os.environ.get(NO_SETUP) == "1":
        return
    try:
        if write_pricing(home):
            _log.info("%s: there was none, so one without prices is there now", pricing_path(home))
        if write_budget(home, BUDGET_THAT_NOTIFIES):
            _log.info("%s: there was none, so one that notifies is there now", home / "budget.yaml")
    except OSError as error:
        _log.warning("the first files of %s were not written: %s", home, error)


def _write(path: Path, text: str) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_new(path, text.encode(), _MODE)
