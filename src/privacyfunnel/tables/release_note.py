"""The note of a release: what was released, and what a released file says about its making and about reading it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from privacyfunnel.protocols.own_table import OwnTable
from privacyfunnel.protocols.protocol import Objective
from privacyfunnel.tables.remembered.memory import Remembered

COUNTING: dict[Objective, str] = {
    "faithful": "rows can be counted as they stand, if they are of the table that the protocol was fitted on",
    "information": "counting rows misleads: values are not those of the original rows, use funnel estimate",
}
"""What a released file says to those who would count its rows."""
LEANING = (
    "rows can be counted as they stand, if they are of the table that the protocol was fitted on: they lean a little "
    "towards the published model"
)
"""The same where rows are redrawn by a model of the table."""
OTHERS = "funnel estimate works back the shares that these rows allow, with intervals; a strict promise may allow none"
"""What is said of rows that cannot be counted."""
VARIANT = "the column {} is no attribute: it tells apart rows that were drawn in different ways, for funnel estimate"
"""What a released file says of a column that the original table does not have."""
MIND = (
    "Every cell may differ from the original: nothing here is a fact about any one person.",
    "The promise is about one release: do not publish these people's rows again, drawn afresh or under another "
    "protocol; what several releases tell adds up.",
    "Do not link its rows with other tables to find somebody.",
)
"""What must not be done with a released file."""
KEYED = "AES-128-CMAC, keyed by person with a secret key: who is released again, unchanged, has the same row"
MIND_KEYED = (
    MIND[0],
    "What several releases tell adds up; the steward's ledger accounts for those with this key.",
    MIND[2],
)
"""The same for rows that are drawn with a key, so that they can be published again."""
MIND_FOLLOWING = (
    MIND[0],
    "The promise is about this table and all that were released of these people before, together: do not publish their "
    "rows again, drawn afresh or under a protocol that does not follow this one.",
    MIND[2],
)
"""The same for a follow-up."""


def mind_of(following: bool) -> tuple[str, ...]:
    """What must not be done with a released file whose rows were drawn afresh."""
    return MIND_FOLLOWING if following else MIND


NOT_ON_A_CLUSTER = (
    "what became of your own table is not measured on Spark, which may do a part of the work twice and count it twice: "
    "funnel report --table tells what to expect of it"
)
"""Why figures of the own table are not there."""

STEWARD_ONLY = ("own", "drawn", "remembered")
"""What of a release is for the steward alone."""


@dataclass(frozen=True)
class Release:
    """What was released, for a summary: no value of any row is in it."""

    rows: int
    attributes: tuple[str, ...]
    dropped: tuple[str, ...]
    drawn: int
    """Entries of rows not seen when fitting, which were drawn without looking at them."""
    shuffled: bool
    secure: bool
    """Whether the randomness was the operating system's; a seeded release is for tests only."""
    seed: int | None
    objective: Objective
    """That of the protocol: rows of a faithful release can be counted as they stand."""
    variant: str | None = None
    """The column that tells outputs apart which are written as the same values, if there is one."""
    protocol: str | None = None
    """The digest of the protocol by which rows were drawn, for files that have a place for it."""
    remembered: Remembered | None = None
    """Where rows are drawn with a key: how many people are new, unchanged and changed, and what everything comes to."""
    leaning: bool = False
    """Whether rows were redrawn by a model of the table."""
    following: bool = False
    """Whether rows were drawn from earlier ones of the same people, too."""
    filled: tuple[str, ...] = ()
    """Columns that were drawn from a private model, given the released values of the row."""
    own: OwnTable | None = None
    """What became of the rows of the table; of a release on a cluster that is not known."""

    @property
    def mind(self) -> tuple[str, ...]:
        """What must not be done with the released file."""
        if self.remembered is not None:
            return MIND_KEYED
        return mind_of(self.following)

    @property
    def counting(self) -> str:
        """What to know before rows are counted."""
        return LEANING if self.leaning else COUNTING[self.objective]

    @property
    def own_words(self) -> str:
        """What became of the rows of the table, or why that is not known; for the steward."""
        return self.own.words() if self.own is not None else f"For you alone: {NOT_ON_A_CLUSTER}."

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON; what follows from the rows of the table, and not from the released ones, is apart."""
        content = asdict(self)
        for name in (*STEWARD_ONLY, *([] if self.filled else ["filled"])):
            content.pop(name)
        own = {
            "own_table": self.own.as_dict() if self.own is not None else None,
            **({"own_table_why": NOT_ON_A_CLUSTER} if self.own is None else {}),
            "drawn": self.drawn,
            "remembered": self.remembered.as_dict() if self.remembered is not None else None,
        }
        return {**content, **self.metadata(), "steward_only": own}

    def metadata(self) -> dict[str, Any]:
        """What is written into the released file about its making, and about reading it."""
        randomness = KEYED if self.remembered is not None else "AES-128-CTR, key from the operating system"
        if not self.secure:
            randomness = f"INSECURE: seeded with {self.seed}; whoever knows the seed can undo the noise"
        return {
            "software": "privacyfunnel",
            "randomness": randomness,
            "counting": self.counting,
            "mind": list(self.mind),
            **({"filled": list(self.filled)} if self.filled else {}),
            **({"protocol": self.protocol} if self.protocol is not None else {}),
            **({"variant_column": VARIANT.format(self.variant)} if self.variant is not None else {}),
        }

    @property
    def warns(self) -> bool:
        """Whether whoever has the released file should read its metadata first."""
        return not self.secure or self.objective == "information"
