"""privacyfunnel: publish tables without giving away the secret in them.

A table has a secret column S and columns X that are to be published. `optimise` finds the random
channel Y of X that keeps the most of X while a worst-case promise bounds what Y says about S.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privacyfunnel.attacks import Attack, attack
    from privacyfunnel.beliefs import Attacker
    from privacyfunnel.certificate import Certificate, certify
    from privacyfunnel.composition import compose
    from privacyfunnel.errors import PrivacyFunnelError
    from privacyfunnel.estimates.answer import Estimates, estimate
    from privacyfunnel.estimates.posterior import Posterior, posterior
    from privacyfunnel.joint import Joint
    from privacyfunnel.notions import ALIP, LDP, LIP, PML, SRLDP, SRLIP, PerfectPrivacy
    from privacyfunnel.optimiser.curve import Tradeoff, tradeoff
    from privacyfunnel.optimiser.solve import optimise
    from privacyfunnel.optimiser.state import Progress
    from privacyfunnel.optimiser.wish import Wish, epsilon_for
    from privacyfunnel.population_level import (
        PopulationFindings,
        PopulationLevel,
        Sharpness,
        level_over,
        population_findings,
        sharpness,
    )
    from privacyfunnel.promise import Notion
    from privacyfunnel.protocol import Protocol
    from privacyfunnel.repetition import Repeated, repeated
    from privacyfunnel.robust_promise import Robust, robust
    from privacyfunnel.transformer import PrivacyFunnel

__all__ = [
    "ALIP",
    "LDP",
    "LIP",
    "PML",
    "SRLDP",
    "SRLIP",
    "Attack",
    "Attacker",
    "Certificate",
    "Estimates",
    "Joint",
    "Notion",
    "PerfectPrivacy",
    "PopulationFindings",
    "PopulationLevel",
    "Posterior",
    "PrivacyFunnel",
    "PrivacyFunnelError",
    "Progress",
    "Protocol",
    "Repeated",
    "Robust",
    "Sharpness",
    "Tradeoff",
    "Wish",
    "attack",
    "certify",
    "compose",
    "epsilon_for",
    "estimate",
    "level_over",
    "optimise",
    "population_findings",
    "posterior",
    "repeated",
    "robust",
    "sharpness",
    "tradeoff",
]

_HOMES = {
    "attacks": ("Attack", "attack"),
    "beliefs": ("Attacker",),
    "certificate": ("Certificate", "certify"),
    "composition": ("compose",),
    "errors": ("PrivacyFunnelError",),
    "estimates.answer": ("Estimates", "estimate"),
    "estimates.posterior": ("Posterior", "posterior"),
    "joint": ("Joint",),
    "notions": ("ALIP", "LDP", "LIP", "PML", "SRLDP", "SRLIP", "PerfectPrivacy"),
    "optimiser.curve": ("Tradeoff", "tradeoff"),
    "optimiser.solve": ("optimise",),
    "optimiser.state": ("Progress",),
    "optimiser.wish": ("Wish", "epsilon_for"),
    "population_level": (
        "PopulationFindings",
        "PopulationLevel",
        "Sharpness",
        "level_over",
        "population_findings",
        "sharpness",
    ),
    "promise": ("Notion",),
    "protocol": ("Protocol",),
    "robust_promise": ("Robust", "robust"),
    "repetition": ("Repeated", "repeated"),
    "transformer": ("PrivacyFunnel",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Public names are loaded when they are first used, so that the command line starts at once."""
    if name not in _HOME:
        raise AttributeError(f"module 'privacyfunnel' has no attribute {name!r}")
    value = getattr(import_module(f"privacyfunnel.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
