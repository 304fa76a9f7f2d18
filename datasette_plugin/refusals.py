"""How a request that is refused is answered: in the shape in which it was asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from datasette import Response

if TYPE_CHECKING:
    from datasette.app import Datasette


async def refusal(
    datasette: Datasette,
    status: int,
    errors: Sequence[str],
    shape: str,
    request: Any = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """`errors` as Datasette's JSON of an error (`shape` json), as a page ('') or as text."""
    said = {"ok": False, "error": "; ".join(errors), "errors": list(errors), "status": status}
    headers = {**(headers or {}), **cors(datasette)}
    if shape == "json":
        return Response.json(said, status=status, headers=headers)
    if shape:
        return Response.text(said["error"], status=status, headers=headers)
    templates = [f"{status}.html", "error.html"]
    html = await datasette.render_template(templates, {**said, "title": None}, request=request)
    return Response.html(html, status=status, headers=headers)


def cors(datasette: Datasette) -> dict[str, str]:
    """The headers by which pages of other sites may read an answer, where Datasette allows it."""
    headers: dict[str, str] = {}
    if datasette.cors:
        from datasette.utils import add_cors_headers

        add_cors_headers(headers)
    return headers
