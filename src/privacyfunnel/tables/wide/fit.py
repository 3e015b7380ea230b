"""Fitting a wide protocol: counts, a private model of them, the rule for a promise, and its proof."""

from __future__ import annotations

from pathlib import Path

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.model import product_size
from privacyfunnel.distribution.noise import MOST_PEOPLE
from privacyfunnel.drawing.laplace import checked_epsilon
from privacyfunnel.errors import InvalidInput, NotCertified
from privacyfunnel.optimiser.wide.shares import rule_for
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.wide import certify_plan
from privacyfunnel.protocols.wide.file import to_text
from privacyfunnel.protocols.wide.kept import kept_by
from privacyfunnel.protocols.wide.protocol import WideProtocol
from privacyfunnel.protocols.wide.rule import plan_of
from privacyfunnel.tables.wide.column_counts import column_counts
from privacyfunnel.tables.wide.fitting import fitted_model
from privacyfunnel.tables.wide.marginals import exact_marginals, private_marginals
from privacyfunnel.tables.writing import check_output, whole_file

TWO = 2
"""Values of the secret that the rule is for."""


def fit_wide(joint: Joint, notion: Notion, epsilon: float | None) -> WideProtocol:
    """The protocol for all combinations of the columns' values, by a model with ε₀ = `epsilon`, or without noise."""
    _check(joint, notion)
    marginals = exact_marginals(joint) if epsilon is None else private_marginals(joint, checked_epsilon(epsilon))
    model = fitted_model(marginals)
    weights = model.weights()
    rule = rule_for(notion, weights, model.sizes)
    plan = plan_of(rule, weights, model.sizes)
    certificate = certify_plan(plan, notion)
    if not certificate:
        raise NotCertified(f"the groups of the model were not proven: {certificate.reason}; use a larger ε")
    return WideProtocol(
        notion,
        joint.columns,
        model,
        rule,
        kept_by(plan, model.sizes),
        joint.secret,
        joint.secret_readings,
        joint.total,
        epsilon,
        joint.declared,
        plan.digest(),
        column_counts(marginals),
    )


def save_wide(protocol: WideProtocol, path: Path, force: bool) -> None:
    """Write the protocol's file."""
    check_output(path, force)
    with whole_file(path, force) as file:
        file.write(to_text(protocol).encode("utf-8"))


def _check(joint: Joint, notion: Notion) -> None:
    """Refuse what a model cannot do, before anything is drawn."""
    if notion.confidence is not None or not notion.simple or "known" in notion.parameters():
        raise InvalidInput(
            "--model is for promises to those who know nothing of a person beforehand, without a confidence: "
            "lip, ldp, alip or pml"
        )
    values = [len(column) for column in joint.secret_columns]
    if values != [TWO] or joint.n_s != TWO:
        raise InvalidInput(
            f"--model is for one secret with two values that both occur; this one has {max(values, default=0)}: merge "
            "its values beforehand"
        )
    if any(column.name in joint.attributes for column in joint.secret_columns):
        raise InvalidInput("--model cannot release the secret itself; leave it out of the attributes")
    if not joint.counted or joint.noise is not None or joint.total > MOST_PEOPLE:
        raise InvalidInput(f"--model needs exact counts of at most {MOST_PEOPLE:,} people")
    product_size([len(column) for column in joint.columns])
