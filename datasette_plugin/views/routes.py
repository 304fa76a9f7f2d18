"""Which address is answered by which view. What a reader finds at the top of each page is
`frame.TABS`.
"""

from __future__ import annotations

from . import budget, cost_review, overview, prune, saved

# Each answers its address and, with ".json" behind it, the same figures as JSON.
ROUTES = [
    (r"^/-/telemetry(?:\.json)?$", overview.overview),
    (r"^/-/telemetry/budget(?:\.json)?$", budget.budget),
    (r"^/-/telemetry/budget/chart\.svg$", budget.chart),
    (r"^/-/telemetry/forecast\.json$", budget.forecast),
    (r"^/-/telemetry/charts(?:\.json)?$", cost_review.cost_review),
    (r"^/-/telemetry/charts/review\.html$", cost_review.file),
    (r"^/-/telemetry/charts/saved_(?P<id>[0-9]{1,18})\.svg$", saved.picture),
    (r"^/-/telemetry/charts/(?P<name>\w+)\.svg$", cost_review.picture),
    (r"^/-/telemetry/charts/saved(?:\.json)?$", saved.save),
    (r"^/-/telemetry/charts/saved/(?P<id>[0-9]{1,18})/rename(?:\.json)?$", saved.rename),
    (r"^/-/telemetry/charts/saved/(?P<id>[0-9]{1,18})/delete(?:\.json)?$", saved.delete),
    (r"^/-/telemetry/prune(?:\.json)?$", prune.prune),
]
