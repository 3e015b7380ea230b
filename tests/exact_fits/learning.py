"""A model that learns from other people's secrets what a protocol's numbers say about them.

Its features are what the file tells about a value of X: how often it stays as it is, how many outputs it gives and how
its partners lean, as far as the secrets of those who have them are among the examples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exact_fits.partners import Partners, lean_of
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.typing import Integers, Matrix

FOLDS = 5
"""The secrets of four fifths of the values' people are known, those of the last fifth are named."""
TREES = 200
"""There are only as many examples as values, so that many trees cost little."""
FEWEST_IN_A_LEAF = 3
"""Values: fewer would have the trees learn single values by heart."""


def by_learning(partners: Partners, joint: Joint, people: Integers, seed: int | None) -> Integers:
    """The secret that a model names for x, which never saw the secret of anybody who has x."""
    forest = _forest()
    rng = np.random.default_rng(seed)
    fold = rng.permutation(np.arange(joint.n_x) % FOLDS)
    named = np.empty(joint.n_x, dtype=np.int64)
    for k in range(FOLDS):
        known, asked = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        features = _features(partners, joint, people, known)
        s, x = np.nonzero(joint.weights[:, known])
        share = joint.p_s_given_x[s, known[x]]  # every value counts once, whoever has it
        model = forest(int(rng.integers(2**31))).fit(features[known[x]], s, sample_weight=share)
        named[asked] = model.predict(features[asked])
    return named


def _features(partners: Partners, joint: Joint, people: Integers, known: Integers) -> Matrix:
    """Numbers for every x, from the protocol, how many people have each value, and the secrets of the known ones."""
    given, lean = partners.given, np.zeros((joint.n_x, joint.n_s))
    lean[known] = lean_of(joint)[known]
    entropy = -np.bincount(given.tocoo().row, given.data * np.log(given.data), joint.n_x)
    size = partners.mean(np.log(people.astype(np.float64))[:, None])
    plain = [np.log(people), np.diff(given.indptr), given.max(axis=1).toarray().ravel(), entropy, partners.own]
    # Of a known value its own lean is left out: the features must mean the same for those whose secret is asked for.
    return np.column_stack([*plain, size, partners.mean(lean), -partners.mean(-partners.mean(lean))])


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    def make(seed: int) -> Any:
        return RandomForestClassifier(TREES, min_samples_leaf=FEWEST_IN_A_LEAF, random_state=seed)

    return make
