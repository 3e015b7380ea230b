"""How rows are redrawn by a model, in words: by groups, or as a program over all pairs of combinations found best."""

from __future__ import annotations

from privacyfunnel.optimiser.wide.listing import MOST_VALUES
from privacyfunnel.protocols.wide.by_model import ByModel

TWO = 2
"""Values of a secret, for which combinations are put in pairs; with more, in larger groups."""


def ways_to_release(step: ByModel) -> str:
    """What an audit checked."""
    plan = step.plan
    if step.redrawn_by == "program":
        return f"the {len(plan.listed):,} ways to release them that the file lists"
    groups = f"{len(plan.pairs.m):,} pairs" if step.model.n_s == TWO else f"{len(plan.groups):,} groups"
    return f"{groups} of them"


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
