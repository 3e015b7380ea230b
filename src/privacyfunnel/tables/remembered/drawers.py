"""Drawers: what people are drawn by a protocol with its key. A follow-up draws all that it follows first.

The history of somebody who did not change is a function of the key and of their values, as each of their rows is: who
is released for the first time by a follow-up takes the first steps, too, and in the same way as everybody else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privacyfunnel.drawing.keyed import Mac
from privacyfunnel.drawing.persons import Persons
from privacyfunnel.protocols.by_history import ByHistory
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.by_step import sanitiser_of
from privacyfunnel.tables.earlier_releases import check_no_history
from privacyfunnel.tables.pairs import PairSanitiser
from privacyfunnel.tables.sanitiser import Sanitiser, Unseen
from privacyfunnel.typing import Integers

Drawn = tuple[NDArray[np.int32], NDArray[np.uint64]]
"""y[i, :], an output of every block of every release so far; and marks[i], equal if a person's values are."""


class Drawer:
    """Draws by one protocol with its key."""

    def __init__(self, sanitiser: Sanitiser, key: bytes) -> None:
        self.sanitiser, self._mac = sanitiser, Mac(key)

    @property
    def strangers(self) -> Counter[str]:
        """Rows with values that were not seen when fitting, by column."""
        return self.sanitiser.strangers

    def drawn(self, batch: pa.RecordBatch, persons: Persons, threads: int | None, others: dict[Drawer, Drawn]) -> Drawn:
        """What rows are drawn; `others` is what drawers have drawn for this batch already, each once."""
        if self not in others:
            others[self] = self._draw(batch, persons, threads, others)
        return others[self]

    def _draw(self, batch: pa.RecordBatch, persons: Persons, threads: int | None, others: dict[Drawer, Drawn]) -> Drawn:
        return self.sanitiser.keyed_outputs(self.sanitiser.inputs(batch), persons, self._mac, threads)


class FollowingDrawer(Drawer):
    """Draws what a follow-up does, given what the drawer before has drawn for the same people."""

    def __init__(self, follow_up: Protocol, key: bytes, before: Drawer) -> None:
        super().__init__(PairSanitiser(follow_up), key)
        self._before, self._steps, self._histories = before, follow_up.by_history, Histories(follow_up.by_history)
        self._follow_up = follow_up

    @property
    def strangers(self) -> Counter[str]:
        """Also those of what it follows."""
        return self._before.strangers + self.sanitiser.strangers

    def _draw(self, batch: pa.RecordBatch, persons: Persons, threads: int | None, others: dict[Drawer, Drawn]) -> Drawn:
        check_no_history(batch.schema.names, self._follow_up)
        past, mark = self._before.drawn(batch, persons, threads, others)
        joined = batch.append_column(self._steps.history, pa.array(self._histories.numbers(past)))
        y, own = self.sanitiser.keyed_outputs(self.sanitiser.inputs(joined), persons, self._mac, threads)
        return np.hstack([past, y]), mark ^ own


def drawers(
    protocols: Sequence[Protocol | None], follows: Sequence[int], keys: Sequence[bytes], unseen: Unseen
) -> list[Drawer | None]:
    """A drawer for every protocol that there is; what is not seen is drawn by the first one alone, if at all."""
    found: dict[int, Drawer] = {}

    def drawer(p: int) -> Drawer | None:
        protocol = protocols[p]
        if p in found or protocol is None:
            return found.get(p)
        if protocol.before is not None:
            before = drawer(follows[p])
            if before is not None:
                found[p] = FollowingDrawer(protocol, keys[p], before)
        else:
            found[p] = Drawer(sanitiser_of(protocol, unseen if p == 0 else "refuse"), keys[p])
        return found.get(p)

    return [drawer(p) for p in range(len(protocols))]


class Histories:
    """Finds the numbers of histories, output by output."""

    def __init__(self, steps: ByHistory) -> None:
        self._keys: list[tuple[int, Integers]] = []
        prefix = np.zeros(len(steps.histories), dtype=np.int64)
        for column in steps.histories.T:
            most = int(column.max()) + 2  # one for all others
            keys, following = np.unique(prefix * most + column, return_inverse=True)
            self._keys.append((most, keys))
            prefix = following.ravel()
        self._number = np.argsort(prefix)

    def numbers(self, y: NDArray[np.int32]) -> Integers:
        """The number of the history y[i, :]; −1 if it is none."""
        place, known = np.zeros(len(y), dtype=np.int64), np.ones(len(y), dtype=bool)
        for (most, keys), column in zip(self._keys, y.T, strict=True):
            wanted = place * most + np.minimum(column, most - 1)
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            known &= keys[place] == wanted
        return np.where(known, self._number[place], -1)
