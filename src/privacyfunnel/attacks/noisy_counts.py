"""Noisy counts: who knows everybody else's record looks which secret of the one person left makes the noise likelier.

No attack on a private fit that knows the other columns does better: everything in its file follows from the noisy
counts. With P(z) ∝ e^(−|z| ε₀/2), the secret t of somebody with x has the likelihood e^(−|z − 1| ε₀/2) instead of
e^(−|z| ε₀/2), z = Ñ(t, x) − the number of others there.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import Noise
from privacyfunnel.typing import Integers


class NoisyTrial:
    """The noisy counts of a private fit beside the exact ones, ready to be asked for one person's secret."""

    def __init__(self, noise: Noise, joint: Joint) -> None:
        self._noisy, self._exact = _alongside(noise, joint), joint.weights.astype(np.int64)

    def names(self, x: int, s: int, usual: Integers) -> int:
        """The likeliest secret of somebody with x and s; `usual` orders secrets for ties."""
        others = self._exact[:, x].copy()
        others[s] -= 1
        z = self._noisy[:, x] - others
        gain = (np.abs(z) - np.abs(z - 1))[usual]
        return int(usual[gain.argmax()])


def _alongside(noise: Noise, joint: Joint) -> Integers:
    """Noisy counts at [s, x] of the joint: combinations by name, secrets by how many people have them."""
    places = [joint.attributes.index(name) for name in noise.attributes]
    columns = [joint.columns[j] for j in places]
    place = {codes: i for i, codes in enumerate(map(tuple, noise.combinations(columns).tolist()))}
    found = np.array([place.get(codes, -1) for codes in map(tuple, joint.codes[:, places].tolist())])
    counts = np.where(found >= 0, noise.counts[:, found], 0)
    apart = np.abs(joint.weights.sum(axis=1)[:, None] - noise.counts.sum(axis=1)[None, :]).astype(np.float64)
    own, rows = linear_sum_assignment(apart)
    noisy = np.zeros((joint.n_s, joint.n_x), dtype=np.int64)
    noisy[own] = counts[rows]
    return noisy
