"""How often intervals by Rubin's rules hold, of replicates of released rows that are read in each of four ways.

A large table of the demo, and that of COMPAS, stand for the population. Of each of RELEASES samples a share, a mean and
both slopes of a regression are found in REPLICATES plausible tables and put together by `pf.rubin`. "counted" and
"private" samples are fitted, each by itself, and released; the other two are released by one protocol that was fitted
once: one that keeps information, and a faithful one, whose rows are then other ones. Their promises are the strictest, in tenths, of which
replicates are not refused. The standard error of a share of intervals is
0.7 points at 1,000 releases.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from benchmarks.large import DATA

RELEASES = 1_000
REPLICATES = 8
PEOPLE = {"demo": 4_000, "compas": 2_500}
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
    Way("worked back, other rows", {"demo": 0.1, "compas": 0.4}, "faithful", "other", again=False),
)
SECRETS = {"demo": "obese", "compas": "two_year_recid"}
ASKED = {"demo": ("height", "age", ("sex", "male")), "compas": ("score", "prior", ("sex", "Male"))}
"""The response, a term beside sex, and whose share is asked for."""


def run(releases: int = RELEASES, *names: str) -> list[dict[str, object]]:
    """All tables and ways, or those that are named."""
    tables = [name for name in SECRETS if not names or name in names]
    ways = [way for way in WAYS if not set(names) - set(SECRETS) or way.name in names]
    if "compas" in tables and not DATA.is_dir():
        tables.remove("compas")
    return [held(name, way, releases) for name in tables for way in ways]


def held(name: str, way: Way, releases: int) -> dict[str, object]:
    import privacyfunnel as pf

    whole = population(name)
    columns = [column for column in whole if column != SECRETS[name]]
    true, rng = analysed(whole, *ASKED[name])[0], np.random.default_rng(1)
    sets = pd.Series(0, index=pd.MultiIndex.from_frame(whole)).groupby(level=list(range(len(whole.columns)))).size()
    values, p = sets.index.to_frame(index=False), sets.to_numpy() / sets.sum()
    found, refused, protocol = [], 0, None
    for seed in range(releases):
        table = values.iloc[np.repeat(np.arange(len(p)), rng.multinomial(PEOPLE[name], p))]
        if protocol is None or way.again:
            protocol = _fitted(name, way, table if way.again else whole, columns)
        released = protocol.sanitise(table[columns], seed=seed)
        try:
            drawn = pf.replicates(released, protocol, REPLICATES, seed, rows=way.rows)
        except pf.PrivacyFunnelError:
            refused += 1
            continue
        each = np.array([analysed(one.to_pandas(), *ASKED[name]) for one in drawn])
        put = [pf.rubin(each[:, 0, i], each[:, 1, i]) for i in range(len(true))]
        found.append([(one.low <= t <= one.high, one.value, one.error) for one, t in zip(put, true, strict=True)])
    return _row(f"{name}, LIP {way.epsilon[name]}, {way.name}", true, np.array(found), refused)


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


def _fitted(name: str, way: Way, table: pd.DataFrame, columns: list[str]):
    import privacyfunnel as pf

    private = {"private": 1.0, "at_least": 10} if way.private else {}
    joint = pf.Joint.from_table(table, SECRETS[name], columns, **private)
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


def analysed(table: pd.DataFrame, y: str, x: str, share: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """A share, a mean and both slopes of a regression, each with its variance in a table of people."""
    own = (table[share[0]] == share[1]).to_numpy(dtype=float)
    v = table[y].to_numpy(dtype=float)
    X = np.column_stack([np.ones(len(v)), table[x].to_numpy(dtype=float), own])
    back = np.linalg.inv(X.T @ X)
    b = back @ X.T @ v
    around = back @ ((X * ((v - X @ b) ** 2)[:, None]).T @ X) @ back
    estimates = [own.mean(), v.mean(), *b[1:]]
    return np.array(estimates), np.array([own.var() / len(v), v.var() / len(v), *np.diag(around)[1:]])


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.__main__ import show

    show(Console(width=200), "rubin", run(int(sys.argv[1]) if sys.argv[1:] else RELEASES, *sys.argv[2:]))
