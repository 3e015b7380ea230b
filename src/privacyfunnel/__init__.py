"""privacyfunnel: publish tables without giving away the secret in them."""

from privacyfunnel.certificate import Certificate, certify
from privacyfunnel.joint import Joint
from privacyfunnel.notions import ALIP, LDP, LIP, PML, PerfectPrivacy
from privacyfunnel.optimise.solve import optimise
from privacyfunnel.protocol import Protocol
