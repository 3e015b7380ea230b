"""How often intervals by Rubin's rules hold, of replicates of released rows that are read in each of four ways.

A large table of the demo, and that of COMPAS, stand for the population. Of each of RELEASES samples a share, a mean and
both slopes of a regression are found in REPLICATES plausible tables and put together by `pf.rubin`. "counted" and
"private" samples are fitted, each by itself, and released; the other two are released by one protocol that was fitted
once: one that keeps information, and a faithful one, whose rows are then other ones. Their promises are the strictest,
in tenths, of which replicates are not refused. The standard error of a share of intervals is 0.7 points at 1,000
releases.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from unittest.mock import patch

import numpy as np
import pandas as pd

from benchmarks.large import DATA

RELEASES = 1_000
REPLICATES = 8
PEOPLE = {"demo": 3_000, "compas": 2_500}
"""In each sample."""
GAP = 0.3
"""Of faithful protocols: any may be used, and one that is found quickly redraws more."""


@dataclass(frozen=True)
class Way:
    """How rows come to be, and what is known of them."""

    name: str
    epsilon: dict[str, float]
    objective: str
    rows: str | None
    again: bool
    """Whether every sample is fitted."""
    private: bool = False


WAYS = (
    Way("counted", {"demo": 0.5, "compas": 0.5}, "faithful", "fitted", again=True),
    Way("private fit", {"demo": 0.5, "compas": 0.5}, "faithful", "fitted", again=True, private=True),
    Way("worked back, information", {"demo": 0.4, "compas": 0.5}, "information", None, again=False),
    Way("worked back, other rows", {"demo": 0.1, "compas": 0.5}, "faithful", "other", again=False),
)
SECRETS = {"demo": "obese", "compas": "two_year_recid"}
ASKED = {"demo": ("height", "age", ("sex", "male")), "compas": ("score", "prior", ("sex", "Male"))}
"""The response, a term beside sex, and whose share is asked for."""


def run(releases: int = RELEASES, *names: str) -> list[dict[str, object]]:
    """All tables and ways, or those that are named."""
    tables = [name for name in SECRETS if not names or name in names]
    if "compas" in tables and not DATA.is_dir():
        tables.remove("compas")
    return [held(name, way, releases) for name in tables for way in WAYS]


def held(name: str, way: Way, releases: int) -> dict[str, object]:
    """How often intervals hold in so many releases."""
    import privacyfunnel as pf

    whole, rng = population(name), np.random.default_rng(1)
    columns = [column for column in whole if column != SECRETS[name]]
    true = analysed({column: whole[column].to_numpy() for column in columns}, *ASKED[name])[0]
    joint = pf.Joint.from_table(whole, SECRETS[name], columns)
    found, refused = [], 0
    protocol = None if way.again else _made(name, way, joint)
    for seed in range(releases):
        sample = rng.multinomial(PEOPLE[name], joint.weights.ravel() / joint.weights.sum())
        sample = sample.reshape(joint.weights.shape)
        own = protocol or _fitted(name, way, joint, sample)
        with _released(_outputs(own, joint, sample.sum(axis=0), rng)):
            try:
                drawn = pf.replicates(None, own, REPLICATES, seed, rows=way.rows)
            except pf.PrivacyFunnelError:
                refused += 1
                continue
        tables = [{name: one[name].to_numpy() for name in one.schema.names} for one in drawn]
        each = np.array([analysed(table, *ASKED[name]) for table in tables])
        put = [pf.rubin(each[:, 0, i], each[:, 1, i]) for i in range(len(true))]
        found.append([(one.low <= t <= one.high, one.value, one.error) for one, t in zip(put, true, strict=True)])
    return _row(f"{name}, LIP {way.epsilon[name]}, {way.name}", true, np.array(found), refused)


@contextmanager
def _released(y: np.ndarray) -> Iterator[None]:
    """Outputs instead of a released file, which would be read as these; scores of a protocol are found once."""
    from privacyfunnel.estimates import replicates

    with (
        patch.object(replicates, "as_published", lambda protocol, *_, **__: protocol),
        patch.object(replicates, "outputs_of_rows", lambda *_, **__: y),
        patch.object(replicates, "Scorer", _scorer),
    ):
        yield


@lru_cache(maxsize=2)
def _scorer(block):
    from privacyfunnel.estimates.scores import Scorer

    return Scorer(block)


def _outputs(protocol, joint, people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The outputs that so many people with each combination of values get."""
    block, there = protocol.block, people > 0
    Q = block.channel.dense()[:, block.read(joint.codes[there])]
    drawn = [rng.multinomial(n, q / q.sum()) for n, q in zip(people[there], Q.T, strict=True)]
    return np.repeat(np.arange(len(Q)), np.sum(drawn, axis=0))


def _row(label: str, true: np.ndarray, found: np.ndarray, refused: int) -> dict[str, object]:
    if not len(found):
        return {"measured": label, "refused": refused}
    holds, value, error = np.moveaxis(found, -1, 0)
    return {
        "measured": label,
        "releases": len(found),
        "refused": refused,
        "share": f"{holds[:, 0].mean():.1%}",
        "mean": f"{holds[:, 1].mean():.1%}",
        "slopes": ", ".join(f"{one:.1%}" for one in holds[:, 2:].mean(axis=0)),
        "bias / error": float(np.abs((value - true).mean(axis=0) / value.std(axis=0)).max()),
        "error / spread": ", ".join(f"{one:.2f}" for one in np.sqrt((error**2).mean(axis=0)) / value.std(axis=0)),
    }


def _fitted(name: str, way: Way, joint, sample: np.ndarray):
    """A protocol of a sample."""
    import privacyfunnel as pf

    if not way.private:
        there = sample.sum(axis=0) > 0
        own = sample[:, there], joint.codes[there]
        return _made(name, way, pf.Joint.from_codes(*own, joint.columns, joint.secret, joint.secret_values))
    secret, x = np.nonzero(sample)
    labels = {column.name: np.array(column.labels)[joint.codes[x, j]] for j, column in enumerate(joint.columns)}
    labels[joint.secret] = np.array(joint.secret_values)[secret]
    table = pd.DataFrame(labels).iloc[np.repeat(np.arange(len(x)), sample[secret, x])]
    columns = [column.name for column in joint.columns]
    return _made(name, way, pf.Joint.from_table(table, joint.secret, columns, private=1.0, at_least=10, insist=True))


def _made(name: str, way: Way, joint):
    import privacyfunnel as pf

    how = {} if way.objective == "information" else {"gap": GAP}
    return pf.optimise(joint, pf.LIP(way.epsilon[name]), objective=way.objective, time_limit=20, **how)


@cache
def population(name: str) -> pd.DataFrame:
    if name == "demo":
        from privacyfunnel.population import people

        found = pd.DataFrame(people(200_000, seed=1))
        found["age"] = pd.cut(found["age"], [17, 30, 45, 60, 75, 90], labels=False)
        found["height"] = pd.cut(found["height"], [0, 165, 172, 180, 300], labels=False)
        return found[["sex", "age", "height", "obese"]]
    found = pd.read_csv(DATA / "compas.csv.gz")
    found["score"], found["prior"] = (found["decile_score"] - 1) // 3, np.minimum(found["priors_count"], 3)
    return found[["sex", "prior", "score", "two_year_recid"]]


def analysed(table: Mapping[str, np.ndarray], y: str, x: str, share: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """A share, a mean and both slopes of a regression, each with its variance in a table of people."""
    own, v = (table[share[0]] == share[1]).astype(float), table[y].astype(float)
    X = np.column_stack([np.ones(len(v)), table[x].astype(float), own])
    back = np.linalg.inv(X.T @ X)
    b = back @ X.T @ v
    around = back @ ((X * ((v - X @ b) ** 2)[:, None]).T @ X) @ back
    estimates = [own.mean(), v.mean(), *b[1:]]
    return np.array(estimates), np.array([own.var() / len(v), v.var() / len(v), *np.diag(around)[1:]])


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.__main__ import show

    show(Console(width=200), "rubin", run(int(sys.argv[1]) if sys.argv[1:] else RELEASES, *sys.argv[2:]))
