"""Entropy and mutual information, in nats, with 0·ln 0 = 0."""

import math

import numpy as np

from privacyfunnel.typing import Matrix, Vector

NATS_PER_BIT = math.log(2)
"""We compute in nats; people are told bits, the answers to questions with yes or no."""
LARGEST_LOG = 700.0
"""e^700 is still a float64."""
ENTROPY_ERROR = 64 * 2.0**-53
"""Relative error of `entropy`: of a logarithm, a product and p itself 5 roundings, of NumPy's sum (in pairs, of eight
lanes with 16 terms each) some 20 and one for each doubling of the number of terms."""


def plogp(p: Matrix) -> Matrix:
    """p·ln p, entry by entry, with its limit 0 at p = 0."""
    return p * np.log(p, out=np.zeros_like(p), where=p > 0)


def entropy(p: Matrix) -> Vector:
    """H(p) = −Σ p ln p along the last axis; p need not be normalised there.

    >>> float(entropy(np.array([0.5, 0.5])).round(6))
    0.693147
    """
    return np.asarray(-plogp(np.asarray(p, dtype=np.float64)).sum(axis=-1))


def no_less(information: float) -> float:
    """An entropy as computed by `entropy`, rounded up so far that the true one is not above it."""
    return math.nextafter(information + ENTROPY_ERROR * (1 + information), math.inf)


def share_kept(information: float, entropy: float) -> float:
    """I(X;Y) / H(X); where X tells nothing, all of it is kept."""
    return information / entropy if entropy else 1.0


def mutual_information(joint: Matrix) -> float:
    """I(A;B) = Σ p(a,b) ln(p(a,b) / p(a)p(b)), for p[a, b] summing to 1; never below 0.

    >>> mutual_information(np.full((2, 2), 0.25))
    0.0
    """
    joint = np.asarray(joint, dtype=np.float64)
    a, b = np.nonzero(joint > 0)
    logs = np.log(joint[a, b]) - np.log(joint.sum(axis=1)[a]) - np.log(joint.sum(axis=0)[b])
    return max(0.0, float(joint[a, b] @ logs))
