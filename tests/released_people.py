"""A population of which tables are samples, released in each of the ways that rows can be read."""

import numpy as np
import pandas as pd

import privacyfunnel as pf

NAMES = ["town", "sex", "age"]
P = np.random.default_rng(5).dirichlet(np.full(2 * 3 * 2 * 3, 2.0)).reshape(2, 3, 2, 3)
"""P(secret, town, sex, age)."""
WAYS = ["counted", "private", "worked back", "next year"]
"""A faithful release of the fitted table, one of a private fit, a release that keeps information, and other rows of a
faithful one."""


def sample(rng, n, p=P):
    """A table of n people."""
    secret, *columns = np.unravel_index(rng.choice(p.size, n, p=p.ravel()), p.shape)
    return pd.DataFrame(dict(zip(NAMES, columns, strict=True)) | {"ill": secret})


def fit(table, way, notion):
    private = {"private": 1.0, "at_least": 10} if way == "private" else {}
    joint = pf.Joint.from_table(table, "ill", NAMES, **private)
    return pf.optimise(joint, notion, objective="information" if way == "worked back" else "faithful")


def releases(rng, way, n, many, notion=None):
    """Pairs of a released table and its protocol, and what is known of its rows; each of other people."""
    notion = notion or pf.LIP(0.5)
    rows = {"counted": "fitted", "private": "fitted", "worked back": None, "next year": "other"}[way]
    protocol = None
    for seed in range(many):
        table = sample(rng, n)
        if protocol is None or rows == "fitted":
            protocol = fit(table, way, notion)
        yield protocol.sanitise(table[NAMES], seed=seed), protocol, rows


def table_of(first, second, p=P):
    """P(first, second) at [value, value]."""
    keep = [1 + NAMES.index(first), 1 + NAMES.index(second)]
    found = p.sum(axis=tuple(axis for axis in range(p.ndim) if axis not in keep))
    return found if keep[0] < keep[1] else found.T
