"""From sheets to HTML: all texts are escaped here, and numbers become one picture in SVG without script or network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from privacyfunnel.showing.sheet import Mark, Sheet

MOST_ROWS = 40
"""Rows of a table that are shown; the others are counted."""
LONGEST = 80
"""Letters of a text in a cell."""
WIDTH, HEIGHT, EDGE = 180, 16, 4
"""Of a mark in the picture, and what is left free at its ends, in pixels."""
STYLE = (
    "<style>.pf-sheet td,.pf-sheet th{text-align:right;padding:2px 8px}"
    ".pf-sheet td:first-child,.pf-sheet th:first-child{text-align:left}"
    ".pf-sheet p{margin:4px 0;max-width:60em}</style>"
)


def html_of(sheet: Sheet) -> str:
    """A sheet as a piece of a page."""
    lines = "".join(f"<p>{escape(line)}</p>" for line in sheet.lines if line)
    title = f"<p><strong>{escape(sheet.title)}</strong></p>"
    return f'<div class="pf-sheet">{STYLE}{title}{lines}{_table(sheet)}{_picture(sheet)}</div>'


def _table(sheet: Sheet) -> str:
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in sheet.headings)
    body = [f"<tr>{''.join(f'<td>{escape(_short(cell))}</td>' for cell in row)}</tr>" for row in sheet.rows[:MOST_ROWS]]
    left = len(sheet.rows) - MOST_ROWS
    more = f"<p>… and {left:,} more rows</p>" if left > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{more}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _picture(sheet: Sheet) -> str:
    """The marks of the rows that are shown, one below the other; nothing if there is nothing to draw."""
    marks = sheet.marks[:MOST_ROWS]
    scale = _scale(marks)
    if scale is None:
        return ""
    drawn = "".join(
        f'<g transform="translate(0 {HEIGHT * i})">{_mark(mark, scale)}'
        f'<text x="{WIDTH + EDGE}" y="12" font-size="11">{escape(_short(row[0]))}</text></g>'
        for i, (mark, row) in enumerate(zip(marks, sheet.rows, strict=False))
    )
    size = f'width="{3 * WIDTH}" height="{HEIGHT * len(marks)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-hidden="true">{drawn}</svg>'


def _scale(marks: Sequence[Mark]) -> tuple[float, float] | None:
    """The smallest and the largest number of all marks, with 0; nothing if there is nothing to draw."""
    numbers = [n for m in marks for n in (m.value, m.low, m.high, m.limit) if n is not None and math.isfinite(n)]
    if not numbers:
        return None
    low, high = min([0.0, *numbers]), max([0.0, *numbers])
    return (low, high) if high > low else None


def _mark(mark: Mark, scale: tuple[float, float]) -> str:
    """A bar up to the value, a line for the interval, a stroke at the limit."""
    parts = []
    zero = _place(0.0, scale)
    if mark.value is not None and math.isfinite(mark.value):
        at = _place(mark.value, scale)
        left, wide = min(zero, at), max(abs(at - zero), 1.0)
        parts.append(f'<rect x="{left:.1f}" y="4" width="{wide:.1f}" height="8" fill="#6a7fc1"/>')
    if mark.low is not None or mark.high is not None:
        ends = [_place(n, scale) if n is not None else end for n, end in ((mark.low, EDGE), (mark.high, WIDTH - EDGE))]
        parts.append(f'<path d="M{ends[0]:.1f} 8H{ends[1]:.1f}" stroke="#222" stroke-width="2"/>')
    if mark.limit is not None and math.isfinite(mark.limit):
        at = _place(mark.limit, scale)
        parts.append(f'<path d="M{at:.1f} 1V15" stroke="#c0392b" stroke-width="2"/>')
    return "".join(parts)


def _place(number: float, scale: tuple[float, float]) -> float:
    low, high = scale
    within = min(max(number, low), high)
    return EDGE + (WIDTH - 2 * EDGE) * (within - low) / (high - low)
