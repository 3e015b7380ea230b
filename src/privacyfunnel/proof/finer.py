"""What people learn from a protocol who know columns more finely than it reads them: its promise is not to them."""

from __future__ import annotations

from privacyfunnel.distribution.joint import Joint
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
    inputs = block.inputs_of(finer)
    if (inputs < 0).any():
        raise InvalidInput("the distribution has values that the protocol does not know")
    return certify_entries(Entries.of(block.channel).at(inputs), finer, notion).level
