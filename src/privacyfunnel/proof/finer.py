"""What people learn from a protocol who know columns more finely than it reads them: its promise is not to them."""

from __future__ import annotations

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.refinement import read_from
from privacyfunnel.errors import InvalidInput
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import certify_entries
from privacyfunnel.proof.lifts import Entries
from privacyfunnel.protocols.protocol import Protocol


def level_for_finer(protocol: Protocol, finer: Joint, notion: Notion) -> float:
    """The least ε for which `notion` holds to people who know the columns of `finer`; ∞ if there is none.

    Each column of the protocol is one of these, or a coarser one; columns that it does not release may be known, too.
    """
    block = protocol.block
    codes = np.empty((finer.n_x, len(block.columns)), dtype=np.int64)
    for j, column in enumerate(block.columns):
        own = finer.attributes.index(column.name)
        codes[:, j] = read_from(finer.columns[own], column)[finer.codes[:, own]]
    known = {values: x for x, values in enumerate(map(tuple, block.codes.tolist()))}
    inputs = np.array([known.get(values, -1) for values in map(tuple, codes.tolist())], dtype=np.int64)
    if (inputs < 0).any():
        raise InvalidInput("the distribution has values that the protocol does not know")
    return certify_entries(Entries.of(block.channel).at(inputs), finer, notion).level
