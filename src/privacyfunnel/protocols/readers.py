"""What readers get who count the rows of a faithful release as they stand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.typing import Vector

LEAST_MOVED = 0.001
"""A share that is off by a tenth of a percentage point is worth a word."""
LEAST_POINTS = 0.01
"""Percentage points: nobody asks for more digits of a share."""


@dataclass(frozen=True)
class ShareErrors:
    """Standard errors of the shares of single values that are counted in a release, by drawing alone."""

    typical: float
    """The median over all values of all columns."""
    worst: float
    """The largest."""
    column: str
    """The column that has it."""
    columns: int
    noise: float | None = None
    """After a private fit: the standard error that the noisy counts of a share have themselves, typically."""
    moved: float = 0.0
    """By how much the share of a value of one column is off, at most, since rare combinations are read as others."""
    moved_column: str = ""
    """The column of that value."""

    def words(self) -> str:
        """Both for people: what is typical, and what the most changed column has."""
        near, most = points(self.typical), points(self.worst)
        of = "of one column " if self.columns > 1 else ""
        rest = f"those of {self.column}" if self.columns > 1 else "all"
        whose = "the original's" if self.noise is None else "those of the published counts"
        noise = "" if self.noise is None else f"; noise in these is typically ± {points(self.noise)}"
        moved = ""
        if self.moved >= LEAST_MOVED:
            off = f"up to {points(self.moved)} points ({self.moved_column})"
            moved = f"; but rare combinations are read as others, which moves shares by {off}"
        return f"shares {of}are typically within ± {near} points of {whose}, {rest} within ± {most}{noise}{moved}"


def share_errors(protocol: Protocol, joint: Joint) -> ShareErrors | None:
    """How far the shares counted in a release of `joint` are off.

    The share of rows with a value a in one column is right in expectation, and its standard error is
    √(Σ_x p_x e_x (1 − e_x) / n) for n rows and e_x = P(x′ has a | x). After a private fit it is right for the noisy
    distribution, and noise comes on top. None where rows cannot be counted as they stand, or where it is not known how
    many there are.
    """
    people = joint.noise.people if joint.noise is not None else joint.total
    if protocol.likeness is None or not (joint.counted or joint.noise is not None):
        return None
    errors = {
        name: np.sqrt(_variances(protocol.block, j, joint) / people) for j, name in enumerate(protocol.attributes)
    }
    column = max(errors, key=lambda name: float(errors[name].max()))
    typical = float(np.median(np.concatenate(list(errors.values()))))
    return ShareErrors(typical, float(errors[column].max()), column, len(errors), _noise(joint), *_moved(joint))


def errors_data(errors: ShareErrors | None) -> dict[str, float | str | None]:
    """The same for machines; errors are of shares between 0 and 1."""
    return {
        "typical_error": errors.typical if errors is not None else None,
        "worst_error": errors.worst if errors is not None else None,
        "worst_column": errors.column if errors is not None else None,
        "moved_by_reading": errors.moved if errors is not None else None,
    }


def _variances(block: Block, j: int, joint: Joint) -> Vector:
    """Σ_x p_x e_x (1 − e_x) for every value that the attribute j has in `joint`."""
    size, entries = len(block.columns[j]), block.channel
    p_x = np.bincount(block.inputs_of(joint), weights=joint.p_x, minlength=entries.n_inputs)
    pairs, place = np.unique(entries.inputs * size + block.codes[block.labels[entries.outputs], j], return_inverse=True)
    e = np.minimum(1.0, np.bincount(place.ravel(), weights=entries.numerators / UNIT))
    variances = np.bincount(pairs % size, weights=p_x[pairs // size] * e * (1 - e), minlength=size)
    there = np.bincount(block.codes[:, j], weights=p_x, minlength=size) > 0
    return variances[there].astype(np.float64)


def _moved(joint: Joint) -> tuple[float, str]:
    """The largest difference of a share of one column before and after rare combinations are read as others."""
    before = joint.before_gathering
    if before is None:
        return 0.0, ""
    off = {}
    for j, column in enumerate(joint.columns):
        shares = [np.bincount(one.codes[:, j], one.p_x, len(column)) for one in (before, joint)]
        off[column.name] = float(np.abs(shares[0] - shares[1]).max())
    name = max(off, key=lambda each: off[each])
    return off[name], name


def _noise(joint: Joint) -> float | None:
    """The standard error by noise of the share of a value: in a column of k values, cells / k of them are summed."""
    if joint.noise is None:
        return None
    cells = float(np.median([joint.noise.counts.size / len(column) for column in joint.columns]))
    return joint.noise.scale * math.sqrt(2 * cells) / joint.noise.people


def reader_words(protocol: Protocol, joint: Joint) -> str | None:
    """What a faithful release means for readers and for the people in it, in a line; None for other protocols."""
    likeness, errors = protocol.likeness, share_errors(protocol, joint)
    if likeness is None:
        return None
    near = f": {errors.words()}" if errors is not None else ""
    by = "by the published counts, " if joint.noise is not None else ""
    return (
        f"readers can count rows as they stand{near}; {by}{_most(likeness.cells_unchanged)} of all cells stay as they "
        "are"
    )


def points(error: float) -> str:
    """A standard error of a share in percentage points, rounded up.

    >>> points(0.00123), points(0.0213), points(0)
    ('0.13', '2.2', '0.01')
    """
    digits = 2 if 100 * error < 1 else 1
    return f"{max(LEAST_POINTS, math.ceil(100 * error * 10**digits) / 10**digits):g}"


def _most(share: float) -> str:
    """A share for people, rounded down."""
    return f"{math.floor(100 * share):d}%"
