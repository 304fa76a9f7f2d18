"""Pictures of amounts as SVG, drawn on the server: no script, no font of their own.

Across they are measured in per cent and down in pixels, so that a picture takes the width that it
finds and its letters keep their size, on a telephone too. Colours stand in the elements, for a
picture that is loaded by itself sees no stylesheet.
"""

from __future__ import annotations

import math

from markupsafe import Markup

from hermes_telemetry.money import usd

from ..charts.style import MUTED

PALE = "#aeb6c2"
GOOD, WARN, BAD = "#1e6b34", "#8a5300", "#a8261c"

_FONT = "font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"


def element(tag: str, *content: str, **attributes: object) -> Markup:
    """An element whose texts are escaped; `stroke_width` is stroke-width, None is left out."""
    said = Markup().join(
        Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), value)
        for name, value in attributes.items()
        if value is not None
    )
    return Markup("<{0}{1}>{2}</{0}>").format(tag, said, Markup().join(content))


def text(words: str, x: float, y: float, **attributes: object) -> Markup:
    """Words at x per cent and y pixels (their baseline), in the ink of notes."""
    return element("text", words, **{"x": percent(x), "y": y, "fill": MUTED, **attributes})


def picture(
    key: str, height: int, title: str, about: str, *content: str, role: str = "img"
) -> Markup:
    """The whole picture, `height` pixels high, which reads as `title` and `about`.

    `key` makes its ids its own on a page. With links in it its `role` is group: what is in an img
    is nobody's to reach.
    """
    return element(
        "svg",
        element("title", title, id=f"tm-{key}-title"),
        element("desc", about, id=f"tm-{key}-about"),
        *content,
        xmlns="http://www.w3.org/2000/svg",
        width="100%",
        height=height,
        role=role,
        aria_labelledby=f"tm-{key}-title tm-{key}-about",
        font_size=12,
        style=_FONT,
    )


def percent(share: float) -> str:
    return f"{share:.3f}".rstrip("0").rstrip(".") + "%"


def round_steps(highest: float, about: int = 4) -> list[float]:
    """Amounts for the lines of an axis: 0, then 1, 2 or 5 times a power of ten apart.

    The last is the first that is not below `highest`.
    """
    if highest <= 0:
        return [0.0]
    rough = highest / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(n * power for n in (1, 2, 5, 10) if n * power >= rough * 0.999)
    return [n * step for n in range(math.ceil(highest / step * 0.9999) + 1)]


def axis_label(amount: float) -> str:
    """Money as an axis says it: whole dollars without cents."""
    return usd(amount).removesuffix(".00")
