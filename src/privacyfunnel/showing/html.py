"""From sheets to HTML: all texts are escaped here, and numbers become pictures in SVG without script or network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from privacyfunnel.showing.sheet import Grid, Mark, Sheet

MOST_ROWS = 40
"""Rows of a table that are shown; the others are counted."""
LONGEST = 80
"""Letters of a text in a cell."""
WIDTH, HEIGHT, EDGE = 180, 16, 4
"""Of the picture of a mark, and what is left free at its ends, in pixels."""
STYLE = (
    "<style>.pf-sheet td,.pf-sheet th{text-align:right;padding:2px 8px}"
    ".pf-sheet td:first-child,.pf-sheet th:first-child{text-align:left}"
    ".pf-sheet caption{text-align:left;font-weight:bold}.pf-sheet p{margin:4px 0;max-width:60em}</style>"
)


def html_of(sheet: Sheet) -> str:
    """A sheet as a piece of a page."""
    lines = "".join(f"<p>{escape(line)}</p>" for line in sheet.lines if line)
    grids = "".join(map(_table, sheet.grids))
    return f'<div class="pf-sheet">{STYLE}<p><strong>{escape(sheet.title)}</strong></p>{lines}{grids}</div>'


def _table(grid: Grid) -> str:
    scale = _scale(grid.marks)
    drawn = scale is not None
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in [*grid.headings, *([""] if drawn else [])])
    body = []
    for i, row in enumerate(grid.rows[:MOST_ROWS]):
        cells = "".join(f"<td>{escape(_short(cell))}</td>" for cell in row)
        picture = f"<td>{_picture(grid.marks[i], scale)}</td>" if scale is not None else ""
        body.append(f"<tr>{cells}{picture}</tr>")
    left = len(grid.rows) - MOST_ROWS
    more = f"<p>… and {left:,} more rows</p>" if left > 0 else ""
    return (
        f"<table><caption>{escape(grid.caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table>{more}"
    )


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _scale(marks: Sequence[Mark]) -> tuple[float, float] | None:
    """The smallest and the largest number of all marks, with 0; nothing if there is nothing to draw."""
    numbers = [n for m in marks for n in (m.value, m.low, m.high, m.limit) if n is not None and math.isfinite(n)]
    if not numbers:
        return None
    low, high = min([0.0, *numbers]), max([0.0, *numbers])
    return (low, high) if high > low else None


def _picture(mark: Mark, scale: tuple[float, float]) -> str:
    """A bar up to the value, a line for the interval, a stroke at the limit; its words are those of the row."""
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
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" role="img" aria-hidden="true">'
        f"{''.join(parts)}</svg>"
    )


def _place(number: float, scale: tuple[float, float]) -> float:
    low, high = scale
    within = min(max(number, low), high)
    return EDGE + (WIDTH - 2 * EDGE) * (within - low) / (high - low)
