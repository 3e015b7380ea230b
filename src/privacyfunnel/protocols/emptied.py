"""Emptied columns: those whose released values say next to nothing of the original ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.numeric.information import entropy
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Vector

NEXT_TO_NOTHING = 0.02
"""Of the information in a column: what is left of it is hardly worth a column."""
NOTHING = 1e-12
"""Nats: the rounding error of the entropy of a column that is the same in every row."""


@dataclass(frozen=True)
class Emptied:
    """How much each released column tells of the original one, I(X_j;Y_j) / H(X_j); 1 where all rows are alike."""

    shares: dict[str, float]

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that tell next to nothing."""
        return tuple(name for name, share in self.shares.items() if share < NEXT_TO_NOTHING)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"columns": list(self.columns), "kept_shares": self.shares}

    def words(self, *, public: bool = False) -> str:
        """Which columns, in a line, and to the steward what to do; nothing if there are none."""
        if not self.columns:
            return ""
        one = len(self.columns) == 1
        text = (
            f"Emptied: {', '.join(self.columns)}: {'its' if one else 'their'} released values say next to nothing of "
            "the original ones."
        )
        if public:
            return text
        left = "it" if one else "them"
        return f"{text} Leave {left} out, or allow more: a larger ε, or fewer or coarser columns beside."


def emptied(protocol: Protocol, joint: Joint | None = None) -> Emptied:
    """What is left of each column, for rows with the distribution of `joint`.

    Without one, for what the protocol tells of it: the distribution of a faithful release is that of the rows;
    of another protocol all combinations of values count the same. That is asked of listed channels alone.
    """
    if not protocol.step.listed:
        return Emptied({})
    p_x = _distribution(protocol, joint)
    return Emptied({name: _kept_share(protocol.block, j, p_x) for j, name in enumerate(protocol.attributes)})


def _distribution(protocol: Protocol, joint: Joint | None) -> Vector:
    """P(x) for the inputs."""
    block, n = protocol.block, protocol.block.channel.n_inputs
    if joint is not None:
        return np.bincount(block.inputs_of(joint), weights=joint.p_x, minlength=n).astype(np.float64)
    if protocol.likeness is not None:
        return np.asarray(block.marginal / UNIT)
    return np.full(n, 1.0 / n)


def _kept_share(block: Block, j: int, p_x: Vector) -> float:
    """I(X_j;Y_j) / H(X_j) for inputs with the probabilities p_x. Columns may have too many values for a matrix."""
    entries, codes, size = block.channel, block.codes[:, j], len(block.columns[j])
    mass = entries.numerators / UNIT * p_x[entries.inputs]
    occur = mass > 0
    original, released = codes[entries.inputs[occur]], codes[block.labels[entries.outputs[occur]]]
    pairs, at = np.unique(original * size + released, return_inverse=True)
    p = np.bincount(at.ravel(), weights=mass[occur])
    before, after = np.divmod(pairs, size)
    p_before, p_after = np.bincount(before, weights=p), np.bincount(after, weights=p)
    most = float(entropy(p_before.astype(np.float64)))
    told = float(p @ (np.log(p) - np.log(p_before[before]) - np.log(p_after[after])))
    return min(1.0, max(0.0, told) / most) if most > NOTHING else 1.0
