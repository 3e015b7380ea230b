"""Charts of what is left of the risk: how beliefs in the secret change, and what an attacker gains."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from privacyfunnel.report.account import Belief, Measured
from privacyfunnel.report.pictures import INK, MUTED, NARROW, SERIES, Picture, chart, picture, short
from privacyfunnel.report.words import example, percent

MOST_SECRETS = 12
MOST_DOTS = 40
"""Places on a line where beliefs after seeing a row are gathered."""
SHOWN_OUTPUTS = 6


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
        wide = chart(bands, width=inner, height=alt.Step(34))
        band = wide.mark_bar(color=SERIES[0], opacity=0.18, height=22).encode(
            y, alt.X("low:Q", scale=scale), alt.X2("high:Q")
        )
        marks = chart(dots).mark_circle(color=SERIES[0], opacity=0.75)
        size = alt.Size("share:Q", scale=alt.Scale(range=[12, 160], domain=[0, 1]), legend=None)
        same = chart([{"lift": 1.0}]).mark_rule(color=INK, strokeDash=[3, 3]).encode(x)
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
    names = _distinct([short(measured.output_name(y)) for y in order])
    data: list[dict[str, Any]] = [
        {"released": name, "before": belief.prior, "after": float(belief.posterior[y])}
        for name, y in zip(names, order, strict=True)
    ]
    within = [{"low": belief.lowest, "high": belief.highest}]

    def draw(width: int) -> Any:
        inner = (width - 240) if width != NARROW else width - 130
        base = chart(data, width=inner, height=alt.Step(24))
        scale = alt.Scale(zero=False, padding=8)
        y = alt.Y("released:N", sort=names, title=None).axis(labelLimit=220 if width != NARROW else 110)
        x = alt.X("after:Q", scale=scale, title="belief").axis(format="%", tickCount=5)
        band = chart(within).mark_rect(color=SERIES[0], opacity=0.12)
        prior = chart(data[:1]).mark_rule(color=INK, strokeDash=[3, 3])
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
    data: list[dict[str, Any]] = [
        {"seen": "nothing", "right": found.blind_guess},
        {"seen": "the released row", "right": found.released.best_guess},
        {"seen": "the original row", "right": found.original.best_guess},
    ]
    names = [str(row["seen"]) for row in data]

    def draw(width: int) -> Any:
        base = chart(data, width=width - 170, height=alt.Step(34))
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
