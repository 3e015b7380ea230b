"""Partners: values of X that a protocol mixes in the same outputs, as its file shows them, in float64.

Outputs must not tell the secret, so a protocol that was fitted on exact counts mixes values that lean to one secret
with values that lean to another. Who is mixed with whom is in the file, for everybody to read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from privacyfunnel.attacks.outcomes import Outcomes
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.typing import Integers, Matrix, Vector

SWEEPS = 1_000
"""Steps from partner to partner: chains of pairs are tens of values long, and a step takes less than a millisecond."""
STEP = 0.5
"""Of the way to the opposite of the partners: a whole step would have two groups of partners swap for ever."""
SETTLED = 1e-12
"""Steps this small change no sign that is more than noise."""
UNMIXED = 1e-5
"""A value that is mixed with others less often than this has no partners: rounding to multiples of 2⁻³² mixes
everything with everything at 10⁻⁷ and less, a promise that asks for mixing at 10⁻⁴ and more."""


@dataclass(frozen=True, eq=False)
class Partners:
    """P(x′|y) and P(y|x) for the values of X that people have."""

    given: sparse.csr_array
    """P(y|x) at [x, y]."""
    posterior: sparse.csr_array
    """P(x|y) at [y, x], from what the file tells and how many people have each value."""
    own: Vector
    """own[x]: the chance that two people drawn from the same output as x are x: what partners have no part in."""

    @classmethod
    def of(cls, outcomes: Outcomes, people: Integers) -> Partners:
        """From the entries of the channel, and how many people have each value."""
        chance = (outcomes.numerators / outcomes.scale).astype(np.float64)
        _, outputs = np.unique(outcomes.outputs, return_inverse=True)
        shape = (len(people), int(outputs.max()) + 1)
        given = sparse.csr_array((chance, (outcomes.inputs, outputs.ravel())), shape=shape)
        mass = chance * people[outcomes.inputs]
        total = np.bincount(outputs.ravel(), weights=mass)
        posterior = sparse.csr_array((mass / total[outputs.ravel()], (outputs.ravel(), outcomes.inputs)), shape[::-1])
        own = np.bincount(outcomes.inputs, chance * mass / total[outputs.ravel()], len(people)).astype(np.float64)
        return cls(given, posterior, own)

    def mean(self, numbers: Matrix) -> Matrix:
        """The mean over the partners of each x, Σ_y P(y|x) Σ_x′ P(x′|y) numbers[x′] without x itself; 0 without any."""
        others = 1 - self.own[:, None]
        mixed = self.given @ (self.posterior @ numbers) - self.own[:, None] * numbers
        return np.where(others > UNMIXED, mixed / np.maximum(others, UNMIXED), 0.0)

    def opposite(self, lean: Matrix, known: Integers) -> Matrix:
        """Leans of all values: as given where they are `known`, elsewhere the opposite of their partners' mean.

        This is two-colouring with weights: in a graph of pairs, and with every part of it known somewhere, signs are
        the two colours. Values that nothing known is connected with keep 0.
        """
        found = np.zeros_like(lean)
        found[known] = lean[known]
        for _ in range(SWEEPS):
            step = STEP * (found + self.mean(found))
            step[known] = 0.0
            found -= step
            if np.abs(step).max() <= SETTLED:
                break
        return found


def lean_of(joint: Joint) -> Matrix:
    """P(s|x) − P(s) at [x, s]."""
    return np.ascontiguousarray((joint.p_s_given_x - joint.p_s[:, None]).T)
