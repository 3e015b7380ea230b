"""The fit is private as such: whole protocol files over many fits, for two tables that differ in one record.

Files are compared as texts, and entry by entry, so that whatever is in them counts: a number, a border, a value. The
noise is that of OpenDP, drawn in one go; all else is what `fit` does. What a table and its noise give is computed once,
since nothing else is random.
"""

import json
import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

import privacyfunnel as pf
from privacyfunnel.drawing.laplace import noised
from privacyfunnel.protocols.file import to_text
from privacyfunnel.tables.counting import count_table
from privacyfunnel.tables.domain import Domain

EPSILON = 2.0
CHANCE = 1e-7
"""Of a verdict that is wrong, for each place in a file; there are about fifty."""
SOME, FEW, MANY = 600, 3_000, 100_000
RECORDS = [("ill", 30), *[("ill", 80), ("well", 30)] * 9, *[("well", 85)] * 6]
OTHER = [("well", 60), *RECORDS[1:]]
"""One record differs, in secret and attribute, and leaves a cell empty: nobody else is ill and younger than 50."""
DOMAIN = """{"schema": "privacyfunnel-domain/1", "columns": [
  {"name": "state", "kind": "text", "values": ["ill", "well"]},
  {"name": "age", "kind": "bins", "edges": [0, 50, 100]}]}"""


@pytest.fixture
def domain(tmp_path):
    (tmp_path / "domain.json").write_text(DOMAIN, encoding="utf-8")
    return Domain.load(tmp_path / "domain.json")


def counted(records, path, domain):
    path.write_text("state,age\n" + "".join(f"{state},{age}\n" for state, age in records), encoding="utf-8")
    return count_table(path, "state", ["age"], domain=domain)


class Files:
    """The files that a table gives, and how often."""

    def __init__(self, table, fits, monkeypatch, scale=1.0):
        self.counts = Counter()
        known = {}
        with monkeypatch.context() as patched:
            patched.setattr("privacyfunnel.tables.private_counts.noised", self._noised)
            self._draws, self._fits, self._scale, self._next = None, fits, scale, 0
            for _ in range(fits):
                if self._draws is not None and (key := self._draws[self._next].tobytes()) in known:
                    self._next += 1
                    self.counts[known[key]] += 1
                    continue
                text = self._fit(table)
                known[self._draws[self._next - 1].tobytes()] = text
                self.counts[text] += 1

    def _fit(self, table):
        try:
            return to_text(pf.optimise(table.safely(EPSILON).joint, pf.LIP(0.5)))
        except ValueError as refused:  # that there is none is told, too
            return str(refused)

    def _noised(self, counts, epsilon):
        """The next of the draws, which are OpenDP's; with another scale, those of a mechanism that is broken."""
        if self._draws is None:
            many = np.broadcast_to(counts, (self._fits, *counts.shape))
            self._draws = noised(np.ascontiguousarray(many), epsilon / self._scale)
        self._next += 1
        return self._draws[self._next - 1].copy()


def entries(content, path=""):
    """Everything that a file says, piece by piece: where it stands, and what it is."""
    parts = content.items() if isinstance(content, dict) else enumerate(content)
    for name, part in parts:
        if isinstance(part, dict | list):
            yield from entries(part, f"{path}/{name}")
        else:
            yield f"{path}/{name}", str(part)


def by_entry(files):
    """For every place in a file, how often it holds what; and how often the whole file is what it is."""
    found = {"whole": files}
    for text, count in files.items():
        content = json.loads(text) if text.startswith("{") else {"refused": text}
        for place, value in entries(content):
            found.setdefault(place, Counter())[value] += count
    return found


def chance_of(first, second, epsilon):
    """How likely it is, if the promise is kept, that a set of values is so much likelier for the first table.

    The set is chosen with other fits than those that it is tried on: each value's counts are dealt into halves.
    """
    rng = np.random.default_rng(1)
    values = sorted({*first, *second})
    ours, theirs = (np.array([counts[value] for value in values], dtype=np.int64) for counts in (first, second))
    learned = [rng.binomial(counts, 0.5) for counts in (ours, theirs)]
    chosen = learned[0] > math.exp(0.9 * epsilon) * learned[1]
    k, other = ((counts - part)[chosen].sum() for counts, part in zip((ours, theirs), learned, strict=True))
    return float(binom.sf(k - 1, k + other, math.exp(epsilon) / (1 + math.exp(epsilon))))


def least_chance(tmp_path, domain, monkeypatch, fits, scale=1.0):
    tables = [counted(records, tmp_path / f"{i}.csv", domain) for i, records in enumerate((RECORDS, OTHER))]
    one, two = (by_entry(Files(table, fits, monkeypatch, scale).counts) for table in tables)
    places, none = {*one, *two}, Counter()
    pairs = [(one.get(place, none), two.get(place, none)) for place in places]
    return min(min(chance_of(a, b, EPSILON), chance_of(b, a, EPSILON)) for a, b in pairs)


def test_some_files_of_neighbouring_tables_are_alike(tmp_path, domain, monkeypatch):
    assert least_chance(tmp_path, domain, monkeypatch, SOME) > CHANCE


def test_half_the_noise_is_noticed(tmp_path, domain, monkeypatch):
    assert least_chance(tmp_path, domain, monkeypatch, FEW, scale=0.5) < CHANCE


@pytest.mark.long
def test_files_of_neighbouring_tables_are_alike_over_many_fits(tmp_path, domain, monkeypatch):
    assert least_chance(tmp_path, domain, monkeypatch, MANY) > CHANCE
    assert least_chance(tmp_path, domain, monkeypatch, MANY, scale=0.5) < CHANCE
