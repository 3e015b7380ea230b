"""The drawings of the documentation, computed by the library: part of `make pictures`. They need no browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import pyarrow as pa
import vl_convert as vlc

import privacyfunnel as pf
from privacyfunnel.attacks.findings import findings
from privacyfunnel.cli.demonstration import ATTRIBUTES, HEIGHTS, PEOPLE, WEIGHTS
from privacyfunnel.population import people
from privacyfunnel.promises.limits import Limits

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
BLUE, ORANGE, GREY, INK = "#0b5cad", "#b8430a", "#6b7280", "#1f2933"
LOOK: dict[str, Any] = {
    "background": "white",
    "padding": 14,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {"labelFontSize": 13, "titleFontSize": 13, "titleFontWeight": "normal", "labelLimit": 260},
    "legend": {"labelFontSize": 13, "titleFontSize": 13, "orient": "top", "title": None},
}
PERCENT = alt.Axis(format="%", tickCount=6, grid=True)


def main() -> None:
    """Draw all of them."""
    table, bins = pa.table(people(PEOPLE, seed=1)), {"height": HEIGHTS, "weight": WEIGHTS}
    joint = pf.Joint.from_table(table, "obese", list(ATTRIBUTES), bins=bins)
    _save("beliefs", _beliefs(joint))
    _save("kinds", _kinds())
    _save("kept", _kept(joint))
    _save("choosing", _choosing())
    _save("row", _row())


def _save(name: str, drawn: Any) -> None:
    specification = drawn.configure(**LOOK).to_dict()
    (PICTURES / f"{name}.svg").write_text(vlc.vegalite_to_svg(specification), encoding="utf-8")


def _beliefs(joint: pf.Joint) -> Any:
    """How far the belief that one person is obese can move, by what somebody sees."""
    protocol = pf.optimise(joint, pf.LIP(0.2), objective="faithful")
    found = findings(protocol, joint, pf.certify(protocol, joint))
    share = float(joint.p_s[list(joint.secret_values).index("yes")])
    yes = joint.p_s_given_x[list(joint.secret_values).index("yes")]
    # The lifts of "yes" alone: those of "no" are what they are.
    channel = protocol.channel
    after = (channel * joint.p_x) @ yes / (channel @ joint.p_x)
    rows = [
        ("sees nothing", share, share),
        ("sees the original row", float(yes.min()), float(yes.max())),
        ("sees the released row", float(after.min()), float(after.max())),
    ]
    assert found.released.largest_lift <= 1.2215  # noqa: S101 - what the caption says
    names = [name for name, _, _ in rows]
    data = alt.Data(values=[{"who": who, "low": low, "high": high} for who, low, high in rows])
    x = alt.X("low:Q", title="belief that this person has the secret", scale=alt.Scale(domain=[0, 1]), axis=PERCENT)
    y = alt.Y("who:N", sort=names, title=None)
    color = alt.Color("who:N", legend=None, scale=alt.Scale(domain=names, range=[GREY, ORANGE, BLUE]))
    base = alt.Chart(data, width=430, height=130)
    bars = base.mark_bar(height=20).encode(x, y, alt.X2("high:Q"), color)
    ticks = base.mark_tick(thickness=3, height=24).encode(x, y, color)
    ends = (
        base.mark_text(align="left", dx=8, fontSize=13, color=INK)
        .encode(alt.X("high:Q"), y, alt.Text("label:N"))
        .transform_calculate(
            label="datum.low == datum.high ? format(datum.low, '.0%') : datum.high == 1 ? '' : "
            "format(datum.low, '.0%') + ' to ' + format(datum.high, '.0%')"
        )
    )
    return alt.layer(bars, ticks, ends)


def _kinds() -> Any:
    """What three kinds of promise allow at ε = 0.5, for a rare, an even and a common value of the secret."""
    kinds = {
        "lip": Limits(lower=0.5, upper=0.5),
        "ldp": Limits(spread=0.5),
        "pml": Limits(upper=0.5),
    }
    rows = [
        {
            "kind": kind,
            "before": f"{prior:.0%}",
            "low": limits.belief_range(prior)[0],
            "high": limits.belief_range(prior)[1],
        }
        for prior in (0.1, 0.5, 0.9)
        for kind, limits in kinds.items()
    ]
    x = alt.X("low:Q", title="belief afterwards, at ε = 0.5", scale=alt.Scale(domain=[0, 1]), axis=PERCENT)
    y = alt.Y("before:N", title="belief before", sort=["10%", "50%", "90%"])
    color = alt.Color("kind:N", sort=list(kinds), scale=alt.Scale(domain=list(kinds), range=[BLUE, ORANGE, GREY]))
    base = alt.Chart(alt.Data(values=rows), width=430, height=170)
    return base.mark_bar(height=11).encode(
        x, y, alt.X2("high:Q"), color, yOffset=alt.YOffset("kind:N", sort=list(kinds))
    )


def _kept(joint: pf.Joint) -> Any:
    """The share of cells that stay as they are in the best release to be counted, from ε = 0.05 to 2."""
    curve = pf.tradeoff(joint, pf.LIP, [0.05, 0.1, 0.2, 0.5, 1.0, 2.0], objective="faithful")
    kept = {point.epsilon: point.protocol.likeness for point in curve.points}
    rows = [{"ε": epsilon, "kept": like.cells_unchanged} for epsilon, like in kept.items() if like is not None]
    x = alt.X(
        "ε:Q", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(values=[row["ε"] for row in rows], format="~g")
    )
    y = alt.Y("kept:Q", title="cells that stay as they are", axis=PERCENT, scale=alt.Scale(domain=[0.9, 1]))
    base = alt.Chart(alt.Data(values=rows), width=430, height=190)
    return alt.layer(
        base.mark_line(color=BLUE, strokeWidth=2).encode(x, y),
        base.mark_point(color=BLUE, filled=True, size=60).encode(x, y),
    )


CHOICES = (
    ("one value is worse than others", "levels for values", "--epsilon ill=0.1,well=1"),
    ("how much anybody may be suspected", "belief", "--notion belief --epsilon ill=0.05"),
    ("several secrets, each for itself", "several secrets", "--secret income --secret illness"),
    ("several secrets and how they go together", "one joint secret", "--secret income,illness"),
    ("a number: near is not far", "borders", "--set ordered"),
    ("a column must be true in every row", "exact columns", "--keep-exact town"),
)
"""What matters, the promise for it, and how to ask for it."""


def _choosing() -> Any:
    """What is to be protected, and the promise that does it."""
    rows = [{"matters": a, "promise": b, "ask": c, "row": i} for i, (a, b, c) in enumerate(CHOICES)]
    base = alt.Chart(alt.Data(values=rows)).encode(y=alt.Y("row:O", axis=None))
    width = {"width": 640, "height": 240}
    parts = [
        base.mark_text(align="left", fontSize=14, color=INK).encode(x=alt.value(0), text="matters:N"),
        base.mark_text(align="left", fontSize=14, color=GREY).encode(x=alt.value(290), text=alt.value("→")),
        base.mark_text(align="left", fontSize=14, fontWeight="bold", color=BLUE).encode(
            x=alt.value(315), text="promise:N"
        ),
        base.mark_text(align="left", fontSize=12, font="monospace", color=ORANGE).encode(
            x=alt.value(450), text="ask:N"
        ),
    ]
    return alt.layer(*parts).properties(**width)


WAY = (
    ("", "name", "obese", "sex", "town", "height", "weight"),
    ("its role", "left out", "secret", "released", "released", "released", "released"),
    ("in your table", "Person 7", "yes", "female", "Clayton", "164", "91"),
    ("as it is read", "", "yes", "female", "Clayton", "[160, 165)", "[90, 100)"),
    ("as it is released", "", "", "female", "Clayton", "[160, 165)", "[70, 80)"),
)
"""A row of the table on its way to the release: weight is redrawn."""
REDRAWN = (4, 6)
"""The line and the place of the cell that is redrawn."""


def _row() -> Any:
    """The way of one row: what each column is, how it is read, and what is released."""
    cells = [
        {"line": i, "place": j, "text": text, "look": "head" if 0 in (i, j) else "new" if (i, j) == REDRAWN else "cell"}
        for i, line in enumerate(WAY)
        for j, text in enumerate(line)
    ]
    base = alt.Chart(alt.Data(values=cells), width=700, height=170).encode(
        x=alt.X("place:O", axis=None), y=alt.Y("line:O", axis=None), text="text:N"
    )
    ink = {"head": GREY, "cell": INK, "new": ORANGE}
    return alt.layer(
        *(
            base.transform_filter(alt.datum.look == look).mark_text(
                fontSize=14, color=color, fontWeight="bold" if look == "new" else "normal"
            )
            for look, color in ink.items()
        )
    )


if __name__ == "__main__":
    main()
