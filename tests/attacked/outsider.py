"""What somebody reads of published files who has never seen the code: `README.md`, `docs/` and JSON are enough.

Everything is computed from the text of a protocol's file, in fractions; nothing of the package is asked but its command
line, in this process, and the `check.py` of published folders.
"""

import csv
import hashlib
import json
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product
from math import inf, log, prod
from runpy import run_path

import numpy as np
from scipy.stats import chi2, poisson

from privacyfunnel.cli.app import run
from privacyfunnel.publishing import check

CHECK = run_path(check.__file__)
"""The file of the standard library that lies in every published folder."""
EXPECTED = 5
"""People of whom a cell of a χ² test expects at least so many."""
BY_CHANCE = 1e-9
"""Draws that are less likely than that come from another law."""


def funnel(*words):
    """Run a command of the command line; its exit code."""
    return run([str(word) for word in words])


def population(seed, n):
    """Rows (id, a, b, c, s) of n people, with rare values of every column."""
    rng = np.random.default_rng(seed)
    a, b, c = (rng.choice(len(p), n, p=p) for p in ([0.6, 0.3, 0.08, 0.02], [0.5, 0.3, 0.18, 0.02], [0.7, 0.27, 0.03]))
    ill = rng.random(n) < 1 / (1 + np.exp(1 - rng.normal(0, 0.7, (4, 4, 3))[a, b, c]))
    names = ([f"{name}{value}" for value in codes] for name, codes in {"a": a, "b": b, "c": c}.items())
    columns = (f"p{i}" for i in range(n)), *names
    return [*zip(*columns, np.where(ill, "ill", "well").tolist(), strict=True)]


def write(path, names, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    return path


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# What a file says


def distribution(content):
    """P(s, x) of all combinations x by the noisy counts, as `check.py` in a published folder has it, in fractions."""
    sizes = [len(column["labels"]) for column in columns_of(content)]
    weights, _ = CHECK["counted"](content["noise"], prod(sizes), sizes)
    whole = sum(map(sum, weights))
    return [[Fraction(weight, whole) for weight in row] for row in weights]


def columns_of(content):
    return content["chain"][0]["columns"]


def domain(content):
    """All combinations of values by their numbers, in the order of the noisy counts."""
    return list(product(*(range(len(column["labels"])) for column in columns_of(content))))


def in_words(columns, codes):
    return tuple(column["labels"][code] for column, code in zip(columns, codes, strict=True))


def law_of(part, written):
    """{what is written: probability} of one column of a channel: y, 2³²·P(y), y′, 2³²·P(y′), …"""
    found = Counter()
    for y, units in zip(part[::2], part[1::2], strict=True):
        found[written[y]] += Fraction(units, 2**32)
    return dict(found)


def level(outcomes, prior):
    """The largest |ln P(s|y) / P(s)| over outcomes (P(s, y) for each s)."""
    found = 0.0
    for joint in outcomes:
        lifts = [one / sum(joint) / p for one, p in zip(joint, prior, strict=True) if p and sum(joint)]
        found = max([found, *(inf if not lift else abs(log(lift)) for lift in lifts)])
    return found


# What is drawn


def fits(seen, law):
    """How likely draws are at least as far from a law as these."""
    if set(seen) - set(law):
        return 0.0
    n, cells = sum(seen.values()), {True: [], False: []}
    for outcome, p in law.items():
        cells[n * p >= EXPECTED].append((seen.get(outcome, 0), float(n * p)))
    rare = tuple(map(sum, zip(*cells[False], strict=True))) if cells[False] else (0, 0.0)
    if rare[1] >= EXPECTED:
        cells[True].append(rare)
    elif poisson.sf(rare[0] - 1, rare[1]) < BY_CHANCE:
        return 0.0
    statistic = sum((count - expected) ** 2 / expected for count, expected in cells[True])
    return float(chi2.sf(statistic, max(1, len(cells[True]) - 1)))


def drawn_as(draws, laws, own=None):
    """The number of the law that draws come from: their own if they have one, else the likeliest."""
    numbers = range(len(laws)) if own is None else [own]
    likely, number = max((fits(Counter(draws), laws[i]), i) for i in numbers)
    assert likely > BY_CHANCE, "rows are drawn from a law that the file does not list"
    return number


def copies(path, names, values, k, ids="q"):
    """A table with k people of each of these combinations."""
    rows = [(f"{ids}{i * k + j}", *value) for i, value in enumerate(values) for j in range(k)]
    return write(path, ["id", *names], rows)


def in_parts(rows, names, k):
    """What was drawn for each combination of `copies`."""
    drawn = [tuple(row[name] for name in names) for row in rows]
    return [drawn[a:b] for a, b in pairwise(range(0, len(drawn) + 1, k))]


# Forging


def sealed(content):
    """The text of a file with this content, and with a digest that fits it."""
    lines = ",\n".join(
        f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        for key, value in content.items()
        if key != "digest"
    )
    digest = hashlib.sha256(f"{{\n{lines}\n}}\n".encode()).hexdigest()
    return f'{{\n{lines},\n"digest": "sha256:{digest}"\n}}\n'


def forge(content, path):
    path.write_text(sealed(content), encoding="utf-8")
    return path
