"""Where each way of searching keeps the number by which it decides whether it takes a problem."""

from privacyfunnel.optimiser.few_secrets import search
from privacyfunnel.optimiser.program import listing
from privacyfunnel.optimiser.two_secrets import pairing

HOME = {"LIST_VERTICES": listing, "PAIR_VALUES": pairing, "SWEEP_SUPPORTS": search}
