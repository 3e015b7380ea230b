"""Two colours: which secret every value of X leans to, from which values the protocol mixes.

With two secrets and the objective information, nearly every output is given for two values, one on either side of the
boundary: colouring such pairs in two colours sorts all values. Faithful releases mix more values, so the colours have
weights there. Which colour is which secret shows in common values, of which everybody knows how they lean. With more
secrets it is one secret against the rest, for each in turn.
"""

from __future__ import annotations

import numpy as np

from exact_fits.partners import Partners, lean_of
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.typing import Integers, Matrix

COMMON = 30
"""Of values that so many people have, everybody is taken to know how they lean: public statistics tell it."""


def by_two_colours(partners: Partners, joint: Joint, people: Integers) -> Integers:
    """The secret that is named for everybody who has x; where nothing is told, the most frequent one."""
    common = np.flatnonzero(people >= COMMON)
    return named_by(partners.opposite(lean_of(joint), common), joint)


def named_by(lean: Matrix, joint: Joint) -> Integers:
    """The secret that each x leans to most, the most frequent one where it leans to none."""
    told = np.abs(lean).max(axis=1) > 0
    return np.where(told, lean.argmax(axis=1), int(joint.p_s.argmax()))
