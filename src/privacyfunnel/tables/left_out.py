"""Why a column is better left out of a release: it weighs rows, numbers people, or repeats the secret.

All of it is found in the table, so it is for the steward alone; no figure of the table is in a reason.
"""

from __future__ import annotations

import re

import numpy as np

from privacyfunnel.numeric.information import entropy
from privacyfunnel.tables.profiling import FEW_NUMBERS, MANY, NAME_OF_IDENTIFIERS
from privacyfunnel.tables.typed import alike
from privacyfunnel.typing import Integers, Vector

FEW_ROWS = 20
"""In tables this small, values differ in nearly every row by chance."""
SURELY_WEIGHTS = re.compile(
    r"wgh?t|fnlw|hochrech|gewichtung|expansion|raking|(?:^|[^a-z])(?:hrf|fexp|ponder)|facteur|factor_?exp"
    r"|(?:survey|sampl\w*|design|person|household|hh|post\w*|pop\w*|base|case|final|rep\w*|frequency)[_ .-]?"
    r"w(?:eigh)?ts?",
    re.IGNORECASE,
)
"""Names of survey weights: how many people of the population a row stands for."""
PERHAPS_WEIGHTS = re.compile(r"weight|gewicht|poids|(?:^|[^a-z])w[ht]?t?s?\d*$", re.IGNORECASE)
"""Names that bodies and goods have, too: their numbers decide."""
AROUND_ONE = 0.01
"""Survey weights that were divided by their mean have a mean of 1, but for rounding."""
TIMES_THE_MEDIAN = 5
"""Nobody weighs five times what half of the people weigh; a row can stand for so many more people than others."""
NEARLY_ALL_ALIKE = 0.9
"""Of the values of a column that numbers people, this share has the same number of rows."""
REPEATED = 0.9
"""I(S; X) / H(S) from which on whoever has the column has the secret, but for a few people."""
REPEATED_BY_NAME = 0.5
"""The same where one of the two names has the other in it: race, preRace."""
SHORTEST_NAME = 3
"""Letters from which on a name in another name is no chance."""


def weighs_rows(name: str, numbers: Vector, counts: Integers) -> str:
    """Why the different numbers of a column, each in this many rows, are survey weights; nothing if they are not."""
    surely = SURELY_WEIGHTS.search(name) is not None
    perhaps = PERHAPS_WEIGHTS.search(name) is not None and numbers[0] >= 0  # replicates may lie below 0
    if not (surely or perhaps) or len(numbers) <= FEW_NUMBERS:
        return ""
    mean, cumulative = float(np.average(numbers, weights=counts)), np.cumsum(counts)
    median = numbers[np.searchsorted(cumulative, cumulative[-1] / 2)]
    if abs(mean - 1) < AROUND_ONE:
        return "a survey weight: by its name, and its mean is 1"
    if numbers[-1] > TIMES_THE_MEDIAN * median:
        return f"a survey weight: by its name, and some rows have over {TIMES_THE_MEDIAN} times the median"
    return "a survey weight, by its name" if surely else ""


def numbers_people(name: str, counts: Integers) -> str:
    """Why a column numbers people or households of which each has several rows; `counts` are the rows of each value."""
    named, usual = NAME_OF_IDENTIFIERS.search(name) is not None, int(np.bincount(counts).argmax())
    alike_many = float((counts == usual).mean()) >= NEARLY_ALL_ALIKE and 1 < usual <= len(counts)
    if alike_many and len(counts) > (FEW_ROWS if named else MANY):
        return f"nearly each of its values is in {usual} rows: does it number people or households?"
    if named and len(counts) > MANY and counts.max() * MANY <= counts.sum():
        return "it is called like a number of people or households, and no value is frequent: does it number them?"
    return ""


def repeats(secret: str, name: str, counts: Vector) -> str:
    """Why a column repeats the secret, by counts[s, x] of people; nothing if it does not."""
    hidden = entropy(counts.sum(axis=1) / counts.sum())
    one, other = alike(secret), alike(name)
    named = min(len(one), len(other)) >= SHORTEST_NAME and (one in other or other in one)
    if hidden > 0 and told(counts) > (REPEATED_BY_NAME if named else REPEATED) * hidden:
        return f"it repeats {secret}: whoever knows it nearly knows that"
    return ""


def told(counts: Vector) -> float:
    """I(S; X) in nats, from counts[s, x] of n people, less what chance adds to it.

    By Miller and Madow, entropies of counts are too small by (values that occur - 1) / 2n.
    """
    n = counts.sum()
    parts = counts.sum(axis=0), counts.sum(axis=1), counts.ravel()
    x, s, both = (float(entropy(part / n)) + (np.count_nonzero(part) - 1) / (2 * n) for part in parts)
    return float(x + s - both)
