"""What draws the rows of a table, by the step of the protocol."""

from __future__ import annotations

from collections.abc import Callable

from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.step import Kind
from privacyfunnel.tables.filling import FillingSanitiser
from privacyfunnel.tables.pairs import PairSanitiser
from privacyfunnel.tables.sanitiser import Sanitiser, Unseen
from privacyfunnel.tables.wide.redrawing import ModelSanitiser, WorkersSanitiser

SANITISERS: dict[Kind, Callable[[Protocol, Unseen], Sanitiser]] = {
    "channel": Sanitiser,
    "by_history": PairSanitiser,
    "by_model": ModelSanitiser,
}
"""Draws rows here; by a follow-up, from batches with the numbers of histories."""
IN_TASKS: dict[Kind, Callable[[Protocol, Unseen], Sanitiser]] = {**SANITISERS, "by_model": WorkersSanitiser}
"""The same in the tasks of a cluster, of which many share a worker."""


def sanitiser_of(protocol: Protocol, unseen: Unseen = "refuse", in_task: bool = False) -> Sanitiser:
    """What draws rows by a protocol, here or in a task of a cluster."""
    certified = (IN_TASKS if in_task else SANITISERS)[protocol.step.kind](protocol, unseen)
    return certified if protocol.fill is None else FillingSanitiser(certified)
