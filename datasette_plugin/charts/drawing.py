"""Draws specs as SVG and PNG with vl-convert, the extra `charts`; without it nothing is drawn.

Its engine takes half a second to start, then holds the interpreter's lock while it draws: hence
one worker for the whole process, one chart at a time, and every drawing kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from datasette.app import Datasette

MISSING = "Charts are not drawn here: pip install 'hermes-telemetry[charts]'"
# A review has 16 pictures of about 20 kB beside specs of about 10 kB.
_KEPT = 256
_PNG_SCALE = 2

_WORKER = ThreadPoolExecutor(1, thread_name_prefix="chart-drawing")


@cache
def engine() -> Any | None:
    """The module that draws; None where it is not installed, or not for this machine."""
    try:
        return import_module("vl_convert")
    except ImportError:
        return None


class Drawings:
    """What was offered to be drawn, and what of it is, for one Datasette; the oldest goes first.

    A reader's browser asks for a picture after its page, by the name that the page was given: what
    is drawn then is what the page says, whatever was recorded meanwhile.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], str | Future[bytes]] = OrderedDict()

    def offer(self, database: str, spec: str) -> str:
        """The name under which the spec can be had by whoever may see `database`."""
        name = hashlib.sha256(spec.encode()).hexdigest()[:32]
        self._kept.setdefault((database, name), spec)
        self._kept.move_to_end((database, name))
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return name

    async def svg(self, database: str, name: str) -> bytes | None:
        """The picture of that name; None when it is not known (any more).

        Raises ValueError when it cannot be drawn.
        """
        known = self._kept.get((database, name))
        if known is None:
            return None
        self._kept.move_to_end((database, name))
        if isinstance(known, str):
            known = self._kept[database, name] = _WORKER.submit(svg, known)
        # Shielded: a reader who leaves must not take the picture from the others who wait for it.
        return await asyncio.shield(asyncio.wrap_future(known))

    async def draw(self, database: str, spec: str) -> tuple[str, bytes]:
        """The name and the picture of a spec. Raises as `svg`."""
        name = self.offer(database, spec)
        drawn = await self.svg(database, name)
        assert drawn is not None
        return name, drawn


_OF: WeakKeyDictionary[Datasette, Drawings] = WeakKeyDictionary()


def of(datasette: Datasette) -> Drawings:
    """The drawings of a Datasette."""
    return _OF.setdefault(datasette, Drawings())


def svg(spec: str) -> bytes:
    """The spec as an SVG file. Raises ValueError when it cannot be drawn."""
    drawn: str = _engine().vegalite_to_svg(spec, allowed_base_urls=[])
    return drawn.encode()


def png(spec: str, title: str, subtitle: str) -> bytes:
    """The spec as a PNG file with its title, two pixels for each of CSS. Raises as `svg`."""
    titled = json.loads(spec) | {"title": {"text": title, "subtitle": subtitle}}
    drawn: bytes = _engine().vegalite_to_png(
        json.dumps(titled), scale=_PNG_SCALE, allowed_base_urls=[]
    )
    return drawn


def _engine() -> Any:
    found = engine()
    if found is None:
        raise ValueError(MISSING)
    return found
