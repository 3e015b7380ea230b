"""Blocks of attributes, each released by itself: what their outputs tell together.

Given x, the outputs of different blocks are independent: P(y|x) = Π_b P(y_b|x_b). Somebody who knows the cell
of x (a view) learns nothing of the secret from a block that the cell determines, so those blocks are
left out. For the rest, P(s, cell, y) is p(s, x) with the channel of each block applied along its own axis.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.numeric.information import entropy
from privacyfunnel.promises.limits import SMALLEST_FACTOR, Limits
from privacyfunnel.promises.views import View
from privacyfunnel.protocols.released import MOST_ENTRIES, fit_together
from privacyfunnel.typing import Integers, Matrix

KEPT_ENTRIES = 4_000_000
"""Tensors up to this size are kept for the next time."""
SAME_DIGITS = 12
"""Rows that agree to so many digits are the same."""

Tensor = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Parts:
    """A partition of the attributes into blocks, on a joint distribution and for some views."""

    joint: Joint
    blocks: tuple[tuple[str, ...], ...]
    views: list[View]
    _kept: dict[tuple[int, tuple[int, ...]], Tensor] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.blocks)

    @cached_property
    def joints(self) -> list[Joint]:
        """The joint of the secret and each block."""
        return [self.joint.over(block) for block in self.blocks]

    @cached_property
    def inputs(self) -> list[Integers]:
        """inputs[b][x]: the input of block b that x is."""
        places = [[self.joint.attributes.index(name) for name in block] for block in self.blocks]
        numbers = [np.unique(self.joint.codes[:, at], axis=0, return_inverse=True)[1] for at in places]
        return [number.ravel().astype(np.int64) for number in numbers]

    @cached_property
    def hidden(self) -> list[frozenset[int]]:
        """For every view, the blocks that its cells do not determine."""
        return [frozenset(b for b in range(len(self)) if not _determined(view, self.inputs[b])) for view in self.views]

    def with_outputs(
        self, channels: Sequence[Matrix], view: int, released: Collection[int], kept: int | None = None
    ) -> Tensor:
        """P(s, cell, y of the released blocks in order, x of the kept block); other blocks are summed out.

        Released blocks that the cells determine, or whose channel is constant, are left out.
        """
        blocks = tuple(b for b in sorted(released) if b in self.hidden[view] and len(channels[b]) > 1)
        tensor = self._base(view, blocks if kept is None else (*blocks, kept))
        for axis, b in enumerate(blocks, start=2):
            tensor = np.moveaxis(np.tensordot(channels[b], tensor, axes=(1, axis)), 0, axis)
            _check_size(tensor.size)
        return tensor

    def _base(self, view: int, blocks: tuple[int, ...]) -> Tensor:
        """P(s, cell, x of these blocks)."""
        if (view, blocks) in self._kept:
            return self._kept[view, blocks]
        shape = (self.views[view].n_cells, *(self.joints[b].n_x for b in blocks))
        _check_size(self.joint.n_s * math.prod(shape))
        place = np.ravel_multi_index((self.views[view].cell, *(self.inputs[b] for b in blocks)), shape)
        rows = [np.bincount(place, weights=p, minlength=math.prod(shape)) for p in self.joint.p]
        tensor = np.stack(rows).astype(np.float64).reshape(self.joint.n_s, *shape)
        if tensor.size <= KEPT_ENTRIES:
            self._kept[view, blocks] = tensor
        return tensor

    def chained_rows(self, b: int, channels: Sequence[Matrix], released: Collection[int], limits: Limits) -> Matrix:
        """The limits on P(y_b | s, cell, y of the released blocks), in every view whose cells do not determine x_b.

        G with G v ≤ 0 for v[x] = P(x_b|y_b). By the chain rule, the limits of all blocks, each given
        those before it, add up to limits of the product.
        """
        return self._rows(b, channels, released, limits, whole=False)

    def own_rows(self, b: int, limits: Limits) -> Matrix:
        """P(y_b|x) ≤ e^limit·P(y_b|x′) for all x, x′: enough for the limits whatever is known or released besides."""
        p_x, factor = self.joints[b].p_x, math.exp(-min(limits.lower, limits.upper, limits.spread))
        x, other = np.nonzero(~np.eye(len(p_x), dtype=bool))
        rows = np.arange(len(x))
        G = np.zeros((len(x), len(p_x)))
        G[rows, x], G[rows, other] = factor / p_x[x], -1 / p_x[other]
        return _different(G)

    def whole_rows(self, b: int, channels: Sequence[Matrix], limits: Limits) -> Matrix:
        """The limits on P(y|s, cell) of the whole product: linear in the channel of one block, given the others'."""
        return self._rows(b, channels, range(len(self)), limits, whole=True)

    def _rows(
        self, b: int, channels: Sequence[Matrix], released: Collection[int], limits: Limits, *, whole: bool
    ) -> Matrix:
        p_x = self.joints[b].p_x
        parts = [np.empty((0, len(p_x)))]
        for view, hidden in enumerate(self.hidden):
            if b in hidden:
                tensor = self.with_outputs(channels, view, [k for k in released if k != b], kept=b)
                tensor = tensor.reshape(*tensor.shape[:2], -1, len(p_x))
                prior = tensor.sum(axis=(2, 3) if whole else 3, keepdims=True)
                parts.append(_limit_rows(tensor, prior, limits))
        return _different(np.concatenate(parts) / p_x)

    def reached(self, channels: Sequence[Matrix]) -> Limits:
        """How far down, up and apart the lifts of the product go in the views, in float64."""
        widest = Limits(0.0, 0.0, 0.0)
        for view in range(len(self.views)):
            given = self.with_outputs(channels, view, range(len(self)))
            given = given.reshape(*given.shape[:2], -1)  # [s, cell, y]
            prior = given.sum(axis=2, keepdims=True)
            possible = (prior > 0) & (given.sum(axis=0) > 0)
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(given / prior) - np.log(given.sum(axis=0) / prior.sum(axis=0))
            widest = widest.wider(Limits.around(logs, possible))
        return widest

    def work(self, channels: Sequence[Matrix]) -> int:
        """Multiplications that an audit over all outputs would take."""
        total = 0
        for view, hidden in zip(self.views, self.hidden, strict=True):
            shapes = [channels[b].shape for b in sorted(hidden) if len(channels[b]) > 1]
            sizes = [inputs for _, inputs in shapes]
            for i, (outputs, _) in enumerate(shapes):
                total += math.prod(sizes) * outputs * self.joint.n_s * view.n_cells
                sizes[i] = outputs
        return total

    def utility(self, channels: Sequence[Matrix]) -> float:
        """I(X;Y) = H(Y) − Σ_b H(Y_b|X_b) in nats; if all outputs are too many, of the blocks that tell the most."""
        nothing = next(i for i, view in enumerate(self.views) if view.n_cells == 1)
        noise = [float(joint.p_x @ entropy(Q.T)) for joint, Q in zip(self.joints, channels, strict=True)]
        alone = [float(entropy(Q @ joint.p_x)) - n for joint, Q, n in zip(self.joints, channels, noise, strict=True)]
        taken = fit_together([Q.shape for Q in channels], alone, self.joint.n_s)
        together = self.with_outputs(channels, nothing, taken).sum(axis=0).ravel()
        return max(0.0, float(entropy(together)) - sum(noise[b] for b in taken))


def _determined(view: View, inputs: Integers) -> bool:
    """Whether each cell of the view holds a single input."""
    return len(np.unique(np.stack([view.cell, inputs], axis=1), axis=0)) == view.n_cells


def _limit_rows(tensor: Tensor, prior: Tensor, limits: Limits) -> Matrix:
    """The limits on Σ_x tensor[s, cell, y, x]·Q(x) / prior[s, cell, y], compared with its mean over s; in Q."""
    shape = tensor.shape[1:]
    possible = np.broadcast_to(prior > 0, (*tensor.shape[:3], 1))[..., 0]
    given = tensor / np.where(prior > 0, prior, 1.0)
    overall = prior.sum(axis=0)
    within = tensor.sum(axis=0) / np.where(overall > 0, overall, 1.0)
    parts = [np.empty((0, shape[-1]))]
    for s in range(len(tensor)):
        if math.isfinite(limits.upper):
            parts.append((given[s] * math.exp(-limits.upper) - within)[possible[s]])
        if math.isfinite(limits.lower):
            parts.append((within * max(math.exp(-limits.lower), SMALLEST_FACTOR) - given[s])[possible[s]])
        if math.isfinite(limits.spread):
            factor = max(math.exp(-limits.spread), SMALLEST_FACTOR)
            others = [t for t in range(len(tensor)) if t != s]
            parts.extend((given[s] * factor - given[t])[possible[s] & possible[t]] for t in others)
    return np.concatenate(parts)


def _different(G: Matrix) -> Matrix:
    """The rows that can be broken, scaled to a largest coefficient of 1, each once."""
    G = G[G.max(axis=1, initial=0.0) > 0]
    G = G / np.abs(G).max(axis=1, initial=0.0, keepdims=True)
    _, first = np.unique(np.round(G, SAME_DIGITS), axis=0, return_index=True)
    return np.asarray(G[np.sort(first)])


def _check_size(entries: int) -> None:
    if entries > MOST_ENTRIES:
        raise InvalidPromise(
            f"the blocks have {entries:,} joint outputs, too many to check; "
            "use larger blocks, fewer attributes or coarser values"
        )
