"""Hypothesis strategies: joints with zero cells, ties and twins; promises; channels."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import privacyfunnel as pf

UNIT = 2**32


@st.composite
def _counts(draw, n_s, n_x):
    largest = draw(st.sampled_from([1, 3, 20, 1_000, 10**6]))
    cells = st.lists(st.integers(0, largest), min_size=n_s * n_x, max_size=n_s * n_x)
    return np.array(draw(cells), dtype=np.int64).reshape(n_s, n_x)


@st.composite
def _probabilities(draw, n_s, n_x):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    alpha = draw(st.sampled_from([0.5, 1.0, 5.0]))
    p = rng.dirichlet(np.full(n_s * n_x, alpha)).reshape(n_s, n_x)
    p[p < 1e-7] = 0.0
    if draw(st.booleans()):
        p[rng.random((n_s, n_x)) < 0.3] = 0.0
    return p


@st.composite
def _skewed(draw, n_s, n_x):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return 10.0 ** rng.uniform(-12, 0, (n_s, n_x)) * (rng.random((n_s, n_x)) < 0.85)


@st.composite
def arrays(draw, *, max_s=4, max_x=6, min_s=1, min_x=1, skewed=False):
    """Arrays (c, a) in which every secret occurs, often with twin columns or columns in proportion."""
    n_s, n_x = draw(st.integers(min_s, max_s)), draw(st.integers(min_x, max_x))
    kinds = [_skewed(n_s, n_x)] if skewed else [_counts(n_s, n_x), _probabilities(n_s, n_x)]
    array = draw(st.one_of(kinds))
    if n_x >= 2 and draw(st.booleans()):
        array[:, -1] = array[:, 0] * draw(st.sampled_from([1, 2, 3]))
    for s in np.flatnonzero(array.sum(axis=1) == 0):
        array[s, draw(st.integers(0, n_x - 1))] = 1
    return array


def joints(**shape):
    """Joints of counts or of probabilities, small, with zero cells, ties and duplicated columns."""
    return arrays(**shape).map(pf.Joint)


def epsilons(low=0.01, high=50.0):
    """Values of ε, round ones often."""
    round_ones = [e for e in (0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 50.0) if low <= e <= high]
    return st.one_of(st.sampled_from(round_ones), st.floats(low, min(high, 4.0)))


def notions(values=None):
    """Every notion that has an ε, at `values`."""
    values = epsilons() if values is None else values
    return st.one_of(
        st.builds(pf.LDP, values),
        st.builds(pf.LIP, values),
        st.builds(pf.ALIP, lower=values, upper=values),
        st.builds(pf.PML, values),
    )


@st.composite
def numerators(draw, n_x, *, max_y=5):
    """Integers N[y, x] with columns that sum to 2³²: an exact channel; some entries are 0."""
    n_y = draw(st.integers(1, max_y))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Q = rng.dirichlet(np.full(n_y, draw(st.sampled_from([0.2, 1.0, 50.0]))), size=n_x).T
    if draw(st.booleans()):
        Q = Q * (Q > 0.1)
    N = np.floor(Q * UNIT).astype(np.int64)
    N[Q.argmax(axis=0), np.arange(n_x)] += UNIT - N.sum(axis=0)
    return N


@st.composite
def joints_with_channels(draw, **shape):
    """A joint and the numerators of an exact channel for it."""
    joint = draw(joints(**shape))
    return joint, draw(numerators(joint.n_x))
