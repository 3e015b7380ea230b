"""Labels: which value each output of a channel is written as, so that rows that somebody counts mislead least."""

from __future__ import annotations

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.similarity import Similarity
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.typing import Integers, Vector

DENSE_ASSIGNMENT = 1_000_000
"""Up to this many (output, value) pairs, all of them are weighed against each other for labels: that takes a second."""
SPARSE_ASSIGNMENT = 50_000
"""Up to this many entries of a channel, labels are the best assignment; beyond, a greedy one."""


def assigned(channel: Channel, mass: Vector, joint: Joint) -> Integers:
    """A different input for every output, maximising Σ_y Σ_x P(x, y) sim(x, label(y)), with mass = P(x, y) by entry.

    So outputs that occur often come first, and a label that is wrong is wrong in few columns: rows that somebody
    counts, against all advice, mislead as little as labels can. No two outputs share one, as estimates must tell them
    apart. Where there are very many, Σ_y P(label(y), y) is maximised, at last greedily.
    """
    from scipy.optimize import linear_sum_assignment

    if channel.n_outputs * channel.n_inputs > DENSE_ASSIGNMENT:
        enough = len(mass) > SPARSE_ASSIGNMENT
        return greedy(channel, mass) if enough else most_probable(channel, mass)
    P = np.zeros((channel.n_outputs, channel.n_inputs))
    P[channel.outputs, channel.inputs] = mass
    return np.asarray(linear_sum_assignment(P @ Similarity.of(joint).dense(), maximize=True)[1])


def most_probable(channel: Channel, mass: Vector) -> Integers:
    """The most probable pairs, from the channel's entries alone; outputs left without take what is left."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n_y, n_x = channel.n_outputs, channel.n_inputs
    outputs = np.concatenate([channel.outputs, np.arange(n_y)])
    choices = np.concatenate([channel.inputs, n_x + np.arange(n_y)])
    cost = np.concatenate([2.0 - mass, np.full(n_y, 2.0)])  # an explicit 0 would be no choice
    # Old versions of SciPy match graphs with 32-bit numbers only.
    graph = csr_array((cost, (outputs.astype(np.int32), choices.astype(np.int32))), shape=(n_y, n_x + n_y))
    label = np.asarray(min_weight_full_bipartite_matching(graph)[1], dtype=np.int64)
    left = np.flatnonzero(label >= n_x)
    label[left] = np.setdiff1d(np.arange(n_x), label)[: len(left)]
    return label


def greedy(channel: Channel, mass: Vector) -> Integers:
    """The most probable pairs choose first; the remaining outputs take the remaining values."""
    label = np.full(channel.n_outputs, -1)
    free = np.ones(channel.n_inputs, dtype=bool)
    for i in np.argsort(-mass, kind="stable"):
        y, x = channel.outputs[i], channel.inputs[i]
        if label[y] < 0 and free[x]:
            label[y], free[x] = x, False
    left = np.flatnonzero(label < 0)
    label[left] = np.flatnonzero(free)[: len(left)]
    return label


def likeliest(channel: Channel, mass: Vector) -> Integers:
    """The most probable input of every output, the first of several; outputs may share one."""
    order = np.lexsort((channel.inputs, -mass, channel.outputs))
    outputs = channel.outputs[order]
    first = np.searchsorted(outputs, np.arange(channel.n_outputs))
    return np.asarray(channel.inputs[order][first])


def numbered(labels: Integers) -> Integers | None:
    """For labels in increasing order, which of its equals each is, from 0; None if all differ.

    >>> numbered(np.array([3, 3, 5]))
    array([0, 1, 0])
    """
    numbers = np.arange(len(labels)) - np.searchsorted(labels, labels)
    return numbers if numbers.any() else None
