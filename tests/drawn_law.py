"""Oracles for draws: with what everything that draws rows draws them, and whether rows that were drawn look like that.

Inputs are asked of the code that draws; what follows from them is read from the channels' own numerators. Nothing here
uses the certificate or `proof`.
"""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import inf, log

import numpy as np
import pyarrow as pa
from scipy.stats import kstest

from privacyfunnel.tables.pairs import PairSanitiser
from privacyfunnel.tables.sanitiser import Sanitiser

UNIT = 2**32
OPEN = 1e308
"""An edge this far out is none."""
FIRST_DAY = {"year": "-01-01", "month": "-01"}


def entry(column, code):
    """Something that stands in a table where a column has this value."""
    label = column.labels[code]
    if label is None:
        return None
    if column.kind == "bins":
        low, high = column.edges[code : code + 2]
        return low if high >= OPEN else high - 1 if low <= -OPEN else (low + high) / 2
    if column.other and label == "other":
        return "a text that no column knows"
    if column.kind in FIRST_DAY:
        return label + FIRST_DAY[column.kind]
    members = [group.values[-1] for group in column.groups if group.label == label]
    return members[0] if members else label


def rows_with(columns, codes):
    """Rows of a table with these values."""
    arrays = [pa.array([entry(column, code) for code in codes[:, j]]) for j, column in enumerate(columns)]
    return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])


def law(protocol, rows):
    """{outputs of all releases so far: N[i], P(outputs | row i) in units of 2⁻³² for each draw}, for some rows."""
    if protocol.before is None:
        x = Sanitiser(protocol).inputs(rows)[:, 0]
        return _times({(): np.ones(rows.num_rows, dtype=object)}, x, protocol.block.channel)
    steps, sanitiser, found = protocol.by_history, PairSanitiser(protocol), {}
    for history, reached in law(protocol.before, rows).items():
        there = np.flatnonzero(reached)
        known = rows.take(pa.array(there))
        own = np.full(rows.num_rows, -1)
        number = pa.array(np.full(len(there), steps.number[history]))
        own[there] = sanitiser.inputs(known.append_column(steps.history, number))[:, 0]
        found |= _times({history: reached}, own, steps.channel)
    return found


def _times(before, inputs, channel):
    """What comes of it if rows are drawn once more, row i from the column of its input."""
    found = {}
    for outputs, reached in before.items():
        for i in np.flatnonzero(reached):
            assert inputs[i] < channel.n_inputs, "somebody who can come cannot be drawn"
            a, b = channel.starts[inputs[i] : inputs[i] + 2]
            for y, units in zip(channel.outputs[a:b].tolist(), channel.numerators[a:b].tolist(), strict=True):
                row = found.setdefault((*outputs, y), np.zeros(len(reached), dtype=object))
                row[i] += reached[i] * units
    return found


def law_of_plan(plan):
    """The same for a protocol of a model, as the groups say that are certified: rows with the values 0, 1, …"""
    W, n = plan.W.tolist(), plan.W.size
    Q = np.full((n, n), Fraction(0), dtype=object)
    groups, pairs, listed = plan.groups, plan.pairs, plan.listed
    parts = [(groups.cells[a:b].tolist(), groups.mass[a:b].tolist()) for a, b in pairwise(groups.start.tolist())]
    of_pairs = (part.tolist() for part in (pairs.first, pairs.second, pairs.m, pairs.n))
    parts += [([x, z], [m, k]) for x, z, m, k in zip(*of_pairs, strict=True)]
    parts += [([x], [mass]) for x, mass in enumerate(plan.alone.tolist()) if mass]
    for cells, mass in parts:
        for x, own in zip(cells, mass, strict=True):
            for y, other in zip(cells, mass, strict=True):
                Q[y, x] += Fraction(own * other, W[x] * sum(mass))
    for x, y, mass in zip(listed.source.tolist(), listed.target.tolist(), listed.mass.tolist(), strict=True):
        Q[y, x] += Fraction(mass, W[x])
    leaving = plan.leaving.tolist()
    for x, rest in enumerate(plan.rest.tolist()):
        for y, mass in enumerate(leaving):
            Q[y, x] += Fraction(rest * mass, W[x] * sum(leaving)) if W[x] else Fraction(mass, sum(leaving))
    return {(y,): row for y, row in enumerate(Q) if any(row)}


def columns_of(law):
    """How often each row of the channel from x to everything released occurs, whatever its output is called."""
    return Counter(tuple(row.tolist()) for row in law.values())


def level(law, weights):
    """The largest |ln P(s|y)/P(s)| of what is drawn, by fractions; weights[s, x] of the people who are rows."""
    weights, worst = weights.astype(object), Fraction(1)
    whole = weights.sum(axis=1)
    for row in law.values():
        told = weights @ row
        for mine, all_of_s in zip(told, whole, strict=True):
            lift = Fraction(int(mine) * int(whole.sum()), int(told.sum()) * int(all_of_s))
            if not lift:
                return inf
            worst = max(worst, lift, 1 / lift)
    return log(worst)


def plausibility(law, x, told, y, rng):
    """How likely rows are that are as far or further from the law; 0 if some are impossible.

    Row i has values x[i], told[i] are the outputs before, None where they are not known, and y[i] is the newest one. If
    F is the law's distribution function, then a number drawn between F(y − 1) and F(y) is uniform.
    """
    of = {}
    for outputs, row in law.items():
        for i in np.flatnonzero(row):
            of.setdefault(int(i), []).append((outputs, row[i]))

    @cache
    def newest(own, known):
        found = Counter()
        for outputs, n in of[own]:
            if all(one in (None, output) for one, output in zip(known, outputs, strict=False)):
                found[outputs[-1]] += n
        return found

    places = []
    for own, known, output in zip(x, told, y, strict=True):
        likely = newest(own, known)
        if not likely[output]:
            return 0.0
        below = sum(n for other, n in likely.items() if other < output)
        if len(likely) > 1:
            places.append(float((below + rng.random() * likely[output]) / sum(likely.values())))
    return float(kstest(places, "uniform").pvalue) if places else 1.0
