"""The host's hooks that the recorder listens to (``plugin.yaml`` lists them too)."""

from __future__ import annotations

HOOKS = (
    "on_session_start",
    "pre_llm_call",
    "pre_api_request",
    "post_api_request",
    "api_request_error",
    "pre_tool_call",
    "post_tool_call",
    "post_llm_call",
    "subagent_start",
    "subagent_stop",
    "on_session_end",
    "on_session_finalize",
    "on_session_reset",
)
