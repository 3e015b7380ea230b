"""funnel demo: the whole way, on people who do not exist."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from privacyfunnel.attacks.both_secrets import Trial
from privacyfunnel.attacks.findings import Findings, findings
from privacyfunnel.attacks.from_protocol import from_protocol
from privacyfunnel.attacks.outcomes import Outcomes
from privacyfunnel.cli import next_command, show
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import OutputRefused
from privacyfunnel.optimiser.optimise import optimise
from privacyfunnel.population import OBESE, TOWNS, as_csv, people
from privacyfunnel.promises.notion import factor
from privacyfunnel.promises.notions import LIP, SRLIP
from privacyfunnel.proof.certificate import audit_publicly, certify
from privacyfunnel.protocols.everything import everything
from privacyfunnel.protocols.file import load as load_protocol
from privacyfunnel.protocols.miscounting import counting_words
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.counting import count_table
from privacyfunnel.tables.domain import DeclaredColumn, Domain
from privacyfunnel.tables.private_counts import USUAL_EPSILON
from privacyfunnel.tables.release_note import Release
from privacyfunnel.tables.sources import open_source

PROTOCOL, RELEASED = "protocol.json", "open.csv"
"""Files of its folder."""
PEOPLE = 20_000
"""Enough that chance hardly shows in the numbers, few enough that the demo takes seconds."""
ATTRIBUTES = ("sex", "town", "height", "weight")
COUNTED = "weight"
"""The column that is counted before and after: it tells most of the secret, so it is changed most."""
HEIGHTS = [120, 160, 165, 170, 175, 180, 185, 220]
"""Edges in cm that everybody in the made-up population lies between; fixed, so that the demo always tells the same."""
WEIGHTS = [35, 60, 70, 80, 90, 100, 110, 250]
"""Edges in kg, likewise."""
SIDE_SECONDS = 5.0
"""What somebody who watches a demo may be asked to wait; the best found until then is shown."""
SIDE_GAP = 0.02
"""The story needs a good SRLIP protocol, not the proof that it is the best."""
DOMAIN = Domain(
    schema="privacyfunnel-domain/1",
    columns=(
        DeclaredColumn(name="obese", kind="text", values=("no", "yes")),
        DeclaredColumn(name="sex", kind="text", values=("female", "male")),
        DeclaredColumn(name="town", kind="text", values=TOWNS),
        DeclaredColumn(name="height", kind="bins", edges=tuple(map(float, HEIGHTS))),
        DeclaredColumn(name="weight", kind="bins", edges=tuple(map(float, WEIGHTS))),
    ),
)
"""What everybody may know of the columns without looking at anybody."""


def demonstrate(epsilon: float, folder: Path | None, json: bool) -> None:
    """Make up a population, sanitise it, and prove the promise: everything in under a minute."""
    promise = LIP(epsilon)
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            taken = any(folder.iterdir())
        except OSError as trouble:
            raise OutputRefused(f"{folder} cannot be used as a folder: {trouble.strerror}") from None
        if taken:
            raise OutputRefused(f"{folder} is not empty; name a new folder")
        then = next_command.publish_table(folder / RELEASED, folder / PROTOCOL)
        _tell(folder, promise, json, then)
        return
    with TemporaryDirectory() as temporary:
        _tell(Path(temporary), promise, json, next_command.demo(epsilon))


def _tell(folder: Path, promise: LIP, json: bool, then: next_command.Words) -> None:
    screen = Console(quiet=True) if json else show.console()
    original, published, released = folder / "people.csv", folder / PROTOCOL, folder / RELEASED
    original.write_text(as_csv(people(PEOPLE, seed=1)), encoding="utf-8")
    screen.rule("1. A table with a secret")
    screen.print(
        f"{PEOPLE:,} made-up people with their sex, town, height and weight. Their secret: are they obese "
        f"(weight / height² of at least {OBESE:g} kg/m²)? Height alone hardly tells, height and weight tell all."
    )
    screen.print(_first_rows(original, "The table (made up)"))

    screen.rule("2. The best protocol")
    (folder / "domain.json").write_text(DOMAIN.to_text(), encoding="utf-8")
    exact = count_table(original, "obese", list(ATTRIBUTES), domain=DOMAIN)
    counted = exact.safely(USUAL_EPSILON)
    screen.print(show.columns_table(counted))
    with show.search_progress("faithful") as progress:
        protocol = optimise(counted.joint, promise, objective="faithful", progress=progress)
    protocol.save(published)
    screen.print(f"[bold]The promise.[/bold] {promise.words()}")
    screen.print(
        "Of all ways to redraw rows that keep it [bold]and[/bold] leave their distribution exactly as it is, this one "
        "changes the fewest cells."
    )
    told, about = everything(protocol), whom_it_tells(exact.joint, protocol, original, promise)
    screen.print(f"[bold]The file itself.[/bold] {about.words()}")
    if told is not None:
        screen.print(f"[bold]Everything published.[/bold] {told.words()}")

    screen.rule("3. The released table")
    release: Release = load_protocol(published).sanitise(original, released)
    screen.print(f"{release.rows:,} rows released, in shuffled order; dropped: {', '.join(release.dropped)}.")
    screen.print(_first_rows(released, "What everybody may see"))
    before, after = _original_shares(exact.joint), _counted_shares(released)
    screen.print("No tool is needed to read it: rows can be counted as they stand, also by several columns at once.")
    screen.print(_side_by_side(before, after))
    screen.print(counting_words(protocol, counted.joint))

    screen.rule("4. The proof")
    joint, certificate = audit_publicly(load_protocol(published))
    found = findings(protocol, joint, certificate)
    verdict = "KEPT" if found.holds else "BROKEN"
    screen.print(
        f"Checked in exact arithmetic, for every output and every value of the secret: [bold]{verdict}[/bold]. This "
        "took the protocol alone, which carries the noisy counts: anybody can do it."
    )
    screen.print(show.findings_table(found))
    screen.print(_in_words(found))
    for line in show.kept_lines(protocol, found):
        screen.print(line)

    screen.rule("5. When something is known already")
    side = side_channel(exact.joint.over(["height", "weight"]), promise.epsilon)
    screen.print(_in_short(side, promise))
    if json:
        readers = show.readers_data(protocol, counted.joint) | {"original": before, "counted": after}
        content = {"people": PEOPLE, "rows": release.rows, "readers": readers, **found.as_dict()}
        show.as_json(
            {**content, "side_channel": asdict(side), "told_by_the_file": asdict(about), **next_command.data(then)}
        )
    if not found.holds:
        raise typer.Exit(1)
    if not json:
        next_command.say(then)


@dataclass(frozen=True)
class ToldByTheFile:
    """What a protocol tells by itself about people whose combination of values nobody shares."""

    person: str
    """One of them."""
    values: tuple[str, ...]
    secret: str
    named: str
    """What the exact file says that they have, to who knows everybody else's record."""
    alone: int
    exact: int
    """How many of those who are alone the exact file names right."""
    private: int
    """And the private one, by the best of all attacks."""
    guessing: int

    def words(self) -> str:
        """The story in a few sentences."""
        right = "which is right" if self.named == self.secret else "which is wrong"
        return (
            f"{self.person} is the only one with {', '.join(self.values)}. Had the protocol been fitted on exact "
            "counts, whoever knows everybody else could have tried both answers, and seen which one the file fits: "
            f"obese: {self.named}, {right}. So for {self.exact} of the {self.alone} people who are alone like that. "
            f"This one was fitted on counts with noise: the best attack on it names {self.private} of {self.alone} "
            f"right, and who guesses the same for all of them {self.guessing}."
        )


def whom_it_tells(joint: Joint, private: Protocol, table: Path, promise: LIP) -> ToldByTheFile:
    """Attack the protocol that exact counts would have given, and the private one."""
    exact = optimise(joint, promise, objective="faithful")
    from_exact, from_private = (
        [found for found in from_protocol(protocol, joint) if found.group == "alone"] for protocol in (exact, private)
    )
    x = int(np.flatnonzero(joint.weights.sum(axis=0) == 1)[0])
    s = int(joint.weights[:, x].argmax())
    named = Trial.of(exact, joint, Outcomes.of(exact, joint)).names(x, s, np.argsort(-joint.p_s, kind="stable"))
    values = tuple(f"{name} {value}" for name, value in zip(joint.attributes, joint.values[x], strict=True))
    return ToldByTheFile(
        person=_who(table, joint, x),
        values=values,
        secret=str(joint.secret_values[s]),
        named=str(joint.secret_values[named]),
        alone=from_exact[0].people,
        exact=max(found.right for found in from_exact),
        private=max(found.right for found in from_private),
        guessing=from_exact[0].guessing,
    )


def _who(table: Path, joint: Joint, x: int) -> str:
    """The name of the one person who has the values x."""
    source = open_source(table)
    for batch in source.batches(["name", *joint.attributes]):
        codes = [column.encode(batch.column(column.name)) for column in joint.columns]
        here = np.flatnonzero(np.all([code == joint.codes[x, j] for j, code in enumerate(codes)], axis=0))
        if here.size:
            return str(batch.column("name")[int(here[0])].as_py())
    return "Somebody"


@dataclass(frozen=True)
class SideChannel:
    """Height released by itself, and then with the weight known from elsewhere."""

    height_kept: float
    """The share of the information in height that a LIP protocol for height alone keeps."""
    lip_level: float
    """What its output says about the secret by itself."""
    level_with_weight: float
    """What it says to somebody who knows the weight."""
    srlip_kept: float
    """The share of the information in height and weight that an SRLIP protocol for both keeps."""
    srlip_level: float
    """What that says, whatever is known."""


def side_channel(both: Joint, epsilon: float) -> SideChannel:
    """Measure what a promise about the released row alone is worth when an attacker knows the weight."""
    alone = both.over(["height"])
    height = optimise(alone, LIP(epsilon))
    content = height.channel[:, height.block.inputs_of(both)]
    resistant = optimise(both, SRLIP(epsilon), gap=SIDE_GAP, time_limit=SIDE_SECONDS)
    return SideChannel(
        height_kept=height.utility / alone.entropy,
        lip_level=certify(height, alone).level,
        level_with_weight=certify(content, both, SRLIP(epsilon, known=["weight"])).level,
        srlip_kept=resistant.utility / both.entropy,
        srlip_level=certify(resistant, both).level,
    )


def _in_short(side: SideChannel, promise: LIP) -> str:
    known = "without bound: for some people the answer becomes certain"
    if math.isfinite(side.level_with_weight):
        known = f"by a factor {factor(side.level_with_weight)}"
    return (
        f"Suppose only the height were released. By itself it hardly tells who is obese: the promise of a factor "
        f"{factor(promise.epsilon)} keeps {side.height_kept:.0%} of it, and beliefs move by at most a factor "
        f"{factor(side.lip_level)}. But to somebody who knows a person's weight from elsewhere, that same released "
        f"height moves beliefs {known}. [bold]SRLIP[/bold] promises the factor also to those who know one of the "
        f"columns, in its ranges: such a protocol for height and weight together keeps {side.srlip_kept:.0%} of the "
        f"information, and moves beliefs by at most a factor {factor(side.srlip_level)}."
    )


def _first_rows(path: Path, title: str, rows: int = 4) -> Table:
    source = open_source(path)
    batch = next(iter(source.batches(source.columns))).slice(0, rows)
    table = Table(title=title, title_justify="left", header_style="bold")
    for name in source.columns:
        table.add_column(name)
    for row in batch.to_pylist():
        table.add_row(*(str(row[name]) for name in source.columns))
    return table


def _original_shares(joint: Joint) -> dict[str, float]:
    """The share of people in each range of the column that is counted."""
    one = joint.over([COUNTED])
    return {str(value): float(share) for value, share in zip(one.values[:, 0], one.p_x, strict=True)}


def _counted_shares(path: Path) -> dict[str, float]:
    """The same, counted in the released file as anybody would."""
    counts: Counter[str] = Counter()
    for batch in open_source(path).batches([COUNTED]):
        counts.update(batch.column(COUNTED).to_pylist())
    return {value: count / counts.total() for value, count in counts.items()}


def _side_by_side(before: dict[str, float], after: dict[str, float]) -> Table:
    table = Table(title=f"Counted by {COUNTED}", title_justify="left", header_style="bold")
    table.add_column(COUNTED)
    for heading in ("in the original rows", "in the released rows"):
        table.add_column(heading, justify="right")
    for value, share in before.items():
        table.add_row(value, f"{share:.1%}", f"{after.get(value, 0.0):.1%}")
    return table


def _in_words(found: Findings) -> str:
    before, after = found.original, found.released
    certain = "with certainty" if before.smallest_lift <= 0 else f"by up to a factor {1 / before.smallest_lift:.1f}"
    return (
        f"Before: the original row lets anybody guess the secret right {before.best_guess:.1%} of the time, raises the "
        f"belief in it by up to a factor {before.largest_lift:.1f}, and rules it out {certain}. "
        f"After: the guess is right {after.best_guess:.1%} of the time (who sees nothing: {found.blind_guess:.1%}), "
        f"and no belief grows by more than a factor {after.largest_lift:.3f} or falls below {after.smallest_lift:.3f} "
        "of what it was."
    )
