"""Protocol: an exact channel, the promise it keeps, and how good it is."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from privacyfunnel.distribution.column import Column, Reading
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import Noise
from privacyfunnel.errors import ExactFit, InvalidChannel, InvalidInput, NotCertified
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.aim import Aim
from privacyfunnel.protocols.fill import Fill, finest
from privacyfunnel.protocols.kept import Likeness, Precision
from privacyfunnel.protocols.step import Spent, Step
from privacyfunnel.showing.sheet import Sheet
from privacyfunnel.showing.shown import Shown
from privacyfunnel.typing import Integers, Matrix

if TYPE_CHECKING:
    from privacyfunnel.protocols.block import Block
    from privacyfunnel.protocols.by_history import ByHistory
    from privacyfunnel.protocols.wide.by_model import ByModel

INFORMATION_ERROR = 1e-10
"""Nats by which I(X;Y) of a protocol may be off in float64: a sum of up to a million terms of a few nats in all."""
Fitted = Literal["exact counts", "private counts", "given probabilities"]
"""What a protocol was computed from: the people of a table as they are, or with noise, or numbers that were given."""
NOT_FOR_PUBLICATION = (
    "this protocol was fitted on exact counts, so its file tells secrets of people whose combination of values few "
    "share: keep it to yourself, or fit on private counts, Joint.from_table(…, private=1.0)"
)
Objective = Literal["information", "faithful"]
"""What a protocol keeps the most of: I(X;Y), or cells, with rows that have the distribution of the original ones."""


@dataclass(frozen=True, eq=False)
class Protocol(Shown):
    """What is certified, saved, sampled and published: one object, exact to the last bit."""

    notion: Notion
    step: Step
    """How rows are drawn, given what was released `before`."""
    utility: float
    """I(X;Y) of this very channel, in nats."""
    upper_bound: float
    """No protocol that keeps the promise has a larger I(X;Y)."""
    entropy: float
    """H(X) in nats: what releasing X itself would tell."""
    how: str
    """The route that found it."""
    secret: str
    """The name of the secret; nothing here tells its values."""
    secret_readings: tuple[Reading, ...] = ()
    """How the secret was read, if it was read from a table."""
    fitted: Fitted = "exact counts"
    """From exact counts, the numbers in the file depend on single people where few share a value: see `exposure`."""
    digits: float = 0.0
    """The file tells utility, bound and entropy in multiples of so many nats; 0 if they are such already."""
    likeness: Likeness | None = None
    """Of a faithful release: its rows can be counted as they stand."""
    people: int | None = None
    """How many rows it was fitted on, if these were counted."""
    at_least: int = 0
    """Combinations of values that fewer people have are read as the nearest other one."""
    noise: Noise | None = None
    """Of a private fit: the noisy counts from which everything here follows, and with which anybody can check it."""
    precision: Precision | None = None
    """Of a protocol for readers of any table: how sharp their estimates are."""
    aim: Aim | None = None
    """Of a private fit: the part of the promise that it was made for. What is best is so among all made for this."""
    before: Protocol | None = None
    """The protocol of the release before, of the same people; then what is kept is counted given what it released."""

    fill: Fill | None = None
    """What is drawn given the released row: further columns, and numbers within ranges. It tells nothing more."""

    def __post_init__(self) -> None:
        self.step.check(self)
        if self.fill is not None:
            self.fill.check(self)

    @property
    def earlier(self) -> tuple[Protocol, ...]:
        """The protocols of the releases before, the first one first."""
        return () if self.before is None else self.before.chain

    @property
    def chain(self) -> tuple[Protocol, ...]:
        """The same, and this one: the chain of steps, each with its own promise and provenance."""
        return (*self.earlier, self)

    @property
    def releases(self) -> int:
        """How many releases there are with this one; as many numbers say what was released of somebody."""
        return len(self.chain)

    @property
    def followed(self) -> Protocol:
        """The protocol of the release before; refused where there is none."""
        if self.before is None:
            raise InvalidInput("this protocol follows no earlier release")
        return self.before

    @property
    def block(self) -> Block:
        """The listed channel; refused where there is none from X alone."""
        return self.step.block

    @property
    def by_history(self) -> ByHistory:
        """The channels for every history; refused where there are none."""
        return self.step.by_history

    @property
    def by_model(self) -> ByModel:
        """The model and its rule; refused where there is none."""
        return self.step.by_model

    def with_block(self, block: Block) -> Protocol:
        """The same with a listed channel that stands for its own, to draw with or to read back."""
        return replace(self, step=block, before=None)

    @property
    def private(self) -> bool:
        """Whether the file may be published: it follows from noisy counts that it carries."""
        return self.fitted == "private counts"

    @property
    def carries_counts(self) -> bool:
        """Whether the file holds the counts that its promise is about, so that the promise can be proven by itself."""
        return self.noise is not None or self.step.has_counts

    @property
    def spent(self) -> Spent | None:
        """The privacy of this fit, without those that it follows; None where it bounds nothing."""
        own = self.step.spent if self.noise is None else Spent(self.noise.spent, self.noise.delta, self.noise.declared)
        return own if own is None or self.fill is None else self.fill.noise.beside(own)

    @property
    def channel(self) -> Matrix:
        """Q[y, x] = P(y|x) in float64: multiples of 2⁻³², columns that sum to exactly 1."""
        return self.block.channel.dense()

    def channel_on(self, joint: Joint) -> Matrix:
        """Q[y, x] = P(y|x) in float64, for the values of X of `joint`."""
        inputs = self.block.inputs_of(joint)
        if (inputs < 0).any():
            raise InvalidChannel("the distribution has values of X that the protocol was not fitted on")
        return self.channel[:, inputs]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The released columns, and how they are read."""
        return self.step.columns

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the released attributes."""
        return self.step.attributes

    @property
    def variant(self) -> str | None:
        """The column that tells outputs apart which are written as the same values; None if there are no such outputs.

        It is called variant, with as many underscores after it as no attribute and no secret has.
        """
        if self.step.variants is None:
            return None
        name, taken = "variant", {*self.attributes, *(reading.name for reading in self.secret_readings)}
        while name in taken:
            name += "_"
        return name

    @property
    def released_columns(self) -> tuple[str, ...]:
        """The columns that tell an output: the attributes and, if there is one, the variant."""
        return self.attributes if self.variant is None else (*self.attributes, self.variant)

    @property
    def table_columns(self) -> tuple[str, ...]:
        """All columns of a released table, in its order."""
        return finest(self.released_columns, self.fill)

    @property
    def draw(self) -> Integers | None:
        """2³²·r(y): how rows with a value never seen may be drawn; None if no draw is known to keep the promise."""
        return self.step.draw

    @property
    def objective(self) -> Objective:
        """What it keeps the most of."""
        return "information" if self.likeness is None else "faithful"

    @property
    def fidelity(self) -> float | None:
        """The expected share of cells that stay as they are; None where outputs are not values to be counted."""
        return None if self.likeness is None else self.likeness.fidelity

    @property
    def fidelity_bound(self) -> float | None:
        """Certified: no faithful release with this promise has a larger fidelity."""
        return None if self.likeness is None else self.likeness.fidelity_bound

    @property
    def gap(self) -> float:
        """At most this many nats are lost to the best protocol."""
        return self.upper_bound - self.utility

    def save(self, path: str | Path, *, force: bool = True) -> None:
        """Write the protocol's file: the promise, the channel, the encoders.

        It holds no records. But a protocol fitted on exact counts is computed from the secrets, and whoever has the
        file can tell the secret of people whose combination of values few share: such a file is not for publication,
        which a warning says. One fitted on private counts (`Joint.from_table(…, private=1.0)`) is.
        """
        from privacyfunnel.protocols.file import to_text
        from privacyfunnel.tables.writing import check_output, whole_file

        if self.fitted == "exact counts":
            warnings.warn(NOT_FOR_PUBLICATION, ExactFit, stacklevel=2)
        check_output(Path(path), force)
        with whole_file(Path(path), force) as file:
            file.write(to_text(self).encode("utf-8"))

    @classmethod
    def load(cls, path: str | Path) -> Protocol:
        """Read a file written by `save`; an edited, broken or foreign one is refused."""
        from privacyfunnel.protocols.file import load

        return load(path)

    def sanitise(
        self,
        table: Any,
        output: str | Path | None = None,
        *,
        keep_order: bool = False,
        unseen: Literal["refuse", "draw"] = "refuse",
        seed: int | None = None,
        force: bool = False,
        variant: bool = True,
        remember: str | Path | None = None,
        person: str | None = None,
        changed: Literal["keep", "drop"] = "keep",
        released: Any = None,
        internal: str | Path | None = None,
        was: Any = None,
    ) -> Any:
        """Draw a released row for every row of `table`, with the operating system's randomness.

        A DataFrame (pandas, polars …), Arrow, a relation of DuckDB or a table of ibis in, the same kind out; what else
        speaks the Arrow C stream comes back as Arrow. A path goes into `output` (.csv, .parquet, .sav, .dta, .xlsx),
        which appears whole or not at all. Rows come shuffled unless `keep_order`. Rows with values that were not there
        when fitting are refused, or drawn such that the promise is kept whoever they are, if it has that draw.
        A `seed` makes the release repeatable and therefore insecure: for tests only. Where several outputs are written
        as the same values, a column tells them apart unless `variant` is False, which makes estimates less sharp. With
        `remember`, the file of a key (made if there is none), and `person`, the column that says who rows are about,
        somebody who was released by this protocol before has the same row again. What becomes of people whose values
        have `changed` since is in docs/over-time.md.

        A follow-up draws a further row, given what was `released` of the same `person` before: the earlier released
        table, or a list of them from the first on, each with the column `person`; or, with `remember`, given what the
        key draws again: new people then take the first steps, too. People of whom nothing was released, or something
        that it does not know, are refused with their number. `internal` is where a copy with the column `person` is
        written, for the next follow-up. If it was fitted on what people were and what they are ("town", "town now"),
        `was` is the table of then, or a list of them, the first one first, and `table` today's.
        """
        from privacyfunnel.tables.internal_copy import Internal
        from privacyfunnel.tables.release import sanitise

        return sanitise(
            self,
            table,
            output,
            keep_order=keep_order,
            unseen=unseen,
            seed=seed,
            force=force,
            variant=variant,
            remember=remember,
            person=person,
            changed=changed,
            released=released,
            internal=None if internal is None else Internal.asked(internal, person, force, output),
            was=was,
        )

    def sanitise_spark(
        self,
        frame: Any,
        output: str | Path | None = None,
        *,
        keep_order: bool = False,
        unseen: Literal["refuse", "draw"] = "refuse",
        seed: int | None = None,
        force: bool = False,
        partition_by: Sequence[str] = (),
        variant: bool = True,
        remember: str | Path | None = None,
        person: str | None = None,
        changed: Literal["keep", "drop"] = "keep",
    ) -> Any:
        """Draw a released row for every row of a Spark DataFrame, on its cluster.

        With `output`, rows go into a folder of Parquet files, which appears whole or not at all, in subfolders by the
        attributes in `partition_by`. Without, a persisted DataFrame comes back: it shows the same rows however often
        it is used, until `unpersist`. Work that Spark does twice draws the same rows twice. The rest is as for
        `sanitise`.
        """
        from privacyfunnel.tables.spark.release import sanitise_spark

        return sanitise_spark(
            self,
            frame,
            output,
            keep_order=keep_order,
            unseen=unseen,
            seed=seed,
            force=force,
            partition_by=partition_by,
            variant=variant,
            remember=remember,
            person=person,
            changed=changed,
        )

    def sheet(self) -> Sheet:
        """What a notebook shows: the promise, what is kept of the columns, and what no protocol could exceed."""
        from privacyfunnel.protocols.protocol_sheet import sheet_of

        return sheet_of(self)

    def __repr__(self) -> str:
        kept = f"{self.utility:.6g} nats kept, gap ≤ {self.gap:.1e}"
        return f"<Protocol {self.notion} release {self.releases}, {self.step.size_words()}, {kept}>"


def not_below(upper_bound: float, utility: float) -> float:
    """The bound, which no certified protocol may exceed by more than rounding errors: then one of the two is wrong."""
    if not utility <= upper_bound + INFORMATION_ERROR:
        raise NotCertified(
            f"a certified protocol keeps {utility:.9g} nats, above the bound of {upper_bound:.9g} on every protocol: "
            "one of them is wrong; please report this"
        )
    return max(upper_bound, utility)
