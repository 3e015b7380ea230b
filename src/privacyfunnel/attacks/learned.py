"""Learned attackers: models trained on rows whose secret they are shown, tried on rows whose secret they are not.

They know nothing of p(s, x) or of the protocol, only examples, so the Bayes attacker bounds them up to noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privacyfunnel.attacks.outcomes import inputs_on
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, MissingExtra
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Integers, Matrix, Vector

MOST_ROWS = 20_000
"""Rows that models are trained and tried on; more are sampled down to this."""
MOST_COUNTED = 10**9
"""More people are not drawn one by one, but from their frequencies."""
FOLDS = 5
"""A model learns from four fifths of the rows and is tried on the rest; more folds only take longer."""
ITERATIONS = 1_000
"""Of logistic regression: ten times the library's default, at which it may warn that it has not settled."""
TREES = 30
"""Enough to even out single trees; more only take longer, and the Bayes attacker bounds them all."""
FEWEST_IN_A_LEAF = 10
"""Rows: fewer would have the trees learn single people by heart."""
SMALLEST_BELIEF = 1e-6
"""A model that rules out what happens would have an infinite loss; its beliefs are cut off here."""


@dataclass(frozen=True)
class Score:
    """How well a model guesses the secret of rows it was not trained on."""

    model: str
    accuracy: float
    accuracy_error: float
    """Standard error of the accuracy."""
    log_loss: float
    """Mean −ln P(true secret), in nats; lower is better."""


@dataclass(frozen=True)
class Learned:
    """The best model from each thing that is seen."""

    rows: int
    folds: int
    nothing: Score
    released: Score
    original: Score

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


def learn(joint: Joint, protocol: Protocol, *, rows: int = MOST_ROWS, seed: int | None = None) -> Learned:
    """Cross-validated attackers on the people that `joint` counts (or on draws from it, if it holds probabilities)."""
    models = _models()
    rng = np.random.default_rng(seed)
    s, x = _people(joint, rows, rng)
    fewest = int(np.bincount(s, minlength=joint.n_s)[np.unique(s)].min())
    folds = min(FOLDS, fewest)
    if folds < 2:
        raise InvalidInput("a learned attacker needs every value of the secret at least twice; merge the rare ones")
    fold = _folds(s, folds, rng)
    seen = {
        "nothing": np.zeros((len(s), 1), dtype=np.int64),
        "released": _released(joint, protocol, x, rng),
        "original": joint.codes[x],
    }
    best = {name: _best(features, s, fold, models, blind=name == "nothing") for name, features in seen.items()}
    return Learned(len(s), folds, **best)


def _models() -> Mapping[str, Any]:
    try:
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder
    except ImportError:
        raise MissingExtra("scikit-learn", "sklearn") from None

    def logistic() -> Any:
        return make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=ITERATIONS))

    def forest() -> Any:
        return RandomForestClassifier(TREES, min_samples_leaf=FEWEST_IN_A_LEAF, random_state=0)

    return {"logistic regression": logistic, "random forest": forest}


def _people(joint: Joint, rows: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """The secret and the value of X of every person, at most `rows` of them, in random order."""
    if not joint.counted or joint.total > MOST_COUNTED:
        cells = rng.choice(joint.p.size, size=rows, p=joint.p.ravel())
    elif joint.total <= rows:
        cells = rng.permutation(np.repeat(np.arange(joint.p.size), joint.weights.ravel().astype(np.int64)))
    else:
        kept = rng.multivariate_hypergeometric(joint.weights.ravel().astype(np.int64), rows, method="marginals")
        cells = rng.permutation(np.repeat(np.arange(joint.p.size), kept))
    s, x = np.divmod(cells, joint.n_x)
    return s.astype(np.int64), x.astype(np.int64)


def _folds(s: Integers, folds: int, rng: np.random.Generator) -> Integers:
    """The fold of every row: each secret is spread evenly over all folds."""
    fold = np.empty(len(s), dtype=np.int64)
    for value in np.unique(s):
        rows = rng.permutation(np.flatnonzero(s == value))
        fold[rows] = (np.arange(len(rows)) + rng.integers(folds)) % folds
    return fold


def _released(joint: Joint, protocol: Protocol, x: Integers, rng: np.random.Generator) -> Integers:
    """Released rows for the values x of X, as the codes of the values that they are written in."""
    codes = np.empty((len(x), len(joint.attributes)), dtype=np.int64)
    block = protocol.block
    y = draw(block, inputs_on(block, joint)[x], rng)
    codes[:, [joint.attributes.index(name) for name in block.attributes]] = block.codes[block.labels[y]]
    return codes if block.variants is None else np.column_stack([codes, block.variants[y]])


def draw(block: Block, inputs: Integers, rng: np.random.Generator) -> Integers:
    """An output for every input, exactly by the channel. For simulations: `sanitise` has better randomness."""
    channel = block.channel
    ends = np.cumsum(channel.numerators)  # column x ends at (x + 1)·2³², so one search serves all columns
    shots = inputs * UNIT + rng.integers(0, UNIT, len(inputs))
    return np.asarray(channel.outputs[np.searchsorted(ends, shots, side="right")])


def _best(features: Integers, s: Integers, fold: Integers, models: Mapping[str, Any], blind: bool) -> Score:
    """The model with the smallest loss on rows it was not trained on; frequencies alone where nothing is seen."""
    n_s = int(s.max()) + 1
    if blind:
        return _score("frequencies", _frequencies(s, fold, n_s), s)
    scores = [_score(name, _beliefs(make, features, s, fold, n_s), s) for name, make in models.items()]
    return min(scores, key=lambda score: score.log_loss)


def _frequencies(s: Integers, fold: Integers, n_s: int) -> Matrix:
    belief = np.empty((len(s), n_s))
    for k in np.unique(fold):
        belief[fold == k] = np.bincount(s[fold != k], minlength=n_s) / (fold != k).sum()
    return belief


def _beliefs(make: Any, features: Integers, s: Integers, fold: Integers, n_s: int) -> Matrix:
    """belief[i, s]: what a model that never saw row i believes of it."""
    belief = np.zeros((len(s), n_s))
    for k in np.unique(fold):
        model = make().fit(features[fold != k], s[fold != k])
        belief[np.ix_(fold == k, model.classes_)] = model.predict_proba(features[fold == k])
    return belief


def _score(model: str, belief: Matrix, s: Integers) -> Score:
    right: Vector = belief.argmax(axis=1) == s
    accuracy = float(right.mean())
    true = np.clip(belief[np.arange(len(s)), s], SMALLEST_BELIEF, 1.0)
    return Score(model, accuracy, math.sqrt(accuracy * (1 - accuracy) / len(s)), float(-np.log(true).mean()))
