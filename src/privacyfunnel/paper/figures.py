"""Results as pictures (SVG and PNG, drawn without network), tables (Markdown) and raw rows (CSV)."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from privacyfunnel.paper.experiments import FIGURES, Row
from privacyfunnel.tables.writing import check_output, whole_file

WIDTH, HEIGHT = 250, 260
"""Pixels of a panel: two stand beside each other on a page."""
DRAWN_DIGITS = 6
"""Significant digits of what is drawn: more would only make the picture's file larger."""


@dataclass(frozen=True)
class Mean:
    """One series at one ε, over its draws. Times in seconds, information in nats."""

    figure: int
    series: str
    epsilon: float
    draws: int
    seconds: float
    slowest: float
    utility: float
    """Over the draws whose protocol kept its promise; NaN if there is none."""
    level: float
    """The largest true level."""
    refused: int
    """Draws whose protocol broke its promise."""


def means(rows: Iterable[Row]) -> list[Mean]:
    """The rows by figure, series and ε, in their order."""
    groups: dict[tuple[int, str, float], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.figure, row.series, row.epsilon), []).append(row)
    found = []
    for (figure, series, epsilon), group in groups.items():
        kept = [row.utility for row in group if not math.isnan(row.utility)]
        seconds = [row.seconds for row in group]
        found.append(
            Mean(
                figure,
                series,
                epsilon,
                len(group),
                statistics.fmean(seconds),
                max(seconds),
                statistics.fmean(kept) if kept else math.nan,
                max(row.level for row in group),
                len(group) - len(kept),
            )
        )
    return found


HEADINGS = ("protocols", "ε", "draws", "mean s", "slowest s", "I(X;Y), nats", "largest true level")


def cells(mean: Mean) -> tuple[str, ...]:
    """A row of a table, under HEADINGS."""
    utility = f"{mean.utility:.4f}" + (f" ({mean.refused} refused)" if mean.refused else "")
    times = f"{mean.seconds:.3g}", f"{mean.slowest:.3g}"
    return mean.series, f"{mean.epsilon:g}", str(mean.draws), *times, utility, f"{mean.level:.4g}"


def tables(rows: list[Row]) -> str:
    """Every figure's means as a Markdown table."""
    text = io.StringIO()
    text.write("# The paper's experiments: tables\n\nWritten by `funnel paper`. Times are CPU seconds. ")
    text.write("Where a method ran on fewer draws than others, its mean utility is over those draws only.\n")
    found = means(rows)
    for number in sorted({row.figure for row in rows}):
        text.write(f"\n## {FIGURES[number].title}\n\n")
        text.write(f"| {' | '.join(HEADINGS)} |\n|---|{'---:|' * (len(HEADINGS) - 1)}\n")
        text.writelines(f"| {' | '.join(cells(mean))} |\n" for mean in found if mean.figure == number)
    return text.getvalue()


def as_csv(rows: list[Row]) -> str:
    """The raw results; what is not known is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0].as_dict()), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if value != value else value for name, value in row.as_dict().items()} for row in rows)
    return text.getvalue()


def chart(rows: list[Row], figure: int) -> Any:
    """Computing time and I(X;Y) against ε: a point for every draw, a line through the means over all draws."""
    import altair as alt

    own = [row for row in rows if row.figure == figure]
    order = list(dict.fromkeys(row.series for row in own))
    points = [_point(row.series, row.epsilon, row.seconds, row.utility) for row in own]
    lines = [_point(mean.series, mean.epsilon, mean.seconds, mean.utility) for mean in _comparable(means(own))]
    legend = alt.Legend(orient="bottom", columns=2, labelLimit=400, title=None, symbolType="stroke", symbolOpacity=1)
    colour = alt.Color("series:N", sort=order, legend=legend, scale=alt.Scale(scheme="category10"))

    def panel(field: str, title: str, scale: Any, axis: Any) -> Any:
        across = alt.X("epsilon:Q", title="ε", scale=alt.Scale(zero=False, padding=12), axis=alt.Axis(tickCount=4))
        up = alt.Y(f"{field}:Q", title=title, scale=scale, axis=axis)
        dots = alt.Chart(alt.InlineData(points)).mark_circle(size=14, opacity=0.35, aria=False)
        line = alt.Chart(alt.InlineData(lines)).mark_line(aria=False, point=alt.OverlayMarkDef(size=30, aria=False))
        layers = [part.encode(x=across, y=up, color=colour) for part in (dots, line)]
        return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)

    decades = alt.Axis(values=[10.0**k for k in range(-4, 5)], format="~g")
    time = panel("seconds", "computing time, CPU s", alt.Scale(type="log"), decades)
    utility = panel("utility", "I(X;Y), nats", alt.Scale(zero=False), alt.Axis())
    return alt.hconcat(time, utility, title=FIGURES[figure].title).configure_view(stroke="#ddd")


def _comparable(found: list[Mean]) -> list[Mean]:
    """Without the utilities that are means over fewer draws than others at the same ε: those would mislead."""
    most = {mean.epsilon: max(other.draws for other in found if other.epsilon == mean.epsilon) for mean in found}
    return [mean if mean.draws == most[mean.epsilon] else replace(mean, utility=math.nan) for mean in found]


def _point(series: str, epsilon: float, seconds: float, utility: float) -> dict[str, Any]:
    """A datum of the picture; there is no point where there is no number."""
    known = None if math.isnan(utility) else float(f"{utility:.{DRAWN_DIGITS}g}")
    return {"series": series, "epsilon": epsilon, "seconds": float(f"{seconds:.{DRAWN_DIGITS}g}"), "utility": known}


def outputs(folder: Path, figures: Iterable[int]) -> list[Path]:
    """The files that `write` makes."""
    pictures = [folder / f"figure{number}.{kind}" for number in figures for kind in ("svg", "png")]
    return [*pictures, folder / "tables.md", folder / "results.csv"]


def write(rows: list[Row], folder: Path, *, force: bool = False) -> list[Path]:
    """Pictures, tables and raw rows in `folder`; each file appears whole or not at all."""
    numbers = sorted({row.figure for row in rows})
    content: dict[str, bytes] = {"tables.md": tables(rows).encode(), "results.csv": as_csv(rows).encode()}
    for number in numbers:
        drawn = chart(rows, number)
        for kind in ("svg", "png"):
            content[f"figure{number}.{kind}"] = _drawn(drawn, kind)
    paths = outputs(folder, numbers)
    for path in paths:
        check_output(path, force)
    for path in paths:
        with whole_file(path, force) as file:
            file.write(content[path.name])
    return paths


def _drawn(drawn: Any, kind: str) -> bytes:
    if kind == "svg":
        text = io.StringIO()
        drawn.save(text, format="svg")
        return text.getvalue().encode()
    picture = io.BytesIO()
    drawn.save(picture, format="png", scale_factor=2)
    return picture.getvalue()
