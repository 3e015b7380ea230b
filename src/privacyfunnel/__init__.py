"""privacyfunnel: publish tables without giving away the secret in them.

A table has a secret column S and columns X that are to be published. `optimise` finds the random
channel Y of X that keeps the most of X while a worst-case promise bounds what Y says about S.
"""

from privacyfunnel.certificate import Certificate, certify
from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.joint import Joint
from privacyfunnel.notions import ALIP, LDP, LIP, PML, SRLDP, SRLIP, Notion, PerfectPrivacy
from privacyfunnel.optimiser.curve import Tradeoff, tradeoff
from privacyfunnel.optimiser.solve import Progress, optimise
from privacyfunnel.protocol import Protocol

__all__ = [
    "ALIP",
    "LDP",
    "LIP",
    "PML",
    "SRLDP",
    "SRLIP",
    "Certificate",
    "Joint",
    "Notion",
    "PerfectPrivacy",
    "PrivacyFunnelError",
    "Progress",
    "Protocol",
    "Tradeoff",
    "certify",
    "optimise",
    "tradeoff",
]
