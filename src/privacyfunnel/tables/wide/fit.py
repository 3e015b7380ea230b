"""Fitting a wide protocol: counts, a private model of them, the rule for a promise, and its proof."""

from __future__ import annotations

import math
from dataclasses import replace

from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.fitting import fitted_model
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.laplace_split import LaplaceNoise
from privacyfunnel.distribution.marginals import Marginals
from privacyfunnel.distribution.model import MOST_CELLS
from privacyfunnel.distribution.noise import MOST_PEOPLE
from privacyfunnel.distribution.pair_model import PairModel
from privacyfunnel.drawing.gaussian import checked_model_delta
from privacyfunnel.drawing.laplace import checked_epsilon
from privacyfunnel.errors import InvalidInput, NotCertified
from privacyfunnel.numeric.clock import ticks
from privacyfunnel.optimiser.aiming import REHEARSING, late_after
from privacyfunnel.optimiser.rehearsal import aim_for
from privacyfunnel.optimiser.wide.listing import SECONDS, listed_for
from privacyfunnel.optimiser.wide.margin import aimed_at, lists_aim_at
from privacyfunnel.optimiser.wide.mixtures import mixing_rule_for
from privacyfunnel.optimiser.wide.shares import rule_for
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.wide import certify_plan
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.protocols.wide.by_model import TWO, ByModel, plan_by
from privacyfunnel.protocols.wide.listed import ListRule
from privacyfunnel.protocols.wide.mixing_rule import MOST_SECRETS, MixingRule
from privacyfunnel.protocols.wide.noisy_tables import TableNoise
from privacyfunnel.protocols.wide.of_model import of_model
from privacyfunnel.protocols.wide.rule import Plan, Rule
from privacyfunnel.tables.public_part import PublicPart
from privacyfunnel.tables.wide.all_pairs import gaussian_marginals, noise_on_pairs
from privacyfunnel.tables.wide.choosing import too_many
from privacyfunnel.tables.wide.marginals import exact_marginals, private_marginals
from privacyfunnel.tables.wide.rehearsed_tables import PublishedTables
from privacyfunnel.typing import Integers


def fit_wide(
    joint: Joint,
    notion: Notion,
    epsilon: float | None,
    spent: float = 0.0,
    delta: float | None = None,
    seconds: float | None = SECONDS,
) -> Protocol:
    """The protocol for all combinations of the columns' values, by a model with ε₀ = `epsilon`, or without noise.

    What was `spent` of ε₀ on choosing columns is not spent on the model. Noise is Gaussian with `delta` as δ₀ (1e-6,
    or 0 for few columns, unless it is given), and Laplace noise where that is 0. Where combinations are few, a program
    over all pairs of them has so many `seconds`; if it finds nothing better than groups in them, rows are redrawn by
    groups.
    """
    _check(joint, notion)
    if seconds is not None and not seconds >= 0:
        raise InvalidInput(f"a time limit is a number of seconds that is at least 0; got {seconds!r}")
    marginals, noise = noisy_marginals(joint, notion, epsilon, spent, delta)
    return _follows(marginals, noise, PublicPart.of(joint), notion, epsilon, seconds)


def _follows(
    marginals: Marginals,
    noise: TableNoise,
    public: PublicPart,
    notion: Notion,
    epsilon: float | None,
    seconds: float | None,
) -> Protocol:
    """The protocol that follows from noisy tables: nothing else of the people is at hand here."""
    begun, model = ticks(), fitted_model(marginals)
    late = late_after(seconds, REHEARSING)
    published = _published(public, marginals, model, noise, notion, epsilon)
    aim = None if published is None else aim_for(published, notion, late)
    inside = notion if aim is None else aim.inside(notion)
    left = None if seconds is None else max(0.0, seconds - (ticks() - begun))
    return replace(_made(public, marginals, model, inside, noise, epsilon, left), notion=notion, aim=aim)


def published_tables(protocol: Protocol) -> PublishedTables | None:
    """What is published of a table by the protocol of its model; None of one without noise."""
    step = protocol.by_model
    secrets = tuple(f"value {s}" for s in range(step.model.n_s))
    public = PublicPart(
        step.columns, protocol.secret, (), protocol.secret_readings, (), secrets, step.people, step.declared, ()
    )
    return _published(public, step.tables, step.model, step.noise, protocol.notion, step.epsilon)


def _published(
    public: PublicPart,
    marginals: Marginals,
    model: PairModel,
    noise: TableNoise,
    notion: Notion,
    epsilon: float | None,
) -> PublishedTables | None:
    """Rehearsed rows are redrawn by groups, which takes no search that time could end."""
    if noise is None or epsilon is None:
        return None

    def make(own: PublishedTables, tables: Marginals, refit: PairModel, aim: Notion) -> tuple[Protocol, bool]:
        return _made(own.public, tables, refit, aim, own.noise, own.private, 0.0), False

    return PublishedTables(public, model.weights(), tuple(marginals.drawn), noise, epsilon, notion.epsilon, make)


def _made(
    public: PublicPart,
    marginals: Marginals,
    model: PairModel,
    notion: Notion,
    noise: TableNoise,
    epsilon: float | None,
    seconds: float | None,
) -> Protocol:
    """The protocol of a model for a promise."""
    rule, plan = _redrawing_for(notion, epsilon is not None, model.weights(), public.columns, seconds)
    step = ByModel(public.columns, marginals, model, rule, epsilon, noise, public.declared, plan.digest())
    step.__dict__["plan"] = plan  # which was proven, and need not be made again
    return of_model(notion, step, public.secret, public.secret_readings)


def noisy_marginals(
    joint: Joint, notion: Notion, epsilon: float | None, spent: float, delta: float | None
) -> tuple[Marginals, TableNoise]:
    """The tables that the model is made of, and their noise."""
    if epsilon is None:
        return exact_marginals(joint), None
    epsilon, delta = checked_epsilon(epsilon), None if delta is None else checked_model_delta(delta)
    gaussian = noise_on_pairs(len(joint.columns), epsilon, delta, notion.epsilon, spent)
    if gaussian is not None:
        return gaussian_marginals(joint, gaussian), gaussian
    laplace = LaplaceNoise(spent)
    return private_marginals(joint, checked_epsilon(laplace.left(epsilon))), laplace


def _redrawing_for(
    notion: Notion, noisy: bool, weights: Integers, columns: tuple[Column, ...], seconds: float | None
) -> tuple[Rule | MixingRule | ListRule, Plan]:
    """How rows are redrawn: by a list, where one is found that is better than groups, and by groups elsewhere."""
    sizes, limits = tuple(len(column) for column in columns), notion.limits
    rule = _rule_for(aimed_at(limits) if noisy else limits, weights, sizes)
    groups = plan_by(rule, weights, sizes)
    certificate = certify_plan(groups, notion)
    if not certificate:
        raise NotCertified(f"the groups of the model were not proven: {certificate.reason}; use a larger ε")
    listed = listed_for(notion, lists_aim_at(limits) if noisy else limits, groups, columns, seconds)
    if listed is None:
        return rule, groups
    return ListRule.of(listed.listed, len(weights), math.prod(sizes)), listed


def _rule_for(limits: Limits, weights: Integers, sizes: tuple[int, ...]) -> Rule | MixingRule:
    return rule_for(limits, weights, sizes) if len(weights) == TWO else mixing_rule_for(limits, weights, sizes)


def _check(joint: Joint, notion: Notion) -> None:
    """Refuse what a model cannot do, before anything is drawn."""
    if notion.confidence is not None or not notion.simple or "known" in notion.parameters():
        raise InvalidInput(
            "a model is for promises to those who know nothing of a person beforehand, without a confidence: "
            "lip, ldp, alip or pml"
        )
    check_wide(joint)
    sizes = [len(column) for column in joint.columns]
    if math.prod(sizes) > MOST_CELLS:
        raise InvalidInput(
            f"{too_many(joint.attributes, sizes)}; or --columns auto leaves out those that tell least about the "
            "secret, by noisy counts within --private"
        )


def check_wide(joint: Joint) -> None:
    """Refuse secrets and counts that a model is not for; which values of the secret occur is not looked at."""
    values = [len(column) for column in joint.secret_columns]
    if len(values) != 1 or not TWO <= values[0] <= MOST_SECRETS:
        raise InvalidInput(
            f"a model is for one secret with two to {MOST_SECRETS} values; this one has "
            f"{max(values, default=0)}: merge its values beforehand"
        )
    if any(column.name in joint.attributes for column in joint.secret_columns):
        raise InvalidInput("a model cannot release the secret itself; leave it out of the columns")
    if not joint.counted or joint.noise is not None or joint.total > MOST_PEOPLE:
        raise InvalidInput(f"a model needs exact counts of at most {MOST_PEOPLE:,} people")
