"""Resting: the best mixture of known posteriors and of one more, the rest, which is whatever keeps the promise.

    min Σ_v q_v H(v) + ln(n) Σ_x r[x]  s.t.  Σ_v q_v v + r = p_x,  G r ≤ 0,  q ≥ 0, r ≥ 0.

The promise is homogeneous, so r is an output like any other, and ln n is no less than its entropy: the program is
feasible whatever is known (r = p_x), values that lack posteriors go to the rest, and so does as little as possible of
those that they need beside them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from privacyfunnel.errors import SolverFailure
from privacyfunnel.optimiser.program.master import Master
from privacyfunnel.optimiser.program.polytope import Columns
from privacyfunnel.optimiser.splitting.covering import A_LITTLE, Part
from privacyfunnel.optimiser.splitting.halves import Piece, breaks, stricter, together
from privacyfunnel.promises.sparse_rows import scaled
from privacyfunnel.typing import Vector


class Resting:
    """Mixtures of p_x under the rows G."""

    def __init__(self, G: sparse.csr_array, p_x: Vector) -> None:
        self._G, self._p_x = sparse.csc_array(G), p_x

    def mixed(self, outside: NDArray[np.bool_], known: list[Columns], seconds: float) -> list[Piece]:
        """The mixture, with the values `outside` in the rest whole; the others have a little in it, too.

        That is for rounding: entries that fall off along chains of companions would be cut off somewhere.
        """
        part = Part.without(self._p_x, np.where(outside, self._p_x, 0.0))
        n, group = len(part.x), np.where(outside, len(part.x), part.place)
        member = sparse.csr_array((self._p_x, (np.arange(len(group)), group)), shape=(len(group), n + 1))
        A = stricter(scaled(together(self._G, member)))
        master = Master(part.v)
        for columns in known:
            master.add(part.inside(columns))
        whole = sparse.csr_array(A[:, [n]]).toarray().ravel()
        price = math.log(len(group))
        master.lend_together(sparse.csr_array(A[:, :n]), -whole, A_LITTLE, price, alone=not outside.any())
        master.give_up_after(seconds)
        q = master.solve()[0]
        f = np.append((master.lent / part.v).clip(A_LITTLE, 1.0), 1.0)
        if breaks(A, f):
            raise SolverFailure("the rest misses the promise by more than the search leaves room for")
        used = np.flatnonzero(q > 0)
        rest = Piece(np.arange(len(group)), self._p_x * f[group])
        return [*part.pieces(master.columns.take(used), q[used]), rest]
