"""The protocol of a model: what it promises, and what is kept by rows that are distributed as the model says."""

from __future__ import annotations

from collections.abc import Sequence

from privacyfunnel.distribution.column import Reading
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.kept import Likeness
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.wide.by_model import ByModel


def of_model(notion: Notion, step: ByModel, secret: str, secret_readings: Sequence[Reading]) -> Protocol:
    """With I(X;Y), H(X) and the shares of cells and rows that stay by the model; no bound is known but these at most.

    Rows redrawn have the distribution of the model exactly, so they can be counted as they stand.
    """
    kept = step.kept
    return Protocol(
        notion,
        step,
        min(kept.information, kept.entropy),
        kept.entropy,
        kept.entropy,
        step.how,
        secret,
        tuple(secret_readings),
        fitted="exact counts" if step.epsilon is None else "private counts",
        likeness=Likeness(kept.cells, 1.0, kept.cells, kept.rows),
        people=step.people,
    )
