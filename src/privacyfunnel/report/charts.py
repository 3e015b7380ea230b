"""The charts of a report and of the studio. All numbers come from the library; here they only get a shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from privacyfunnel.optimiser.curve import Tradeoff
from privacyfunnel.promise import Notion, factor
from privacyfunnel.protocol import Block
from privacyfunnel.report.account import Attribute, Belief, Measured, text_of
from privacyfunnel.report.words import example, percent
from privacyfunnel.report.pictures import BAND, INK, MUTED, NARROW, SERIES, Picture, picture
from privacyfunnel.typing import Matrix

MOST_BARS = 20
MOST_CELLS = 20
"""Values of X whose rows and columns a heat map shows."""
MOST_SECRETS = 12
MOST_DOTS = 40
"""Places on a line where beliefs after seeing a row are gathered."""
NUMBERED_CELLS = 6
"""A heat map with at most so many columns says its numbers."""
SHOWN_OUTPUTS = 6
LABEL_LETTERS = 34
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 2, 1, 2])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")


def name_of(kind: type[Notion]) -> str:
    """How a kind of promise is called on a chart."""
    return kind.name.upper() if kind.name.isascii() and len(kind.name) <= 5 else kind.name


def tradeoff_chart(curves: Sequence[Tradeoff], chosen: tuple[float, float] | None = None) -> Picture:
    """The share of the information that is kept at every ε, for several kinds of promise, with certified bounds.

    `chosen` is (ε, share kept) of the protocol at hand.
    """
    names = [name_of(curve.kind) for curve in curves]
    data = [
        {
            "promise": name,
            "ε": point.epsilon,
            "kept": _share(point.utility, curve),
            "bound": _share(point.upper_bound, curve),
        }
        for name, curve in zip(names, curves, strict=True)
        for point in curve.points
    ]
    least = min([row["kept"] for row in data] + ([chosen[1]] if chosen else []), default=0.0)
    floor = np.floor(least * 10) / 10 if least > 0.3 else 0.0

    def draw(width: int) -> Any:
        base = alt.Chart(alt.Data(values=data), width=width - 60, height=260)
        x = alt.X("ε:Q", title="ε (larger: more is kept, and more may be learned)", scale=alt.Scale(nice=False))
        if width == NARROW:
            x = alt.X("ε:Q", title="ε", scale=alt.Scale(nice=False))
        scale = alt.Scale(domain=[floor, 1])
        color = alt.Color("promise:N", scale=alt.Scale(domain=names, range=list(SERIES)), sort=None).legend(
            orient="top", title=None, columns=3 if width == NARROW else 0, symbolSize=80, symbolOpacity=1
        )
        dash = alt.StrokeDash("promise:N", scale=alt.Scale(domain=names, range=list(DASHES)), sort=None)
        shape = alt.Shape("promise:N", scale=alt.Scale(domain=names, range=list(SHAPES)), sort=None)
        y = alt.Y("kept:Q", title="share of the information kept", scale=scale, axis=alt.Axis(format="%"))
        lines = base.mark_line(strokeWidth=2).encode(x, y, color, strokeDash=dash.legend(None))
        points = base.mark_point(filled=True, size=50, opacity=1).encode(x, y, color, shape)
        between = base.mark_rule(strokeWidth=5, opacity=0.3, clip=True).encode(
            x, alt.Y("kept:Q", scale=scale), alt.Y2("bound:Q"), color
        )
        layers = [between, lines, points]
        if chosen is not None:
            ring = alt.Chart(alt.Data(values=[{"ε": chosen[0], "kept": chosen[1]}]))
            layers.append(ring.mark_point(size=220, strokeWidth=2.5, color=INK, filled=False).encode(x, y))
        return alt.layer(*layers)

    ring = " The ring is the protocol at hand." if chosen is not None else ""
    return picture(
        "How much is kept at every ε",
        "Each mark is the best protocol of its kind. A pale bar above a mark shows what the certified bound leaves "
        f"open; no protocol lies above it.{ring}",
        draw,
        ("promise", "ε", "factor", "kept", "at most"),
        [
            (row["promise"], f"{row['ε']:g}", f"×{factor(row['ε'])}", percent(row["kept"]), percent(row["bound"]))
            for row in data
        ],
    )


def _share(information: float, curve: Tradeoff) -> float:
    return information / curve.entropy if curve.entropy else 1.0


def channel_chart(block: Block) -> Picture:
    """P(released as y | original x) for the outputs released most often, from the protocol alone."""
    most = np.sort(np.argsort(-block.marginal, kind="stable")[:MOST_CELLS])
    Q, inputs = _corner(block, most)
    names = [short(" · ".join(map(text_of, block.values[x]))) for x in inputs]
    numbered = [f"{i + 1}. {name}" for i, name in enumerate(names)]
    rest = 1 - Q.sum(axis=0)
    whole = len(most) == block.channel.n_outputs and len(inputs) == block.channel.n_inputs
    columns = [str(i + 1) for i in range(len(most))] + ([] if whole else ["…"])
    cells = np.vstack([Q, rest[None, :]]) if not whole else Q
    data = [
        {"original": numbered[i], "released": columns[k], "share": round(float(cells[k, i]), 6)}
        for i in range(len(inputs))
        for k in range(len(columns))
    ]

    def draw(width: int) -> Any:
        step = max(10, min(44, (width - 200) // len(columns))) if width != NARROW else max(7, 170 // len(columns))
        base = alt.Chart(alt.Data(values=data), width=alt.Step(step), height=alt.Step(max(18, min(step, 30))))
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
        ("original", *(f"released as {numbered[i]}" for i in range(len(most))), *([] if whole else ["as anything else"])),
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
    Q[row[entries.outputs[inside]], place[entries.inputs[inside]]] = entries.numerators[inside] / 2.0**32
    return Q, inputs


def attribute_chart(attribute: Attribute) -> Picture:
    """How often each value occurs, in the table (where that may be told) and as released."""
    before, after, labels = attribute.before, attribute.after, list(map(short, attribute.labels))
    order = np.arange(len(labels))
    if len(labels) > MOST_BARS:
        order = np.argsort(-(after if before is None else before), kind="stable")[: MOST_BARS - 1]
    rest = np.setdiff1d(np.arange(len(labels)), order)
    names = [labels[i] for i in order] + ([f"{len(rest)} more values"] if len(rest) else [])
    kinds = ["released"] if before is None else ["original", "released"]
    shares = [after] if before is None else [before, after]
    rows = [[float(part[i]) for i in order] + ([float(part[rest].sum())] if len(rest) else []) for part in shares]
    data = [
        {"value": names[i], "which": kind, "share": share}
        for kind, part in zip(kinds, rows, strict=True)
        for i, share in enumerate(part)
    ]

    def draw(width: int) -> Any:
        inner = (width - 150) if width == NARROW else 200
        base = alt.Chart(alt.Data(values=data), width=inner, height=alt.Step(9))
        colours = [MUTED, SERIES[0]][-len(kinds) :]
        color = alt.Color("which:N", scale=alt.Scale(domain=kinds, range=colours), sort=kinds)
        legend = None if len(kinds) == 1 else alt.Legend(orient="top", title=None)
        x = alt.X("share:Q", title="share of people").axis(format="%", tickCount=4)
        y = alt.Y("value:N", sort=names, title=None).axis(labelLimit=120)
        return base.mark_bar().encode(x, y, yOffset=alt.YOffset("which:N", sort=kinds), color=color.legend(legend))

    words = "How often each value is released."
    if before is not None:
        words = "How often each value occurs in the table and in the release."
    return picture(
        attribute.name,
        words,
        draw,
        ("value", *kinds),
        [(name, *(percent(part[i]) for part in rows)) for i, name in enumerate(names)],
    )


def beliefs_chart(measured: Measured) -> Picture:
    """For every value of the secret, by which factors beliefs change, and which changes the promise allows."""
    some = sorted(measured.beliefs, key=lambda belief: -belief.prior)[:MOST_SECRETS]
    names = [f"{short(belief.secret)} ({percent(belief.prior)})" for belief in some]
    dots = [
        {"secret": name, "lift": lift, "share": share}
        for name, belief in zip(names, some, strict=True)
        for lift, share in _gathered(belief, measured)
    ]
    bands = [
        {"secret": name, "low": max(belief.lowest / belief.prior, _lowest(dots)), "high": belief.highest / belief.prior}
        for name, belief in zip(names, some, strict=True)
    ]

    def draw(width: int) -> Any:
        y = alt.Y("secret:N", sort=names, title=None).axis(labelLimit=160 if width != NARROW else 100)
        scale = alt.Scale(type="log", nice=False, padding=12)
        x = alt.X("lift:Q", scale=scale, title="belief afterwards / belief before").axis(format="~r", tickCount=5)
        inner = (width - 190) if width != NARROW else width - 120
        wide = alt.Chart(alt.Data(values=bands), width=inner, height=alt.Step(34))
        band = wide.mark_bar(color=SERIES[0], opacity=0.18, height=22).encode(
            y, alt.X("low:Q", scale=scale), alt.X2("high:Q")
        )
        marks = alt.Chart(alt.Data(values=dots)).mark_circle(color=SERIES[0], opacity=0.75)
        size = alt.Size("share:Q", scale=alt.Scale(range=[12, 160], domain=[0, 1]), legend=None)
        same = alt.Chart(alt.Data(values=[{"lift": 1.0}])).mark_rule(color=INK, strokeDash=[3, 3]).encode(x)
        return alt.layer(band, same, marks.encode(y, x, size))

    return picture(
        "By which factor beliefs change",
        "One line for each value of the secret, with the share of people who have it. The pale bar is what the promise "
        "allows, the dots are what the released rows really do; at the dashed line a row says nothing.",
        draw,
        ("value of the secret", "before", "lowest afterwards", "highest afterwards", "promised to lie within"),
        [
            (
                belief.secret,
                percent(belief.prior),
                percent(float(belief.posterior.min())),
                percent(float(belief.posterior.max())),
                f"{percent(belief.lowest)} – {percent(belief.highest)}",
            )
            for belief in some
        ],
    )


def _lowest(dots: list[dict[str, Any]]) -> float:
    """A logarithmic axis has no zero: bands that reach it end at the lowest dot."""
    return min((dot["lift"] for dot in dots), default=1.0) / 2


def _gathered(belief: Belief, measured: Measured) -> list[tuple[float, float]]:
    """The factors P(s|y) / P(s), near ones put together, with the share of rows that have them."""
    lift = belief.posterior / belief.prior
    logs = np.log(np.maximum(lift, 1e-3))  # a belief that falls to nothing is drawn at a thousandth
    span = max(float(np.ptp(logs)), 1e-12)
    place = np.minimum((MOST_DOTS * (logs - logs.min()) / span).astype(int), MOST_DOTS - 1)
    share = np.bincount(place, weights=measured.outputs, minlength=MOST_DOTS)
    middle = np.bincount(place, weights=measured.outputs * logs, minlength=MOST_DOTS)
    return [(float(np.exp(middle[i] / share[i])), float(share[i])) for i in np.flatnonzero(share)]


def outputs_chart(measured: Measured) -> Picture:
    """From the belief before to the belief after, for the outputs that raise and lower one value of the secret most."""
    belief = example(measured.beliefs)
    order = np.argsort(-belief.posterior, kind="stable")
    if len(order) > 2 * SHOWN_OUTPUTS:
        order = np.concatenate([order[:SHOWN_OUTPUTS], order[-SHOWN_OUTPUTS:]])
    names = _distinct([short(measured.output_names[y]) for y in order])
    data = [
        {"released": name, "before": belief.prior, "after": float(belief.posterior[y])}
        for name, y in zip(names, order, strict=True)
    ]
    within = [{"low": belief.lowest, "high": belief.highest}]

    def draw(width: int) -> Any:
        inner = (width - 240) if width != NARROW else width - 130
        base = alt.Chart(alt.Data(values=data), width=inner, height=alt.Step(24))
        scale = alt.Scale(zero=False, padding=8)
        y = alt.Y("released:N", sort=names, title=None).axis(labelLimit=220 if width != NARROW else 110)
        x = alt.X("after:Q", scale=scale, title="belief").axis(format="%", tickCount=5)
        band = alt.Chart(alt.Data(values=within)).mark_rect(color=SERIES[0], opacity=0.12)
        prior = alt.Chart(alt.Data(values=data[:1])).mark_rule(color=INK, strokeDash=[3, 3])
        return alt.layer(
            band.encode(alt.X("low:Q", scale=scale), alt.X2("high:Q")),
            prior.encode(alt.X("before:Q", scale=scale)),
            base.mark_rule(color=SERIES[0], strokeWidth=2).encode(y, x, alt.X2("before:Q")),
            base.mark_circle(color=SERIES[0], size=80, opacity=1).encode(y, x),
        )

    shown = "" if len(belief.posterior) == len(order) else " Shown are the rows that raise it most and lower it most."
    return picture(
        f"Belief in “{short(belief.secret)}” before and after",
        f"From the belief before (dashed line) to the belief after seeing each released row (dot); the promise keeps "
        f"the dots in the shaded part.{shown}",
        draw,
        ("released row", "before", "after"),
        [(name, percent(row["before"]), percent(row["after"])) for name, row in zip(names, data, strict=True)],
    )


def _distinct(names: list[str]) -> list[str]:
    """Names that were cut short alike, kept apart by a number."""
    return [name if names.count(name) == 1 else f"{i + 1}. {name}" for i, name in enumerate(names)]


def attack_chart(measured: Measured) -> Picture:
    """How often the best guess of the secret is right: for nobody in particular, after and before sanitising."""
    found = measured.findings
    data = [
        {"seen": "nothing", "right": found.blind_guess},
        {"seen": "the released row", "right": found.released.best_guess},
        {"seen": "the original row", "right": found.original.best_guess},
    ]
    names = [str(row["seen"]) for row in data]

    def draw(width: int) -> Any:
        base = alt.Chart(alt.Data(values=data), width=width - 170, height=alt.Step(34))
        y = alt.Y("seen:N", sort=names, title=None)
        x = alt.X("right:Q", title="best guess of the secret is right", scale=alt.Scale(domain=[0, 1]))
        colours = alt.Color("seen:N", scale=alt.Scale(domain=names, range=[MUTED, SERIES[0], SERIES[1]]), legend=None)
        bars = base.mark_bar(height=20).encode(y, x.axis(format="%", tickCount=5), colours)
        text = base.mark_text(align="left", dx=4).encode(y, x, text=alt.Text("right:Q", format=".1%"))
        return bars + text

    return picture(
        "What an attacker gains",
        "How often the best guess of somebody's secret is right, for an attacker who sees nothing of them, their "
        "released row, or their original row.",
        draw,
        ("seen", "best guess is right"),
        [(str(row["seen"]), percent(float(str(row["right"])))) for row in data],
    )


def short(text: str) -> str:
    """A label that fits."""
    return text if len(text) <= LABEL_LETTERS else text[: LABEL_LETTERS - 1] + "…"
