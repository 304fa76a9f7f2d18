"""What a login link that does not work says: what to do, which Datasette leaves out."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from .refusals import refusal

if TYPE_CHECKING:
    from datasette import Response
    from datasette.app import Datasette

_PATH = "/-/auth-token"
_USED = (
    "This login link has already been used; it works once. If you are not logged in now, stop the"
    " server, start it again (hermes-telemetry serve, or datasette --root), and follow the login"
    " link that it prints."
)
_OTHER = (
    "This login link is not the one of the running server. Follow the link that the server printed"
    " when it was started last."
)


def refused(datasette: Datasette, request: Any, message: str) -> Awaitable[Response] | None:
    """The page for a login link that Datasette refuses with `message`; None for other pages."""
    if not request.path.endswith(_PATH):
        return None
    return refusal(datasette, 403, [_USED if "already" in message else _OTHER], "", request)
