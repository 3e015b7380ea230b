"""The charts of a report and of the studio. All numbers come from the library; here they only get a shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from privacyfunnel.optimiser.tradeoff import Tradeoff
from privacyfunnel.promises.notion import Notion, factor
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.protocol import Objective
from privacyfunnel.report.account import Attribute
from privacyfunnel.report.curves import shares
from privacyfunnel.report.measured import text_of
from privacyfunnel.report.pictures import BAND, INK, MUTED, NARROW, SERIES, Picture, chart, picture, shortened
from privacyfunnel.report.words import percent, points_off
from privacyfunnel.typing import Matrix

MOST_BARS = 20
"""Values that a chart names; the rest are one bar, or labels would be too small to read."""
VALUES_ON_MAP = 20
"""Values of X whose rows and columns a heat map shows."""
NUMBERED_CELLS = 6
"""A heat map with at most so many columns says its numbers."""
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 2, 1, 2])
"""Pixels of line and gap for each kind of promise, for people who do not tell colours apart."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")


class Kept(NamedTuple):
    """What a chart of curves shows, in words."""

    title: str
    axis: str
    words: str


KEPT: dict[Objective, Kept] = {
    "faithful": Kept(
        "How many cells stay as they are at every ε",
        "share of cells (near values in part)",
        "Of releases whose rows can be counted as they stand. ",
    ),
    "information": Kept("How much information is kept at every ε", "share of the information kept", ""),
}


def name_of(kind: type[Notion]) -> str:
    """How a kind of promise is called on a chart."""
    return kind.name.upper() if kind.name.isascii() and len(kind.name) <= 5 else kind.name


def tradeoff_chart(curves: Sequence[Tradeoff], chosen: tuple[float, float] | None = None) -> Picture:
    """The share of cells or of the information that is kept at every ε, for kinds of promise, with certified bounds.

    `chosen` is (ε, share kept) of the protocol at hand.
    """
    what = KEPT["information" if any(curve.objective == "information" for curve in curves) else "faithful"]
    names = [name_of(curve.kind) for curve in curves]
    data: list[dict[str, Any]] = [
        {
            "promise": name,
            "ε": point.epsilon,
            "kept": kept,
            "bound": most,
        }
        for name, curve in zip(names, curves, strict=True)
        for point, (kept, most) in zip(curve.points, shares(curve), strict=True)
    ]
    least = min([row["kept"] for row in data] + ([chosen[1]] if chosen else []), default=0.0)
    floor = np.floor(least * 10) / 10 if least > 0.3 else 0.0

    def draw(width: int) -> Any:
        base = chart(data, width=width - 60, height=260)
        title = "ε" if width == NARROW else "ε (larger: more is kept, and more may be learned)"
        x = alt.X("ε:Q", title=title, scale=alt.Scale(type="log", nice=False, padding=8))
        x = x.axis(values=sorted({row["ε"] for row in data}), labelOverlap=True, format="~g")
        scale = alt.Scale(domain=[floor, 1])
        color = alt.Color("promise:N", scale=alt.Scale(domain=names, range=list(SERIES)), sort=None).legend(
            orient="top", title=None, columns=3 if width == NARROW else 0, symbolSize=80, symbolOpacity=1
        )
        dash = alt.StrokeDash("promise:N", scale=alt.Scale(domain=names, range=list(DASHES)), sort=None)
        shape = alt.Shape("promise:N", scale=alt.Scale(domain=names, range=list(SHAPES)), sort=None)
        y = alt.Y("kept:Q", title=what.axis, scale=scale, axis=alt.Axis(format="%"))
        lines = base.mark_line(strokeWidth=2).encode(x, y, color, strokeDash=dash.legend(None))
        points = base.mark_point(filled=True, size=50, opacity=1).encode(x, y, color, shape)
        between = base.mark_rule(strokeWidth=5, opacity=0.3, clip=True).encode(
            x, alt.Y("kept:Q", scale=scale), alt.Y2("bound:Q"), color
        )
        layers = [between, lines, points]
        if chosen is not None:
            ring = chart([{"ε": chosen[0], "kept": chosen[1]}])
            layers.append(ring.mark_point(size=220, strokeWidth=2.5, color=INK, filled=False).encode(x, y))
        return alt.layer(*layers)

    ring = " The ring is the protocol at hand." if chosen is not None else ""
    return picture(
        what.title,
        f"{what.words}Each mark is the best protocol of its kind. A pale bar above a mark shows what the certified "
        f"bound leaves open; no protocol lies above it.{ring}",
        draw,
        ("promise", "ε", "factor", "kept", "at most"),
        [
            (row["promise"], f"{row['ε']:g}", f"×{factor(row['ε'])}", percent(row["kept"]), percent(row["bound"]))
            for row in data
        ],
    )


def channel_chart(block: Block) -> Picture:
    """P(released as y | original x) for the outputs released most often, from the protocol alone."""
    most = np.sort(np.argsort(-block.marginal, kind="stable")[:VALUES_ON_MAP])
    Q, inputs = _corner(block, most)
    names = [shortened(" · ".join(map(text_of, block.values[x]))) for x in inputs]
    numbered = [f"{i + 1}. {name}" for i, name in enumerate(names)]
    rest = 1 - Q.sum(axis=0)
    whole = len(most) == block.channel.n_outputs and len(inputs) == block.channel.n_inputs
    columns = [str(i + 1) for i in range(len(most))] + ([] if whole else ["…"])
    cells = np.vstack([Q, rest[None, :]]) if not whole else Q
    data: list[dict[str, Any]] = [
        {"original": numbered[i], "released": columns[k], "share": round(float(cells[k, i]), 6)}
        for i in range(len(inputs))
        for k in range(len(columns))
    ]

    def draw(width: int) -> Any:
        step = max(10, min(44, (width - 200) // len(columns))) if width != NARROW else max(7, 170 // len(columns))
        base = chart(data, width=alt.Step(step), height=alt.Step(max(18, min(step, 30))))
        x = alt.X("released:N", sort=columns, title="released as").axis(orient="top", labelAngle=0, labelOverlap=True)
        y = alt.Y("original:N", sort=numbered, title=None).axis(labelLimit=190 if width != NARROW else 110)
        opacity = alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.03, 1]), legend=None)
        boxes = base.mark_rect(color=SERIES[0], stroke=BAND, strokeWidth=1).encode(x, y, opacity)
        if len(columns) > NUMBERED_CELLS or width == NARROW:
            return boxes
        text = base.mark_text().encode(
            x,
            y,
            alt.Text("share:Q", format=".0%"),
            color=alt.condition("datum.share > 0.55", alt.value(BAND), alt.value(INK)),
        )
        return boxes + text

    some = "" if whole else f" Shown are the {len(most)} of {block.channel.n_outputs:,} outputs released most often."
    return picture(
        f"What becomes of {', '.join(block.attributes)}",
        "Each line is an original value; along it, the darker a box, the more often the value is released as the "
        f"numbered one.{some}",
        draw,
        (
            "original",
            *(f"released as {numbered[i]}" for i in range(len(most))),
            *([] if whole else ["as anything else"]),
        ),
        [(numbered[i], *(percent(float(share)) for share in cells[:, i])) for i in range(len(inputs))],
    )


def _corner(block: Block, outputs: Any) -> tuple[Matrix, Any]:
    """The channel's entries for some outputs and the inputs they are written as."""
    inputs = block.labels[outputs]
    row = np.full(block.channel.n_outputs, -1)
    row[outputs] = np.arange(len(outputs))
    place = np.full(block.channel.n_inputs, -1)
    place[inputs] = np.arange(len(inputs))
    entries = block.channel
    inside = (row[entries.outputs] >= 0) & (place[entries.inputs] >= 0)
    Q = np.zeros((len(outputs), len(inputs)))
    Q[row[entries.outputs[inside]], place[entries.inputs[inside]]] = entries.numerators[inside] / UNIT
    return Q, inputs


def unchanged_chart(attributes: Sequence[Attribute], *, about: bool = False) -> Picture:
    """The expected share of cells of each column that stay as they are; `about` says that it is known roughly."""
    shown = attributes[:MOST_BARS]
    names, shares = [shortened(a.name) for a in shown], [float(a.unchanged or 0.0) for a in shown]
    data: list[dict[str, Any]] = [
        {"column": name, "share": share, "said": percent(share)} for name, share in zip(names, shares, strict=True)
    ]

    def draw(width: int) -> Any:
        base = chart(data, width=width - (200 if width != NARROW else 150), height=alt.Step(26))
        y = alt.Y("column:N", sort=names, title=None).axis(labelLimit=140 if width != NARROW else 100)
        x = alt.X("share:Q", title="cells that stay as they are", scale=alt.Scale(domain=[0, 1])).axis(
            format="%", tickCount=4
        )
        bars = base.mark_bar(color=SERIES[0]).encode(x, y)
        said = base.mark_text(align="left", dx=4).encode(x, y, alt.Text("said:N"))
        return bars + said

    return picture(
        "Cells that stay as they are",
        ("About how " if about else "How ") + "often the released value of a column is the original one.",
        draw,
        ("column", "cells unchanged"),
        [(row["column"], row["said"]) for row in data],
    )


def attribute_chart(attribute: Attribute, countable: bool = False, counts: str = "table") -> Picture:
    """How often each value occurs, in the table (where that may be told) and as released.

    `countable` says that both are the same, since released rows can be counted as they stand; without the table, that
    they are those of the `counts` it was fitted on.
    """
    before, after, labels = attribute.before, attribute.after, list(map(shortened, attribute.labels))
    if countable and before is not None:
        after = before  # up to 2⁻³⁰, which could round to another digit
    order = np.arange(len(labels))
    if len(labels) > MOST_BARS:
        order = np.argsort(-(after if before is None else before), kind="stable")[: MOST_BARS - 1]
    rest = np.setdiff1d(np.arange(len(labels)), order)
    names = [labels[i] for i in order] + ([f"{len(rest)} more values"] if len(rest) else [])
    kinds = ["released"] if before is None else ["original", "released"]
    shares = [after] if before is None else [before, after]
    rows = [[float(part[i]) for i in order] + ([float(part[rest].sum())] if len(rest) else []) for part in shares]
    data: list[dict[str, Any]] = [
        {"value": names[i], "which": kind, "share": share}
        for kind, part in zip(kinds, rows, strict=True)
        for i, share in enumerate(part)
    ]

    def draw(width: int) -> Any:
        inner = (width - 150) if width == NARROW else 200
        base = chart(data, width=inner, height=alt.Step(9 if len(kinds) > 1 else 18))
        colours = [MUTED, SERIES[0]][-len(kinds) :]
        color = alt.Color("which:N", scale=alt.Scale(domain=kinds, range=colours), sort=kinds)
        legend = None if len(kinds) == 1 else alt.Legend(orient="top", title=None)
        x = alt.X("share:Q", title="share of people").axis(format="%", tickCount=4)
        y = alt.Y("value:N", sort=names, title=None).axis(labelLimit=120)
        return base.mark_bar().encode(x, y, yOffset=alt.YOffset("which:N", sort=kinds), color=color.legend(legend))

    if before is None:
        about = f"occurs, in the {counts} and in the release alike" if countable else "is released"
        words = f"About how often each value {about}, as the protocol says."
    else:
        off = points_off(attribute.miscounted or 0.0)
        alike = "the same" if countable else f"off by up to {off} points"
        words = f"How often each value occurs in the table and, on average, in the release: {alike}."
    return picture(
        attribute.name,
        words,
        draw,
        ("value", *kinds),
        [(name, *(percent(part[i]) for part in rows)) for i, name in enumerate(names)],
    )
