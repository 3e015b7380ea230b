"""Compiles the loops that most searches use, once, so that tests find them. Each is kept on disk beside its module.

`make test` sets this up with everything else: two processes would otherwise compile each loop twice, in the middle of
tests whose time is limited. What no problem here needs is compiled when it is first used, as on any machine.
"""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pyarrow as pa

import privacyfunnel as pf
from privacyfunnel.errors import ExactFit
from privacyfunnel.population import people

SEED = 0


def main() -> None:
    """A small problem for each way."""
    warnings.simplefilter("ignore", ExactFit)
    rng = np.random.default_rng(SEED)
    table = pa.table(people(2_000, seed=SEED))
    joint = pf.Joint.from_table(table, "obese", ["sex", "town"])
    counts = pf.Joint(rng.multinomial(5_000, rng.dirichlet(np.ones(12))).reshape(2, 6))
    first = pf.optimise(joint, pf.LIP(0.2))
    for secrets, values in ((2, 400), (3, 90), (4, 30), (6, 40)):
        pf.optimise(pf.Joint(rng.random((secrets, values))), pf.LIP(0.5), gap=1e-3, time_limit=5)
    pf.optimise(pf.Joint(rng.random((2, 3, 3, 2))), pf.SRLIP(0.5), gap=1e-3, time_limit=20)
    _split(pf.Joint(rng.random((2, 3, 3, 2))))
    for within in ("nested", "intervals"):
        pf.optimise(counts, pf.robust(pf.LIP(0.5), confidence=0.9, within=within), time_limit=5)
    for secrets in (2, 3):
        pf.optimise(pf.Joint(rng.random((secrets, 4, 5))), pf.LIP(0.3), objective="faithful", time_limit=5)
    pf.optimise(joint, pf.LIP(0.3), readers="pairs")
    pf.optimise(joint, pf.LIP(0.4), after=first)
    first.sanitise(table)


def _split(joint: pf.Joint) -> None:
    """What searches among thousands of values do, on a few."""
    from privacyfunnel.numeric.clock import ticks
    from privacyfunnel.optimiser.splitting.search import split_search

    split_search(joint, pf.SRLIP(0.5), 10.0, None, threading.Event(), ticks())


if __name__ == "__main__":
    main()
