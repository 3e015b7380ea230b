"""privacyfunnel: publish tables without giving away the secret in them.

A table has a secret column S and columns X that are to be published. `optimise` finds the random
channel Y of X that keeps the most of X while a worst-case promise bounds what Y says about S.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privacyfunnel.advice.advise import Advice, Subset, advise
    from privacyfunnel.advice.attackers import KnownCost, known_costs
    from privacyfunnel.advice.carriers import Carrier
    from privacyfunnel.advice.merging import Coarsening, coarsen
    from privacyfunnel.attacks.attack import Attack, attack
    from privacyfunnel.attacks.bayes import Attacker
    from privacyfunnel.attacks.repetition import Repeated, repeated
    from privacyfunnel.distribution.joint import Joint
    from privacyfunnel.distribution.model import Model
    from privacyfunnel.errors import PrivacyFunnelError
    from privacyfunnel.estimates.answer import Estimates, estimate
    from privacyfunnel.estimates.associate import Association, associate
    from privacyfunnel.estimates.compare import Comparison, compare
    from privacyfunnel.estimates.contrasts import Figure
    from privacyfunnel.estimates.expected import ExpectedErrors, expected_errors
    from privacyfunnel.estimates.models.regress import Regression, regress
    from privacyfunnel.estimates.posterior import Posterior, posterior
    from privacyfunnel.estimates.replicates import replicates
    from privacyfunnel.estimates.rubin import Pooled, rubin
    from privacyfunnel.optimiser.optimise import optimise
    from privacyfunnel.optimiser.program.state import Progress
    from privacyfunnel.optimiser.smallest_epsilon import Wish, epsilon_for
    from privacyfunnel.optimiser.tradeoff import Tradeoff, tradeoff
    from privacyfunnel.promises.belief import Belief
    from privacyfunnel.promises.notion import Notion
    from privacyfunnel.promises.notions import ALIP, LDP, LIP, PML, SRLDP, SRLIP, PerfectPrivacy
    from privacyfunnel.promises.ordered import Ordered
    from privacyfunnel.promises.robust import Robust, robust
    from privacyfunnel.promises.several import Promises
    from privacyfunnel.proof.certificate import certify
    from privacyfunnel.proof.over_population import (
        PopulationFindings,
        PopulationLevel,
        Sharpness,
        level_over,
        population_findings,
        sharpness,
    )
    from privacyfunnel.proof.together import certify_together
    from privacyfunnel.proof.verdict import Certificate
    from privacyfunnel.protocols.follow_up import FollowUp
    from privacyfunnel.protocols.protocol import Protocol
    from privacyfunnel.tables.domain import Domain
    from privacyfunnel.transformer import PrivacyFunnel

__all__ = [
    "ALIP",
    "LDP",
    "LIP",
    "PML",
    "SRLDP",
    "SRLIP",
    "Advice",
    "Association",
    "Attack",
    "Attacker",
    "Belief",
    "Carrier",
    "Certificate",
    "Coarsening",
    "Comparison",
    "Domain",
    "Estimates",
    "ExpectedErrors",
    "Figure",
    "FollowUp",
    "Joint",
    "KnownCost",
    "Model",
    "Notion",
    "Ordered",
    "PerfectPrivacy",
    "Pooled",
    "PopulationFindings",
    "PopulationLevel",
    "Posterior",
    "PrivacyFunnel",
    "PrivacyFunnelError",
    "Progress",
    "Promises",
    "Protocol",
    "Regression",
    "Repeated",
    "Robust",
    "Sharpness",
    "Subset",
    "Tradeoff",
    "Wish",
    "advise",
    "associate",
    "attack",
    "certify",
    "certify_together",
    "coarsen",
    "compare",
    "epsilon_for",
    "estimate",
    "expected_errors",
    "known_costs",
    "level_over",
    "optimise",
    "population_findings",
    "posterior",
    "regress",
    "repeated",
    "replicates",
    "robust",
    "rubin",
    "sharpness",
    "tradeoff",
]

_HOMES = {
    "advice.advise": ("Advice", "Subset", "advise"),
    "advice.attackers": ("KnownCost", "known_costs"),
    "advice.merging": ("Coarsening", "coarsen"),
    "advice.carriers": ("Carrier",),
    "attacks.attack": ("Attack", "attack"),
    "attacks.bayes": ("Attacker",),
    "proof.certificate": ("certify",),
    "proof.verdict": ("Certificate",),
    "proof.together": ("certify_together",),
    "errors": ("PrivacyFunnelError",),
    "estimates.answer": ("Estimates", "estimate"),
    "estimates.models.regress": ("Regression", "regress"),
    "estimates.associate": ("Association", "associate"),
    "estimates.compare": ("Comparison", "compare"),
    "estimates.contrasts": ("Figure",),
    "estimates.expected": ("ExpectedErrors", "expected_errors"),
    "estimates.posterior": ("Posterior", "posterior"),
    "estimates.replicates": ("replicates",),
    "estimates.rubin": ("Pooled", "rubin"),
    "distribution.joint": ("Joint",),
    "distribution.model": ("Model",),
    "promises.notions": ("ALIP", "LDP", "LIP", "PML", "SRLDP", "SRLIP", "PerfectPrivacy"),
    "optimiser.tradeoff": ("Tradeoff", "tradeoff"),
    "optimiser.optimise": ("optimise",),
    "optimiser.program.state": ("Progress",),
    "optimiser.smallest_epsilon": ("Wish", "epsilon_for"),
    "proof.over_population": (
        "PopulationFindings",
        "PopulationLevel",
        "Sharpness",
        "level_over",
        "population_findings",
        "sharpness",
    ),
    "promises.belief": ("Belief",),
    "promises.notion": ("Notion",),
    "promises.ordered": ("Ordered",),
    "promises.several": ("Promises",),
    "protocols.follow_up": ("FollowUp",),
    "protocols.protocol": ("Protocol",),
    "promises.robust": ("Robust", "robust"),
    "attacks.repetition": ("Repeated", "repeated"),
    "tables.domain": ("Domain",),
    "transformer": ("PrivacyFunnel",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Public names are loaded when they are first used, so that the command line starts at once."""
    if name == "paper":
        return import_module("privacyfunnel.paper")
    if name not in _HOME:
        raise AttributeError(f"module 'privacyfunnel' has no attribute {name!r}")
    value = getattr(import_module(f"privacyfunnel.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
