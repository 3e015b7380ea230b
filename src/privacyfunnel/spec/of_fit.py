"""What can be asked of a fit: its privacy, what is kept the most of, what was released before, limits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from privacyfunnel.spec.key import AtLeastZero, Between, Key, Name, Number, Positive, PositiveCount, Table
from privacyfunnel.spec.of_promise import OfPromise
from privacyfunnel.spec.reading import Engine, Master, Person, Released, Was

USUAL_SECONDS = 60.0
"""Of a search, where nobody says how long it may take."""
USUAL_OBJECTIVE: Literal["faithful"] = "faithful"
USUAL_NOTION = "lip"
"""The kind of promise that is meant where none is named."""


class OfFit(OfPromise):
    """What can be asked of a fit: its privacy, what is kept the most of, what was released before, limits."""

    private: Annotated[
        Number | None,
        Key(
            "ε₀: noise on every count before anything is computed, so that the protocol may be published (default: 1).",
            "basics", "a number", (1.0,), shown=True, label="The protocol is protected by", drawn=True,
        ),
    ] = None  # fmt: skip
    exact_fit: Annotated[
        bool | None,
        Key(
            "Fit on exact counts: for research, and for protocols that nobody else will see.",
            "advanced", "true or false", (True,), label="Fit on exact counts", drawn=True,
        ),
    ] = None  # fmt: skip
    delta: Annotated[
        Number | None,
        Key(
            "δ₀: tell only counts above a threshold (the default, 1e-9, for domains too large). Of a model: that of "
            "Gaussian noise (default: 1e-6, for four columns and more); 0 for Laplace noise.",
            "advanced", "a number", (1e-9,),
        ),
    ] = None  # fmt: skip
    at_least: Annotated[
        PositiveCount | None,
        Key(
            "Read combinations of values that fewer people have as the nearest other. The default is none; it is 10 "
            "for private fits with more than 4,096 combinations, but for srlip, srldp and confidence.",
            "advanced", "a number of people from 1 on", (10,), label="Frequency threshold", drawn=True,
        ),
    ] = None  # fmt: skip
    insist: Annotated[
        bool | None,
        Key(
            "Fit even if more than 5% of the people are read as having another combination.",
            "advanced", "true or false", (True,),
            label="Fit even if more than 5% of the people are read as having another combination of values", drawn=True,
        ),
    ] = None  # fmt: skip
    objective: Annotated[
        Literal["faithful", "information"] | None,
        Key(
            "What to keep the most of: faithful (cells; rows can be counted as they stand) or information.",
            "advanced", "faithful or information", ("faithful",), label="Released rows", drawn=True,
        ),
    ] = None  # fmt: skip
    weight: Annotated[
        Table[AtLeastZero] | None,
        Key(
            "With faithful: cells of a column count more, or less.",
            "advanced", "for each column a number", ({"town": 3.0, "age": 0.5},), label="Weights of columns",
        ),
    ] = None  # fmt: skip
    readers: Annotated[
        Literal["shares", "pairs", "none"] | None,
        Key(
            "With objective = information: estimates of these are to be sharp, whatever the table: shares of single "
            "columns, pairs of columns, too, or none in particular.",
            "advanced", "shares, pairs or none", ("shares",), label="Readers estimate",
        ),
    ] = None  # fmt: skip
    give_up: Annotated[
        Between | None,
        Key(
            "With readers: the share of information that may be given up for it (default: 0.01).",
            "advanced", "a share between 0 and 1", (0.05,), label="Give up at most",
        ),
    ] = None  # fmt: skip

    after: Annotated[
        Name | None,
        Key(
            "A follow-up: the protocol of the release of the same people before.",
            "advanced", "the path of a protocol", ("first.json",), path=True,
        ),
    ] = None  # fmt: skip
    released: Released = None
    person: Person = None
    was: Was = None
    unchanged: Annotated[
        Literal["keep", "draw"] | None,
        Key(
            "With was, people who did not change: keep (their row, as far as that can be), or draw (all anew).",
            "advanced", "keep or draw", ("keep",),
        ),
    ] = None  # fmt: skip
    cover: Annotated[
        AtLeastZero | None,
        Key(
            "With unchanged = keep: how many unchanged people may have new rows for each changed one (default: as few "
            "as it takes).",
            "advanced", "a number from 0 on", (2.0,),
        ),
    ] = None  # fmt: skip
    improve: Annotated[
        Name | None,
        Key(
            "Instead of nearly all else: go on with the search for this protocol (a private one on its own noisy "
            "counts, which costs no more ε₀).",
            "advanced", "the path of a protocol", ("protocol.json",), path=True,
        ),
    ] = None  # fmt: skip
    gap: Annotated[
        Positive | None,
        Key(
            "Stop when at most this can be gained: a share of cells, or nats.", "advanced", "a positive number", (1e-3,)
        ),
    ] = None
    time_limit: Annotated[
        AtLeastZero | None,
        Key(
            "Stop after this many seconds, with the best found so far (default: 60).",
            "basics", "a number of seconds from 0 on", (60.0,), shown=True, label="Seconds for each search", drawn=True,
        ),
    ] = None  # fmt: skip
    engine: Engine = None
    master: Master = None

    @property
    def secret_columns(self) -> list[str]:
        """All columns that are secret."""
        return [name for names in self.secret or () for name in names]

    @property
    def kinds(self) -> list[str]:
        """The kinds of promise that are asked for."""
        each = self.notion or USUAL_NOTION
        return list(each.values()) if isinstance(each, dict) else [each]

    @property
    def named(self) -> list[str] | None:
        """The columns to release, where they are named."""
        return None if self.columns in (None, "auto") else list(self.columns or ())

    @property
    def kept(self) -> Literal["faithful", "information"]:
        """What is kept the most of. Where people keep their rows, the others tell the most unless it is said."""
        changed = self.was is not None and self.unchanged != "draw"
        return self.objective or ("information" if changed else USUAL_OBJECTIVE)

    @property
    def sharp_for(self) -> Literal["shares", "pairs"] | None:
        """The readers whose estimates are to be sharp."""
        return None if self.readers == "none" else self.readers

    @property
    def seconds(self) -> float:
        """How long a search may take."""
        return USUAL_SECONDS if self.time_limit is None else self.time_limit

    @property
    def layout(self) -> dict[str, Any]:
        """How the file of the table is read."""
        return {"delimiter": self.delimiter, "encoding": self.encoding or "utf-8", "where": self.where}

    @property
    def cluster(self) -> str | None:
        """The Spark master that counts; none for DuckDB."""
        return (self.master or "local[*]") if self.engine == "spark" else None
