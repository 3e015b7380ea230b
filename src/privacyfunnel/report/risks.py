"""Charts of what is left of the risk: how beliefs in the secret change, and what an attacker gains."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from privacyfunnel.report.measured import Belief, FromTable
from privacyfunnel.report.pictures import GRID, INK, MUTED, NARROW, SERIES, Picture, chart, picture, shortened
from privacyfunnel.report.words import example, known_words, percent, shown_attackers

SECRETS_SHOWN = 12
"""Lines of a chart that still fits on a screen; the most frequent values are shown."""
LOWEST_LIFT = 1e-3
"""A belief that falls to nothing is drawn at a thousandth: a logarithmic axis has no zero."""
ONE_PLACE = 1e-12
"""Factors whose logarithms span less are one dot."""
MOST_DOTS = 40
"""Places on a line where beliefs after seeing a row are gathered."""
SHOWN_OUTPUTS = 6
"""At either end; those in between change beliefs less."""


def beliefs_chart(measured: FromTable) -> Picture:
    """For every value of the secret, by which factors beliefs change, and which changes the promise allows."""
    some = sorted(measured.beliefs, key=lambda belief: -belief.prior)[:SECRETS_SHOWN]
    names = [f"{shortened(belief.secret)} ({percent(belief.prior)})" for belief in some]
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

    allowed = f"{PUBLISHED_ONLY} allows" if measured.aside else "allows"
    return picture(
        "By which factor beliefs change",
        "One line for each value of the secret, with the share of people who have it. The pale bar is what the promise "
        f"{allowed}, the dots are what the released rows really do; at the dashed line a row says nothing.",
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


def _gathered(belief: Belief, measured: FromTable) -> list[tuple[float, float]]:
    """The factors P(s|y) / P(s), near ones put together, with the share of rows that have them."""
    lift = belief.posterior / belief.prior
    logs = np.log(np.maximum(lift, LOWEST_LIFT))
    span = max(float(np.ptp(logs)), ONE_PLACE)
    place = np.minimum((MOST_DOTS * (logs - logs.min()) / span).astype(int), MOST_DOTS - 1)
    share = np.bincount(place, weights=measured.outputs, minlength=MOST_DOTS)
    middle = np.bincount(place, weights=measured.outputs * logs, minlength=MOST_DOTS)
    return [(float(np.exp(middle[i] / share[i])), float(share[i])) for i in np.flatnonzero(share)]


def outputs_chart(measured: FromTable) -> Picture:
    """From the belief before to the belief after, for the outputs that raise and lower one value of the secret most."""
    belief = example(measured.beliefs)
    order = np.argsort(-belief.posterior, kind="stable")
    if len(order) > 2 * SHOWN_OUTPUTS:
        order = np.concatenate([order[:SHOWN_OUTPUTS], order[-SHOWN_OUTPUTS:]])
    names = _distinct([shortened(measured.output_name(y)) for y in order])
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
    kept = "the promise keeps the dots in the shaded part"
    if measured.aside:
        kept = f"the shaded part is what the promise {PUBLISHED_ONLY} allows, so that dots may lie outside of it"
    return picture(
        f"Belief in “{shortened(belief.secret)}” before and after",
        f"From the belief before (dashed line) to the belief after seeing each released row (dot); {kept}.{shown}",
        draw,
        ("released row", "before", "after"),
        [(name, percent(row["before"]), percent(row["after"])) for name, row in zip(names, data, strict=True)],
    )


def _distinct(names: list[str]) -> list[str]:
    """Names that were cut short alike, kept apart by a number."""
    return [name if names.count(name) == 1 else f"{i + 1}. {name}" for i, name in enumerate(names)]


PUBLISHED_ONLY = "(which is about the published counts, not about these exact ones)"
SEEN = ("nothing more", "the released row", "the original row")


def attack_chart(measured: FromTable) -> Picture:
    """How often the best guess of the secret is right: with nothing, the released row, or the original row."""
    found = measured.findings
    guesses = [("nothing", found.blind_guess, found.released.best_guess, found.original.best_guess)]
    if measured.attack is not None:
        shown = shown_attackers(measured.attack.attackers)
        guesses = [(known_words(a), float(a.before), float(a.after), float(a.original)) for a in shown]
    names = [shortened(known) for known, *_ in guesses]
    data: list[dict[str, Any]] = [
        {"known": shortened(known), "seen": seen, "right": right}
        for known, *rights in guesses
        for seen, right in zip(SEEN, rights, strict=True)
    ]
    lines = [{"known": shortened(known), "low": min(rights), "high": max(rights)} for known, *rights in guesses]

    def draw(width: int) -> Any:
        inner = width - 170 if width != NARROW else width - 110
        scale = alt.Scale(zero=False, padding=10)
        y = alt.Y("known:N", sort=names, title=None if width == NARROW else "known beforehand")
        y = y.axis(labelLimit=130 if width != NARROW else 90)
        x = alt.X("right:Q", title="best guess of the secret is right", scale=scale).axis(format="%", tickCount=5)
        colours = alt.Color("seen:N", scale=alt.Scale(domain=SEEN, range=[MUTED, SERIES[0], SERIES[1]]), sort=None)
        shapes = alt.Shape(
            "seen:N", scale=alt.Scale(domain=SEEN, range=["diamond", "circle", "triangle-up"]), sort=None
        )
        legend = alt.Legend(orient="top", title="and seen:", columns=1 if width == NARROW else 3, symbolOpacity=1)
        rule = chart(lines, width=inner, height=alt.Step(26)).mark_rule(color=GRID, strokeWidth=3)
        marks = chart(data).mark_point(filled=True, size=110, opacity=1, strokeWidth=3)
        return alt.layer(
            rule.encode(y, alt.X("low:Q", scale=scale), alt.X2("high:Q")),
            marks.encode(y, x, colours.legend(legend), shapes.legend(legend)),
        )

    return picture(
        "What an attacker gains",
        "How often the best guess of somebody's secret is right. Each line is an attacker who knows some columns "
        "beforehand; the marks are what they see besides: nothing, the released row, or the original row.",
        draw,
        ("known beforehand", *(f"and seen: {seen}" for seen in SEEN)),
        [(known, *(percent(right) for right in rights)) for known, *rights in guesses],
    )
