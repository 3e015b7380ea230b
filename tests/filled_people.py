"""A small table with kept and filled columns of all kinds, and its protocol."""

import datetime

import numpy as np
import pyarrow as pa

import privacyfunnel as pf
from privacyfunnel.tables.fill import with_fill
from privacyfunnel.tables.sources import open_source

FILLED = ("job", "wage", "score", "day", "few")


def people(n=4_000, seed=7):
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 3, n)
    age = rng.integers(18, 80, n)
    ill = rng.random(n) < 0.15 + 0.2 * (town == 1) + 0.1 * (age > 50)
    job = (town + rng.integers(0, 2, n)) % 4
    wage = np.where(rng.random(n) < 0.2, 0, 200 * (job + 1) + rng.integers(0, 400, n))
    score = np.round(rng.normal(5 + town, 1, n), 2)
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 700, n)]
    return pa.table(
        {
            "id": pa.array([f"p{i}" for i in range(n)]),
            "town": pa.array(np.array(["a", "b", "c"])[town]),
            "job": pa.array(np.array(["x", "y", "z", 'it\'s "odd"\n'])[job]),
            "age": pa.array(age, mask=rng.random(n) < 0.02),
            "ill": pa.array(np.array(["no", "yes"])[ill.astype(int)]),
            "wage": pa.array(wage, mask=rng.random(n) < 0.1),
            "score": pa.array(score),
            "day": pa.array(days),
            "few": pa.array(rng.integers(1, 4, n)),
        }
    )


def kept(table, private=2.0):
    joint = pf.Joint.from_table(table, secret="ill", attributes=["town", "age"], private=private, at_least=5)
    return pf.optimise(joint, pf.LIP(0.5), objective="faithful", gap=0.05)


def filled(table, protocol, epsilon=4.0, names=FILLED):
    return with_fill(protocol, open_source(table), list(names), epsilon)
