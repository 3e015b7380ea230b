"""privacyfunnel: publish tables without giving away the secret in them.

A table has a secret column S and columns X that are to be published. `optimise` finds the random
channel Y of X that keeps the most of X while a worst-case promise bounds what Y says about S.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privacyfunnel.advice.advise import advise
    from privacyfunnel.advice.attackers import known_costs
    from privacyfunnel.advice.merging import coarsen
    from privacyfunnel.attacks.attack import attack
    from privacyfunnel.attacks.repetition import repeated
    from privacyfunnel.cli.releasing import release
    from privacyfunnel.distribution.joint import Joint
    from privacyfunnel.distribution.model import Model
    from privacyfunnel.errors import PrivacyFunnelError
    from privacyfunnel.estimates.answer import estimate
    from privacyfunnel.estimates.associate import associate
    from privacyfunnel.estimates.compare import compare
    from privacyfunnel.estimates.expected import expected_errors
    from privacyfunnel.estimates.models.regress import regress
    from privacyfunnel.estimates.posterior import posterior
    from privacyfunnel.estimates.replicates import replicates
    from privacyfunnel.estimates.rubin import rubin
    from privacyfunnel.optimiser.optimise import optimise
    from privacyfunnel.optimiser.smallest_epsilon import epsilon_for
    from privacyfunnel.optimiser.tradeoff import tradeoff
    from privacyfunnel.promises.belief import Belief
    from privacyfunnel.promises.notion import Notion
    from privacyfunnel.promises.notions import ALIP, LDP, LIP, PML, SRLDP, SRLIP, PerfectPrivacy
    from privacyfunnel.promises.ordered import Ordered
    from privacyfunnel.promises.robust import robust
    from privacyfunnel.promises.several import Promises
    from privacyfunnel.proof.certificate import certify
    from privacyfunnel.proof.over_population import level_over, population_findings, sharpness
    from privacyfunnel.proof.together import certify_together
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
    "Belief",
    "Domain",
    "Joint",
    "Model",
    "Notion",
    "Ordered",
    "PerfectPrivacy",
    "PrivacyFunnel",
    "PrivacyFunnelError",
    "Promises",
    "Protocol",
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
    "release",
    "repeated",
    "replicates",
    "robust",
    "rubin",
    "sharpness",
    "tradeoff",
]

_HOMES = {
    "advice.advise": ("advise",),
    "advice.attackers": ("known_costs",),
    "advice.merging": ("coarsen",),
    "attacks.attack": ("attack",),
    "proof.certificate": ("certify",),
    "proof.together": ("certify_together",),
    "errors": ("PrivacyFunnelError",),
    "estimates.answer": ("estimate",),
    "estimates.models.regress": ("regress",),
    "estimates.associate": ("associate",),
    "estimates.compare": ("compare",),
    "estimates.expected": ("expected_errors",),
    "estimates.posterior": ("posterior",),
    "estimates.replicates": ("replicates",),
    "estimates.rubin": ("rubin",),
    "distribution.joint": ("Joint",),
    "distribution.model": ("Model",),
    "promises.notions": (
        "ALIP",
        "LDP",
        "LIP",
        "PML",
        "SRLDP",
        "SRLIP",
        "PerfectPrivacy",
    ),
    "optimiser.tradeoff": ("tradeoff",),
    "optimiser.optimise": ("optimise",),
    "optimiser.smallest_epsilon": ("epsilon_for",),
    "proof.over_population": (
        "level_over",
        "population_findings",
        "sharpness",
    ),
    "promises.belief": ("Belief",),
    "promises.notion": ("Notion",),
    "promises.ordered": ("Ordered",),
    "promises.several": ("Promises",),
    "protocols.protocol": ("Protocol",),
    "promises.robust": ("robust",),
    "attacks.repetition": ("repeated",),
    "tables.domain": ("Domain",),
    "transformer": ("PrivacyFunnel",),
    "cli.releasing": ("release",),
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
