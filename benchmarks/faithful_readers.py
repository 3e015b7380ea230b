"""What readers of faithful releases get: how often intervals hold, and models of released rows beside the original's.

Coverage: TABLES tables are drawn from a known distribution; each is fitted, released and read back. Counted are the
intervals of `estimate` that hold the share in the distribution: for every single share, those of pairs of columns and
of all columns, and those within groups. "naive" is the same interval, had the released rows been a sample.

Models: a logistic regression, a correlation and a decision tree, among released columns. Each difference is a root
mean square over RELEASES releases; "sampling" is that of as many bootstrap samples of the original table, which is what
another sample of people would have changed; "today" is the protocol with the most information, with rows as they stand.
The accuracy of a tree is that on the original rows. Coefficients are in units of their own sampling difference.
"""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np
import pandas as pd

from benchmarks.large import DATA

TABLES, RELEASES = 500, 20
SIZES = ((600, 0.1), (5_000, 0.3))
"""Rows and ε of the tables whose intervals are counted."""
RARE = 0.02
COLUMNS = {"town": 3, "sex": 2, "age": 4}
DEMO = {"people": 20_000, "secret": "obese", "attributes": ["sex", "town", "height", "weight"], "epsilon": 0.2}
COMPAS = {
    "table": "compas.csv.gz",
    "secret": "two_year_recid",
    "attributes": ["sex", "race", "age_cat", "score_text"],
    "epsilon": 0.5,
}
ADULT = {
    "table": "adult.csv.gz",
    "secret": "income",
    "attributes": ["sex", "race", "marital_status", "education_num"],
    "epsilon": 0.5,
}
MODELS = (
    ("demo", DEMO, ("sex", "male"), ("height", "weight")),
    ("compas", COMPAS, ("race", "African-American"), ("age_cat", "score_text")),
    ("adult", ADULT, ("marital_status", "Married-civ-spouse"), ("education_num", "sex")),
)
"""Name, table, the value that is predicted from the other columns, and the columns whose correlation is looked at."""
ORDERS = {"score_text": ["Low", "Medium", "High"], "age_cat": ["Less than 25", "25 - 45", "Greater than 45"]}
"""Texts with an order; others with more than two values are no numbers."""


def run(tables: int = TABLES, releases: int = RELEASES) -> list[dict[str, object]]:
    rows = [row for n, epsilon in SIZES for row in coverage(n, epsilon, tables)]
    for name, spec, target, pair in MODELS:
        if "table" in spec and not DATA.is_dir():
            rows.append({"measured": f"{name}: not there; set FUNNEL_DATA to its folder"})
            continue
        rows += models(name, spec, target, pair, releases)
    return rows


def coverage(n: int, epsilon: float, tables: int) -> list[dict[str, object]]:
    import privacyfunnel as pf
    from privacyfunnel.estimates.counted import share_between

    rng = np.random.default_rng(n)
    p = rng.dirichlet(np.full(2 * np.prod(list(COLUMNS.values())), 1.0)).reshape(2, *COLUMNS.values())
    names = list(COLUMNS)
    held: dict[str, list[bool]] = {}
    naive: dict[str, list[bool]] = {}
    for _ in range(tables):
        cells = rng.choice(p.size, n, p=p.ravel())
        secret, *columns = np.unravel_index(cells, p.shape)
        table = pd.DataFrame(dict(zip(names, columns, strict=True)) | {"ill": secret})
        joint = pf.Joint.from_table(table, "ill", names)
        protocol = pf.optimise(joint, pf.LIP(epsilon), objective="faithful")
        released = protocol.sanitise(table, seed=int(rng.integers(2**31)))
        everybody = [*names, *combinations(names, 2), tuple(names)]
        answers = [
            pf.estimate(released, protocol, of=everybody, rows="fitted"),
            pf.estimate(released, protocol, of="age", by="town", rows="fitted"),
        ]
        for found in answers:
            for each in found.tables:
                kind = "in a group" if each.group else ("single", "pair", "all columns")[len(each.attributes) - 1]
                among = n * released_share(released, each.group)
                for e in each.estimates:
                    true = share_of(p, dict(zip(each.attributes, e.values[0], strict=True)), each.group)
                    ends = share_between(np.array([e.share * among]), among, np.ones(1), 0.025)
                    for key in (kind, "every", *(["below 2%"] if true < RARE else [])):
                        held.setdefault(key, []).append(e.low <= true <= e.high)
                        naive.setdefault(key, []).append(bool(ends[0] <= true <= ends[1]))
    return [
        {
            "measured": f"95% intervals, {n:,} rows, ε {epsilon}: {key}",
            "intervals": len(held[key]),
            "hold": f"{np.mean(held[key]):.1%}",
            "naive": f"{np.mean(naive[key]):.1%}",
        }
        for key in held
    ]


def released_share(released: pd.DataFrame, group: dict) -> float:
    inside = np.ones(len(released), bool)
    for name, value in group.items():
        inside &= (released[name] == value).to_numpy()
    return float(inside.mean())


def share_of(p: np.ndarray, values: dict, group: dict) -> float:
    """The share of people with these values among those of the group."""
    whole, inside = p.sum(axis=0), p.sum(axis=0)
    for axis, name in enumerate(COLUMNS):
        at = np.indices(whole.shape)[axis]
        if name in group:
            whole = np.where(at == group[name], whole, 0)
        if name in {**group, **values}:
            inside = np.where(at == {**group, **values}[name], inside, 0)
    return float(inside.sum() / whole.sum())


def models(name: str, spec: dict, target: tuple, pair: tuple, releases: int) -> list[dict[str, object]]:
    import privacyfunnel as pf

    table = frame(spec)
    joint = pf.Joint.from_table(table, spec["secret"], spec["attributes"])
    promise = pf.LIP(spec["epsilon"])
    protocols = {
        "faithful": pf.optimise(joint, promise, objective="faithful", time_limit=120),
        "today": pf.optimise(joint, promise, time_limit=60),
    }
    rows = table[spec["attributes"]]
    weights = joint.weights.sum(axis=0)
    rng = np.random.default_rng(1)
    samples = {
        "sampling": [rng.multinomial(weights.sum(), weights / weights.sum()) for _ in range(releases)],
        **{way: [counts(p, joint, rows, seed) for seed in range(releases)] for way, p in protocols.items()},
    }
    reader = Reader(joint, target, pair, weights)
    original = reader.all(weights)
    found = {way: [reader.all(w) for w in each] for way, each in samples.items()}
    off = {
        way: {what: _off([f[what] for f in each], original[what]) for what in original} for way, each in found.items()
    }
    answers = []
    for what, value in original.items():
        unit = off["sampling"][what]
        ratio = {way: np.sqrt(np.mean((off[way][what] / np.maximum(unit, 1e-12)) ** 2)) for way in protocols}
        row = {
            "measured": f"{name}: {what}",
            "original": float(value) if np.ndim(value) == 0 else f"{len(value)} coefficients",
            "sampling": float(np.sqrt(np.mean(unit**2))),
        }
        for way in protocols:
            row[way] = float(np.sqrt(np.mean(off[way][what] ** 2)))
            row[f"{way} / sampling"] = float(ratio[way])
        answers.append(row)
    return answers


def _off(values: list, original) -> np.ndarray:
    """The root mean square difference from the original, for each number."""
    return np.sqrt(np.mean((np.array(values) - original) ** 2, axis=0))


def frame(spec: dict) -> pd.DataFrame:
    from privacyfunnel.population import people

    if "table" in spec:
        return pd.read_csv(DATA / spec["table"])[[spec["secret"], *spec["attributes"]]]
    return pd.DataFrame(people(spec["people"], seed=1))[[spec["secret"], *spec["attributes"]]]


def counts(protocol, joint, rows, seed: int) -> np.ndarray:
    """Rows of each value of X in a release, by its labels."""
    from privacyfunnel.tables.reading_back import tally

    block = protocol.block
    if not np.array_equal(block.codes, joint.codes):
        raise AssertionError("values in another order")
    found = tally(protocol, protocol.sanitise(rows, seed=seed))
    return np.bincount(block.labels[found.outputs[:, 0]], found.counts, joint.n_x)


class Reader:
    """Three analyses of rows that are given as a number of each value."""

    def __init__(self, joint, target, pair, weights) -> None:
        from sklearn.preprocessing import OneHotEncoder

        names = list(joint.attributes)
        values = pd.DataFrame(joint.values, columns=names)
        self.y = (values[target[0]] == target[1]).to_numpy()
        numbers = {name: _numbers(values[name], joint.codes[:, j]) for j, name in enumerate(names)}
        self.pair = [numbers[name] for name in pair]
        parts = []
        for name in names:
            if name == target[0]:
                continue
            plain = numbers[name] is not None
            parts.append(
                numbers[name][:, None] if plain else OneHotEncoder(drop="first").fit_transform(values[[name]]).toarray()
            )
        self.X = np.concatenate(parts, axis=1).astype(float)
        common = weights @ (self.X != 0) >= 0.01 * weights.sum()  # coefficients of rare values have no useful errors
        self.X = self.X[:, common]
        self.weights = weights

    def all(self, w: np.ndarray) -> dict[str, object]:
        from sklearn.linear_model import LogisticRegression
        from sklearn.tree import DecisionTreeClassifier

        model = LogisticRegression(C=1e3, max_iter=2_000).fit(self.X, self.y, sample_weight=w)
        tree = DecisionTreeClassifier(max_depth=6, random_state=0).fit(self.X, self.y, sample_weight=w)
        a, b = self.pair
        covariance = np.cov(np.stack([a, b]), fweights=w.astype(np.int64))
        return {
            "logistic regression": model.coef_[0],
            "correlation": float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])),
            "accuracy of a tree": float(self.weights @ (tree.predict(self.X) == self.y) / self.weights.sum()),
        }


def _numbers(values: pd.Series, codes: np.ndarray) -> np.ndarray | None:
    """Ranges and numbers by their place, texts with an order by that, two values as 0 and 1; None for others."""
    if values.name in ORDERS:
        return values.map(ORDERS[values.name].index).to_numpy()
    different = values.nunique()
    ordered = values.map(lambda value: not isinstance(value, str) or value[:1] in "[<>(").all()
    return codes.astype(float) if different == 2 or ordered else None


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.__main__ import show

    tables, releases = (int(text) for text in (sys.argv[1:] or [str(TABLES), str(RELEASES)]))
    show(Console(width=200), "faithful_readers", run(tables, releases))
