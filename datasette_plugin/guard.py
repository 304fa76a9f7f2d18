"""A server on loopback answers to this machine's own names alone.

A page on the web can have its own host name resolve to 127.0.0.1 and then read, with the reader's
browser, what answers there: DNS rebinding. Such a request carries the page's name as its Host. One
on another address is left alone: names that lead there are its owner's business.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from . import ledgers
from .refusals import refusal

if TYPE_CHECKING:
    from datasette.app import Datasette

# A name or an address in brackets, and perhaps a port.
_HOST = re.compile(r"(?P<name>\[[^\[\]]*\]|[^:\[\]]*)(?::[0-9]*)?")
_SETTING = "allowed_hosts"
_ANY = "*"


async def refused(
    datasette: Datasette, scope: dict[str, Any], send: Callable[[dict[str, Any]], Awaitable[None]]
) -> bool:
    """Answer 421 to a request for a host that is not ours; False for others.

    Only where a ledger is attached: what else Datasette serves is not ours to guard.
    """
    if not ledgers.of(datasette).items() or not _is_loopback(*(scope.get("server") or ("",))[:1]):
        return False
    allowed = _allowed(datasette)
    strange = [host for host in _hosts(scope) if not _answers_to(host, allowed)]
    if not strange:
        return False
    why = (
        f"This server is on a loopback address and does not answer to the host {strange[0]!r}."
        f" If that name is yours, put it into the plugin setting {_SETTING}:"
        ' {"plugins": {"hermes-telemetry": {"allowed_hosts": ["..."]}}}'
    )
    shape = "json" if scope["path"].endswith(".json") else "text"
    await (await refusal(datasette, 421, [why], shape)).asgi_send(send)
    return True


def _hosts(scope: dict[str, Any]) -> list[str]:
    # None at all is HTTP/1.0, which no browser speaks: such a request was not made by a page.
    return [
        value.decode("latin-1").strip()
        for name, value in scope["headers"]
        if name.lower() == b"host" and value.strip()
    ]


def _allowed(datasette: Datasette) -> set[str]:
    setting = (datasette.plugin_config("hermes-telemetry") or {}).get(_SETTING) or ()
    names: Iterable[Any] = [setting] if isinstance(setting, str) else setting
    return {_name(str(name)) or "" for name in names}


def _answers_to(host: str, allowed: set[str]) -> bool:
    name = _name(host)
    if _ANY in allowed or name in allowed:
        return True
    # No resolver looks up names below .localhost elsewhere, by RFC 6761.
    return name is not None and (
        name == "localhost" or name.endswith(".localhost") or _is_loopback(name)
    )


def _name(host: str) -> str | None:
    """The name of a host without port and final dot, in small letters; None for what is none."""
    match = _HOST.fullmatch(host)
    return match["name"].strip("[]").removesuffix(".").lower() if match else None


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(ip, "ipv4_mapped", None)
    return bool((mapped or ip).is_loopback)
