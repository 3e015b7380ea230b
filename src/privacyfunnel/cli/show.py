"""How results look on a terminal."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Table

from privacyfunnel.attacks.findings import NOISE, NOTHING, SMALL_GAP, Findings, Leakage, best_words
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import printable
from privacyfunnel.numeric.plain import finite
from privacyfunnel.promises.notion import Notion, factor
from privacyfunnel.protocols.everything import uncovered_words
from privacyfunnel.protocols.kept import Likeness
from privacyfunnel.protocols.miscounting import counting_words, miscount
from privacyfunnel.protocols.protocol import Objective, Protocol
from privacyfunnel.protocols.readers import errors_data, share_errors
from privacyfunnel.protocols.untold import Untold
from privacyfunnel.tables.counting import Counted

if TYPE_CHECKING:
    from privacyfunnel.optimiser.program.state import Progress as SearchProgress

LINE_LETTERS = 100
"""Letters in a line where nobody says how wide it is: our tables fit, and a file reads the same on every machine."""
FEW_SECRETS = 4
"""Values of a secret for which searches take seconds; with 5 to 9 they took 16 to 77."""
WIDE_GAP = 0.01
"""A gap that is worth a word, as a share of the information in the attributes, or of cells."""
LITTLE = 0.01
"""A share of the information that is next to nothing."""
TINY_EPSILON = 0.01
"""An ε at which beliefs change by at most a hundredth."""
HUGE = 3.0
"""An ε at which beliefs may change twentyfold: who had 1 in 20 may become certain."""
CONTROLS = re.compile("[\x7f-\x9f]")
"""What JSON leaves as it is, and terminals obey."""


class _Screen(Console):
    """A console on which texts are only shown: names from files may hold anything, and move nothing."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            lines = [printable(line) for line in segment.text.split("\n")]
            yield segment if segment.control else Segment("\n".join(lines), segment.style)


def value(label: Any) -> str:
    """A value of a column in words: 4 for 4.0, as tables write whole numbers.

    >>> value(4.0), value(4.5), value("4.0"), value(None)
    ('4', '4.5', '4.0', '(missing)')
    """
    if label is None:
        return "(missing)"
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def console() -> Console:
    """Standard output: as wide as the terminal, plain when piped."""
    return _Screen(highlight=False, width=None if sys.stdout.isatty() else LINE_LETTERS)


def _watched() -> bool:
    """Whether somebody sees progress: standard error is a terminal, and not closed."""
    return sys.stderr is not None and sys.stderr.isatty()


def as_json(content: dict[str, Any]) -> None:
    """One JSON object on standard output, with the next command if there is one; what is infinite is null."""
    text = json.dumps(finite({"next": None, **content}), ensure_ascii=False, default=str)
    sys.stdout.write(CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def columns_table(counted: Counted) -> Table:
    """What was done to each column."""
    table = Table(title="How each column is read", title_justify="left", header_style="bold")
    for heading in ("column", "part", "values", "what was done"):
        table.add_column(heading, justify="right" if heading == "values" else "left", overflow="fold")
    for fitted, part in [*((f, "secret") for f in counted.secrets), *((f, "released") for f in counted.attributes)]:
        table.add_row(escape(fitted.column.name), part, str(len(fitted.column)), escape(fitted.notice))
    return table


def columns_data(counted: Counted) -> list[dict[str, Any]]:
    """The same for machines. The values of the secret are not listed."""
    return [
        {"column": f.column.name, "part": part, "values": len(f.column), "done": f.notice}
        for part, group in (("secret", counted.secrets), ("released", counted.attributes))
        for f in group
    ]


def dropped_lines(counted: Counted) -> list[str]:
    """Which columns are not used, and which of them only because they look like identifiers."""
    lines, own = [], counted.identifiers
    others = [name for name in counted.dropped if name not in own]
    if others:
        lines.append(f"Not used: {', '.join(others)}.")
    if own:
        lines.append(f"Left out: {', '.join(own)}, since nearly every row has its own; --columns takes it anyway.")
    return lines


def findings_table(found: Findings) -> Table:
    """What somebody learns of the secret: from nothing, from the original rows, from the released ones."""
    table = Table(title="What a row tells about the secret", title_justify="left", header_style="bold")
    for heading in ("seen", "bits about it", "belief grows at most", "belief falls at most", "best guess right"):
        table.add_column(heading, justify="left" if heading == "seen" else "right")
    table.add_row("nothing", "0", "×1", "×1", f"{found.blind_guess:.1%}")
    table.add_row("the original row", *_leakage(found.original))
    table.add_row("the released row", *_leakage(found.released))
    return table


def _leakage(seen: Leakage) -> tuple[str, str, str, str]:
    falls = f"×{seen.smallest_lift:.3g}" if seen.smallest_lift > 0 else "to nothing"
    return f"{seen.leakage_bits:.3g}", f"×{seen.largest_lift:.4g}", falls, f"{seen.best_guess:.1%}"


def kept_line(found: Findings) -> str:
    """What is kept, in a line."""
    kept = f"Kept: {found.kept_bits:.3f} of {found.entropy_bits:.3f} bits"
    share = f"{found.kept_share:.1%} of the information in the attributes"
    return f"{kept} ({share}); certified: {best_words(found.kept_share, found.gap_share)}."


def kept_lines(protocol: Protocol, found: Findings) -> list[str]:
    """What is kept, in a line or two: cells and information of a faithful release, information of another."""
    like = protocol.likeness
    if like is None:
        return [kept_line(found)]
    cells = f"Unchanged: {like.cells_unchanged:.1%} of all cells, every cell of {like.rows_unchanged:.1%} of all rows"
    kept = f"Kept: {found.kept_bits:.3f} of {found.entropy_bits:.3f} bits"
    return [f"{cells}; {_best_cells(like)}.", f"{kept} ({found.kept_share:.1%} of the information in the attributes)."]


def _best_cells(like: Likeness) -> str:
    """How many cells the best release might leave, rounded up, in the units in which the best was sought."""
    most = min(1.0, math.ceil(like.fidelity_bound * 1000 - NOISE) / 1000)
    best = f"certified: no release with this promise whose rows can be counted has more than {most:.1%}"
    if most == 1 and like.fidelity < 1 - SMALL_GAP:
        best = "no bound was found on how many might be"
    if abs(like.fidelity - like.cells_unchanged) < SMALL_GAP:
        return best
    units = "weighted, " if like.weights else ""
    return f"{units}with near values in part, and rare combinations as they are read, {like.fidelity:.1%}, {best}"


def about_table(promise: Notion) -> list[str]:
    """What the table of findings is about, where the promise does not speak of the secret as it stands there."""
    if promise.simple:
        return []
    return [
        "The table is about single values of the secret, or of all secrets together; the promise is about what it "
        "names, and may allow more of these."
    ]


def seldom_meant(protocol: Protocol, found: Findings, wished: bool) -> list[str]:
    """Results that are seldom meant: next to nothing released, or everything, or an ε that was found at an end."""
    lines, epsilon = [], protocol.notion.epsilon
    if found.kept_share < LITTLE:
        lines.append(
            f"Next to nothing is released: rows tell {found.kept_share:.2%} of what the original ones tell. A weaker "
            "promise, or other columns, may be worth more."
        )
    elif found.kept_share > 1 - NOTHING:
        lines.append("Everything is released: rows as they are read keep this promise, and drawing changes none.")
    if wished and epsilon < TINY_EPSILON:
        lines.append(
            f"ε = {epsilon:g} is next to nothing: so much can be kept while rows say next to nothing about the secret. "
            "More can be had at a small price: a larger keep, or --epsilon 0.1." + _untold(protocol)
        )
    elif wished and epsilon > HUGE:
        lines.append(
            f"ε = {epsilon:g} hardly protects: beliefs may change by a factor {factor(epsilon)}. A smaller keep, "
            "coarser or other columns would protect more."
        )
    return lines


def _untold(protocol: Protocol) -> str:
    if protocol.objective == "faithful":
        return ""
    return (
        " What is kept of the information need not be what readers ask for: see what funnel estimate tells them before "
        "you publish, or use --set objective=faithful."
    )


@dataclass(frozen=True)
class Ending:
    """How a search ended: by itself, or because time was up or somebody pressed Ctrl-C."""

    seconds: float
    stopped: bool

    def words(self, protocol: Protocol, gap: float) -> str:
        """What may be done about a gap that it left, as a share; nothing if that is small."""
        if gap <= WIDE_GAP:
            return ""
        of = "cells" if protocol.objective == "faithful" else "the information"
        if self.stopped:
            return "More might be kept: a longer --time-limit may find it; with fewer or coarser columns it is surer."
        return (
            f"Up to {gap:.1%} of {of} more might be kept. The search ended by itself after {self.seconds:.1f} s, so a "
            "longer --time-limit will hardly find it; fewer or coarser columns may show that there is none."
        )


def untold_line(found: Untold | None) -> str:
    """That readers cannot estimate some shares, if so."""
    if found is None or not found.untold:
        return ""
    return (
        f"Untold: of {found.shares:,} shares of single values, readers cannot hope to estimate {found.untold:,}: "
        "released rows hardly tell these values apart. Release fewer or coarser columns, or --set objective=faithful."
    )


def large_domain_line(joint: Joint) -> str:
    """That only large counts were told, of a domain that is too large for noise in every cell or by choice."""
    told = 0.0 if joint.noise is None else joint.noise.share_told
    return (
        f"The columns have {joint.combinations:,} combinations of values. Noise was added only where there are people, "
        f"and only counts above a threshold are told, so that the fit is (ε₀, δ₀)-private: {joint.n_x:,} combinations, "
        f"with about {told:.0%} of the people. Everybody else is released as one of these, and what follows "
        "is about rows that have one: fewer columns or wider ranges tell of more people."
    )


def uncovered_lines(joint: Joint, published: Joint | None = None) -> list[str]:
    """Which values of the secret are too rare for the promise about a row, if any are: their names are not public.

    With `published` counts, those of them that are so, by the names that they have in `joint`.
    """
    words = uncovered_words((published or joint).noise, joint.secret_values)
    return [words] if words else []


def chosen_line(columns: Sequence[str]) -> str:
    """A warning that a confidence leaves out how the ranges and values of some columns were chosen."""
    return (
        f"Warning: the confidence holds for ranges and values that are fixed beforehand. Those of {', '.join(columns)} "
        "were chosen from this table, so that the true shares may lie outside of what it allows for. Give ranges "
        "(--set bins=column=0,18,65), or keep every value, to have it whole."
    )


def readers_data(protocol: Protocol, joint: Joint) -> dict[str, Any]:
    """What readers get who count released rows, for machines; errors and biases are of shares between 0 and 1."""
    return {
        "words": counting_words(protocol, joint),
        "countable": protocol.objective == "faithful",
        **errors_data(share_errors(protocol, joint)),
        "average_bias": miscount(protocol, joint),
        "likeness": asdict(protocol.likeness) if protocol.likeness is not None else None,
    }


def slow_secret(values: int, time_limit: float | None) -> None:
    """Say at the start, on stderr, that a secret of many values takes its time, and what the time limit buys."""
    if values <= FEW_SECRETS or sys.stderr is None:
        return
    most = f"at most {time_limit:g} s (--time-limit)" if time_limit is not None else "as long as it needs"
    sys.stderr.write(
        f"funnel: the secret has {values} values, and a search takes longer the more there are. It takes {most}; "
        "stopped early, or by Ctrl-C, it gives the best so far, with a certified bound on what more time could add.\n"
    )


PROGRESS: dict[Objective, str] = {
    "information": "kept {0:.4f} nats, at most {1:.2g} to gain; Ctrl-C takes it",
    "faithful": "{0:.2%} of cells stay, at most {1:.2%} to gain; Ctrl-C takes it",
}


@contextmanager
def working(what: str) -> Iterator[None]:
    """What is being done, and for how long, on stderr and only on a terminal."""
    if not _watched():
        yield
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(escape(what))
        yield


@contextmanager
def search_progress(objective: Objective = "information") -> Iterator[Callable[[SearchProgress], None] | None]:
    """A line that follows the optimiser, on stderr and only on a terminal."""
    if not _watched():
        yield None
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("looking for the best protocol; Ctrl-C takes the best so far")

        def follow(state: SearchProgress) -> None:
            bar.update(task, description=PROGRESS[objective].format(state.utility, state.gap))

        yield follow


@contextmanager
def row_progress(total: int | None) -> Iterator[Callable[[int], None] | None]:
    """A bar that counts rows, on stderr and only on a terminal."""
    if not _watched():
        yield None
        return
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,} rows"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("sanitising", total=total)
        yield lambda rows: bar.update(task, completed=rows)


@contextmanager
def task_progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar that counts pieces of work, on stderr and only on a terminal."""
    if not _watched():
        yield None
        return
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed} of {task.total}")
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
