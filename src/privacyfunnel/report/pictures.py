"""Picture: a chart as SVG for wide and for narrow screens, with the same in words and as a table.

Vega draws with the colours below, which stand for variables of the page's style sheet: one picture serves light,
dark and paper. Nothing is fetched: vl-convert carries Vega with it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from privacyfunnel.errors import printable

WIDE, NARROW = 620, 300
"""Pixels between the margins of a page, on a desk and on a phone."""
INK, MUTED, GRID, BAND = "#010101", "#020202", "#030303", "#040404"
SERIES = ("#0a0a01", "#0a0a02", "#0a0a03", "#0a0a04", "#0a0a05")
VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", BAND: "band"} | {
    colour: f"series-{i + 1}" for i, colour in enumerate(SERIES)
}
LABEL_LETTERS = 34
"""What fits beside a chart on a phone; longer ones would leave no room for it."""
FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
"""The widths of these letters are alike, and the ones that vl-convert reckons with."""


@dataclass(frozen=True)
class Picture:
    """A chart, and the same for people who do not see it."""

    title: str
    words: str
    """What the chart shows, in a sentence or two."""
    wide: str
    narrow: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def chart(data: list[dict[str, Any]], **size: Any) -> Any:
    """An Altair chart of these records."""
    import altair

    return altair.Chart({"values": data}, **size)


def shortened(text: str) -> str:
    """A label that fits."""
    return text if len(text) <= LABEL_LETTERS else text[: LABEL_LETTERS - 1] + "…"


def picture(
    title: str,
    words: str,
    draw: Callable[[int], Any],
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> Picture:
    """The picture of the Altair chart draw(width), for both widths."""
    return Picture(
        title, words, to_svg(draw(WIDE)), to_svg(draw(NARROW)), tuple(headings), tuple(tuple(row) for row in rows)
    )


def to_svg(chart: Any) -> str:
    """An Altair chart as SVG that takes its colours from the page around it."""
    import vl_convert

    styled = chart.configure(
        background="transparent",
        font=FONT,
        aria=False,  # the figure around it speaks for it
        view={"stroke": None},
        axis={
            "labelColor": INK,
            "titleColor": INK,
            "domainColor": GRID,
            "tickColor": GRID,
            "gridColor": GRID,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
        },
        legend={"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12},
        text={"color": INK, "fontSize": 12},
    )
    svg = vl_convert.vegalite_to_svg(_drawable(styled.to_dict()), allowed_base_urls=[])
    for colour, variable in VARIABLES.items():
        svg = svg.replace(f'"{colour}"', f'"var(--{variable})"')
    return _without_names(svg)


def _drawable(spec: Any) -> Any:
    """The chart with texts that can be drawn: vl-convert ends the whole process at characters that XML has not."""
    if isinstance(spec, dict):
        return {key: _drawable(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [_drawable(value) for value in spec]
    return printable(spec) if isinstance(spec, str) else spec


def _without_names(svg: str) -> str:
    """The SVG without what would clash or be read aloud when several stand on one page."""
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<style>.*?</style>", "", svg, flags=re.DOTALL)
    own = f"p{zlib.crc32(svg.encode()):08x}"
    svg = re.sub(r'(id="|url\(#|href="#)(\w+)', rf"\g<1>{own}-\2", svg)
    return svg.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1).strip()
