"""The trees of sessions, walked step by step in plain Python."""

from collections.abc import Mapping


def root_of(session: str, parents: Mapping[str, str]) -> str | None:
    """The top of a session's tree; None when the way up leads into a cycle."""
    seen = {session}
    while session in parents:
        session = parents[session]
        if session in seen:
            return None
        seen.add(session)
    return session
