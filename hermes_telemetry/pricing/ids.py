"""Model ids: which ones name the same model.

Vendors name the next model by adding a number or a word, so two ids name the same one only if what
one has more is a date, a version, a size or a build.
"""

from __future__ import annotations

import re

_DATE = r"20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
_VARIANT = re.compile(
    rf"""(?:
        -{_DATE}                                                  # -20260701
      | -20\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?    # -2026-07-01
      | -v\d+(?:\.\d+)*(?::\d+)?                                  # -v1.5, -v1:0
      | @\d+                                                      # @20260701, @001
      | -(?:\d+x)?a?\d+(?:\.\d+)?[bm]                             # -550b, -a55b, -8x7b
      | -(?:(?:nv|mx)?fp|bf|int)\d+ | -awq | -gptq | -gguf        # -fp8
      | -preview(?:-\d\d-(?:20)?\d\d)? | -latest                  # -preview-09-2025
    )*""",
    re.VERBOSE,
)
_TRAILING_DATE = re.compile(rf"-{_DATE}(?=:free$|$)")
FREE = ":free"


def is_variant(id: str, prefix: str) -> bool:
    """True if ``id`` is ``prefix`` or names a dated, sized or built variant of it (lower case)."""
    return id.startswith(prefix) and _VARIANT.fullmatch(id, len(prefix)) is not None


def undated(id: str) -> str:
    """The id without a trailing ``-YYYYMMDD``, also before ``:free``."""
    return _TRAILING_DATE.sub("", id)


def is_free_id(id: str) -> bool:
    """True for ids that say by themselves that calls cost nothing."""
    return id.lower().endswith(FREE)
