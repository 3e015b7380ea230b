"""Learn, then test: a channel is chosen with some of the people, and tested on the others.

Candidates come from those who choose alone, from coarse to fine. They are tested in this order up to the first that
fails, and the one of those that passed that keeps most is the channel: to release one that breaks the promise, the
first such candidate must pass, and that happens with probability β at most, however many there are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidPromise
from privacyfunnel.optimiser.program.state import State
from privacyfunnel.optimiser.robust.smoothed_counts import smoothed
from privacyfunnel.promises.notion import Notion
from privacyfunnel.proof.certificate import limits_to_test
from privacyfunnel.proof.lifts import Entries
from privacyfunnel.proof.setting_aside import SetAside
from privacyfunnel.proof.tested import passes
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.protocol import information_kept
from privacyfunnel.typing import Integers, Matrix

MARGINS = (9.0, 7.5, 6.5, 5.8, 5.2, 4.7, 4.3, 4.0, 3.7, 3.4, 3.1, 2.8)
"""Standard errors of the test that outputs should stay inside of the promise: from coarse to fine, in this order."""
SEED = 20
"""Of the search for candidates, which has no say in who is set aside."""
TWO = 2
"""Values of the secret: a channel is sought by the share of the second."""


def learn_and_test(joint: Joint, notion: Notion, state: State) -> tuple[Channel, str]:
    """The best channel for all values of `joint` that passed the test, and what was done, in words."""
    if joint.n_s != TWO:
        raise InvalidPromise(
            f"a test is for secrets with two values, and this one has {joint.n_s}; use another set of distributions"
        )
    parts = SetAside.of(joint)
    allowed, doubt = limits_to_test(notion)
    found, tried, failed = Channel.from_dense(np.ones((1, joint.n_x))), 0, False
    for candidate in _candidates(joint, notion, parts, state):
        tried += 1
        failed = not passes(Entries.of(candidate), parts, allowed, doubt)
        if failed:
            break
        kept = information_kept(candidate, joint.p_x)
        if kept > state.utility:
            found, state.utility = candidate, kept
        state.report()
    return found, _words(parts, tried, failed)


def _candidates(joint: Joint, notion: Notion, parts: SetAside, state: State) -> Iterator[Channel]:
    """Channels from coarse to fine; nothing of those who test is looked at but their number."""
    from privacyfunnel.optimiser.robust.annealed_outputs import Window, candidate

    if parts.choosing.sum(axis=1).min() == 0:
        return
    rng = np.random.default_rng(SEED)
    p = _smoothed(joint, parts.choosing, rng)
    window = Window.of(notion.limits.granted(), float(p[1].sum()))
    for margin in MARGINS:
        if state.stopped():
            return
        Q = candidate(p, float(parts.testing.sum()), window, margin, int(rng.integers(2**31)))
        if len(Q) > 1:
            yield Channel.from_dense(Q)


def _smoothed(joint: Joint, n: Integers, rng: np.random.Generator) -> Matrix:
    """p[s, x] for the values of `joint` in their order."""
    sizes = [len(column) for column in joint.columns]
    place = np.ravel_multi_index(tuple(joint.codes.T), sizes)
    whole = np.zeros_like(n)
    whole[:, place] = n
    return smoothed(whole, sizes, rng)[:, place]


def _words(parts: SetAside, tried: int, failed: bool) -> str:
    people = f"chosen with {parts.choosing.sum():,} people, tested on {parts.testing.sum():,} who were set aside"
    passed = tried - failed
    which = f"of {tried} candidates, from coarse to fine, {passed} passed{' before one failed' if failed else ''}"
    return f"{people}; {which}; no upper bound but H(X) is known"
