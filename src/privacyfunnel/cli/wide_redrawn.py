"""How rows are redrawn by a model, and why so: by groups, or as a program over all pairs of combinations found best."""

from __future__ import annotations

from privacyfunnel.optimiser.wide.listing import MOST_VALUES
from privacyfunnel.protocols.wide.by_model import ByModel


def how_redrawn(step: ByModel) -> str:
    """How rows are redrawn, and why so."""
    if step.redrawn_by == "program":
        return (
            f"Rows are redrawn as a program over all pairs of combinations found best: {len(step.plan.listed):,} "
            "ways to release them, which the file lists."
        )
    few = step.n_outputs <= MOST_VALUES
    why = "found nothing in time that leaves more cells" if few else f"is for up to {MOST_VALUES:,} combinations"
    return f"Rows are redrawn in groups of values few columns apart (the program over all pairs {why})."
