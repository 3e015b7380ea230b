"""Declaring: a template of a domain, with what occurs in a table and comments on what a steward has to decide."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from privacyfunnel.distribution.column import OPEN, OTHER, Column
from privacyfunnel.errors import InvalidTable
from privacyfunnel.protocols.json_file import MOST_COLUMNS
from privacyfunnel.tables.cutting import FLOAT_DIGITS, decimals_of
from privacyfunnel.tables.domain import SCHEMA, DeclaredColumn, Domain
from privacyfunnel.tables.fitting import DEFAULT_BINS, Wishes, fit_columns, numbers_in
from privacyfunnel.tables.sources import Source

ROUND_STEPS = (1, 2, 5, 10)
"""Distances of borders, times a power of ten, that people would choose."""
ABOUT = (
    "A template, made from a table: nothing in it is public before you have read and edited it.",
    "Whatever you leave as it is was taken from the people in the table and can tell about them.",
    "Decide every value and border by what is known without the table: a questionnaire, a code list, a law.",
    "Then tables in which other people, or others' values, stand give exactly the same columns.",
    'Values that are not declared: "outside": "refuse" refuses the table, "other" counts them as "other".',
    'Lines of "about" and every "comment" are for people. Delete them when you have dealt with them.',
)
"""At the top of every template."""
LIST_WORDS = (
    "These values occur in the table. Compare them with the questionnaire or code list: add values that nobody here "
    "has, delete what is a typing error or belongs to one person, or let the rest be other."
)
FREQUENT_WORDS = (
    "Of many values, these are the most frequent in the table, which is no reason to list them. Replace them by a "
    'public list; all others are "other".'
)
NUMBER_WORDS = (
    "These numbers occur in the table. Declare all that there can be, delete what belongs to one person, or make "
    'ranges of them: "kind": "bins" with "edges" instead of "values".'
)
ROUND_WORDS = (
    "These borders lie where most numbers of the table are. Replace them by round ones that were decided without "
    "looking at it; null leaves an end open. Decimals are the most digits behind the point that occur here."
)
BOTH_WORDS = "True and false are all there is."
MISSING_WORDS = "Entries are missing in this table: let this be true only if they can be, whoever is asked."
COMPLETE_WORDS = "No entry is missing in this table: say true if one could be."
"""What is said of each column: where its values come from, and whether some are missing."""


def template(source: Source, names: Sequence[str] | None = None, missing: Sequence[str] = ()) -> Domain:
    """What occurs in a table, with comments on what must not come from it.

    Without `names` these are all columns but those that look like identifiers: a list of names would be a list of
    people.
    """
    asked = tuple(source.columns if names is None else dict.fromkeys(names))
    source.require(asked)
    if len(asked) > MOST_COLUMNS:
        raise InvalidTable(f"a domain has at most {MOST_COLUMNS:,} columns; choose some with --columns")
    source.hold(asked)
    fitted = fit_columns(source, asked, Wishes(missing=tuple(missing)))
    own = {one.column.name for one in fitted if one.identifier and names is None}
    columns = tuple(_declared(one.column, source) for one in fitted if one.column.name not in own)
    if not columns:
        raise InvalidTable(f"every column of {source.name} looks like the names of people; choose some with --columns")
    return Domain(schema=SCHEMA, about=ABOUT, columns=columns)


def _declared(column: Column, source: Source) -> DeclaredColumn:
    """The column with all that occurs in the table, and words on it."""
    gone = None in column.labels
    decimals = None
    own = tuple(label for label in column.labels if label is not None and not (column.other and label == OTHER))
    words = FREQUENT_WORDS if column.other else LIST_WORDS
    if column.kind in ("integer", "number"):
        words = NUMBER_WORDS
    if column.kind == "boolean":
        own, words = (False, True), BOTH_WORDS
    if column.kind == "bins":
        own, words = (), ROUND_WORDS
        decimals = decimals_of(numbers_in(source, column.name, column.missing, column.written)[0])
    return DeclaredColumn(
        name=column.name,
        kind=column.kind,
        values=own,
        edges=(None, *round_borders(column.edges), None) if column.kind == "bins" else (),
        decimals=decimals,
        outside="other" if column.other else "refuse",
        missing=gone,
        missing_texts=column.missing,
        written=column.written,
        comment=f"{words} {MISSING_WORDS if gone else COMPLETE_WORDS}",
    )


def round_borders(edges: Sequence[float]) -> tuple[float, ...]:
    """Round borders at equal distances, from about the first inner edge of quantile bins to the last.

    They go by where most people are, and not by the least and the largest number, which belong to somebody.

    >>> round_borders([-1e308, 27, 36, 44, 53, 61, 72, 81, 1e308])
    (30.0, 40.0, 50.0, 60.0, 70.0, 80.0)
    """
    inner = [edge for edge in edges if abs(edge) < OPEN]
    if len(inner) < 2:
        return tuple(inner)
    step = _round_step((inner[-1] - inner[0]) / DEFAULT_BINS)
    if step is None:
        return tuple(inner)
    if all(edge == math.floor(edge) for edge in inner):
        step = max(1.0, step)  # whole numbers lie on borders or between them
    first, last = math.ceil(inner[0] / step), math.floor(inner[-1] / step)
    return tuple(sorted({float(f"{i * step:.{FLOAT_DIGITS}g}") for i in range(first, last + 1)}))


def _round_step(least: float) -> float | None:
    """The smallest round distance that is not below `least`; none at the ends of float64."""
    if not sys.float_info.min / sys.float_info.epsilon < least < sys.float_info.max * sys.float_info.epsilon:
        return None
    power = float(10.0 ** math.floor(math.log10(least)))
    return next(step * power for step in ROUND_STEPS if step * power >= least or step == ROUND_STEPS[-1])
