"""Columns that are released each by itself: what their outputs tell together.

Given x, the outputs of different columns are independent: P(y|x) = Π_b P(y_b|x_b). Somebody who knows the cell
of x (a view) learns nothing of the secret from a column that the cell determines, so those columns are
left out. For the rest, P(s, cell, y) is p(s, x) with the channel of each column applied along its own axis.
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
from privacyfunnel.typing import Integers, Matrix

MOST_ENTRIES = 40_000_000
"""Numbers in one tensor P(s, …, y) of outputs that are gone through: more would take over 300 megabytes."""
KEPT_ENTRIES = 4_000_000
"""Tensors up to this size are kept for the next time."""
SAME_DIGITS = 12
"""Rows that agree to so many digits are the same."""

Tensor = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Parts:
    """The columns of a joint distribution one by one, for some views."""

    joint: Joint
    views: list[View]
    _kept: dict[tuple[int, tuple[int, ...]], Tensor] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.joint.attributes)

    @cached_property
    def joints(self) -> list[Joint]:
        """The joint of the secret and each column."""
        return [self.joint.over([name]) for name in self.joint.attributes]

    @cached_property
    def inputs(self) -> list[Integers]:
        """inputs[b][x]: the input of column b that x is."""
        numbers = [np.unique(codes, return_inverse=True)[1] for codes in self.joint.codes.T]
        return [number.ravel().astype(np.int64) for number in numbers]

    @cached_property
    def hidden(self) -> list[frozenset[int]]:
        """For every view, the columns that its cells do not determine."""
        return [frozenset(b for b in range(len(self)) if not _determined(view, self.inputs[b])) for view in self.views]

    def with_outputs(
        self, channels: Sequence[Matrix], view: int, released: Collection[int], kept: int | None = None
    ) -> Tensor:
        """P(s, cell, y of the released columns in order, x of the kept column); others are summed out.

        Released columns that the cells determine, or whose channel is constant, are left out.
        """
        own = tuple(b for b in sorted(released) if b in self.hidden[view] and len(channels[b]) > 1)
        tensor = self._base(view, own if kept is None else (*own, kept))
        for axis, b in enumerate(own, start=2):
            tensor = np.moveaxis(np.tensordot(channels[b], tensor, axes=(1, axis)), 0, axis)
            _check_size(tensor.size)
        return tensor

    def _base(self, view: int, columns: tuple[int, ...]) -> Tensor:
        """P(s, cell, x of these columns)."""
        if (view, columns) in self._kept:
            return self._kept[view, columns]
        shape = (self.views[view].n_cells, *(self.joints[b].n_x for b in columns))
        _check_size(self.joint.n_s * math.prod(shape))
        place = np.ravel_multi_index((self.views[view].cell, *(self.inputs[b] for b in columns)), shape)
        rows = [np.bincount(place, weights=p, minlength=math.prod(shape)) for p in self.joint.p]
        tensor = np.stack(rows).astype(np.float64).reshape(self.joint.n_s, *shape)
        if tensor.size <= KEPT_ENTRIES:
            self._kept[view, columns] = tensor
        return tensor

    def chained_rows(self, b: int, channels: Sequence[Matrix], released: Collection[int], limits: Limits) -> Matrix:
        """The limits on P(y_b | s, cell, y of the released columns), in every view whose cells do not determine x_b.

        G with G v ≤ 0 for v[x] = P(x_b|y_b). By the chain rule, the limits of all columns, each given
        those before it, add up to limits of the product.
        """
        return self._rows(b, channels, released, limits, whole=False)

    def whole_rows(self, b: int, channels: Sequence[Matrix], limits: Limits) -> Matrix:
        """The limits on P(y|s, cell) of the whole product: linear in the channel of one column, given the others'."""
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

    def utility(self, channels: Sequence[Matrix]) -> float:
        """I(X;Y) = H(Y) − Σ_b H(Y_b|X_b) in nats."""
        nothing = next(i for i, view in enumerate(self.views) if view.n_cells == 1)
        noise = sum(float(joint.p_x @ entropy(Q.T)) for joint, Q in zip(self.joints, channels, strict=True))
        together = self.with_outputs(channels, nothing, range(len(self))).sum(axis=0).ravel()
        return max(0.0, float(entropy(together)) - noise)


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
            f"the columns have {entries:,} joint outputs, too many to check; use fewer columns or coarser values"
        )
