"""What the host hands to a hook, made safe: keyword arguments in, small frozen records out.

Payloads are untrusted: any value may be missing, of another type, huge, or an object that raises
when looked at. They are live objects of the host, so they are read once and never kept. This
package imports nothing else of the project.
"""

from .records import (
    UNKNOWN_SESSION,
    AnsweredCall,
    Attempt,
    FailedAttempt,
    SessionEnd,
    SessionStart,
    SubagentStart,
    SubagentStop,
    ToolCall,
    TurnStart,
    session_of,
    tells_turn_ids,
)
from .redaction import describe
from .values import identifier

__all__ = [
    "UNKNOWN_SESSION",
    "AnsweredCall",
    "Attempt",
    "FailedAttempt",
    "SessionEnd",
    "SessionStart",
    "SubagentStart",
    "SubagentStop",
    "ToolCall",
    "TurnStart",
    "describe",
    "identifier",
    "session_of",
    "tells_turn_ids",
]
