"""Independent oracles for promises of several clauses: what each says, as statements about events, in fractions.

Nothing here uses the clauses, the optimiser or the certificate: statements are read from the promises' constructor
arguments alone, and events are sets of numbers of the secret's values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog
from tests import brute

import privacyfunnel as pf


@dataclass(frozen=True)
class Statement:
    """Over ≤ bound·under, for two linear functions of P(s|y): of an event and of another, each divided by its prior."""

    subject: str
    rises: bool
    """P(E|y)/P(E) is limited from above; else from below."""
    event: frozenset
    limit: float
    """ln of the bound on the lift, or the bound on the belief itself."""
    against: frozenset | None = None
    """Of two events whose lifts are compared: the other."""
    belief: bool = False

    def factor(self, above=False):
        """The bound as a fraction."""
        return Fraction(repr(self.limit)) if self.belief else brute.exp_between(self.limit)[above]


def statements(promise, joint):
    """All statements of a promise about `joint`'s secret."""
    values, names = joint.secret_values, joint.secret_names
    everything = [frozenset([s]) for s in range(joint.n_s)]
    match promise:
        case pf.Promises():
            found = []
            for name, own in promise.each:
                k = names.index(name)
                part = [value[k] if len(names) > 1 else value for value in values]
                order = list(dict.fromkeys(part))
                events = [frozenset(s for s in range(joint.n_s) if part[s] == value) for value in order]
                found += _about(own, events, order, name)
            return found
        case _:
            return _about(promise, everything, list(values), joint.secret)


def _about(promise, events, values, subject):
    match promise:
        case pf.Belief():
            pairs = dict(promise.most)
            return [
                Statement(f"{subject} = {value}", True, event, pairs[value], belief=True)
                for event, value in zip(events, values, strict=True)
                if value in pairs
            ]
        case pf.Ordered():
            found = []
            for t in range(1, len(events)):
                sides = [frozenset().union(*events[:t]), frozenset().union(*events[t:])]
                found += _plain(promise.promise, sides, f"{subject}, by borders")
            return found + (_plain(promise.per_value, events, subject) if promise.per_value is not None else [])
    if hasattr(promise, "levels"):
        alike, found = promise.alike, []
        for event, value in zip(events, values, strict=True):
            level = dict(promise.levels)[value]
            found.append(Statement(f"{subject} = {value}", True, event, level))
            if isinstance(alike, pf.LIP):
                found.append(Statement(f"{subject} = {value}", False, event, level))
        return found
    return _plain(promise, events, subject)


def _plain(promise, events, subject):
    lower, upper, spread = brute.limits(promise)
    found = []
    for event in events:
        found += [Statement(subject, True, event, upper)] if upper is not None else []
        found += [Statement(subject, False, event, lower)] if lower is not None else []
        if spread is not None:
            found += [Statement(subject, True, event, spread, other) for other in events if other != event]
    return found


def ratio(statement, p, n):
    """What the statement bounds, at the row n of numerators and p[s][x]; None if infinite."""
    joint = [sum(a * int(k) for a, k in zip(row, n, strict=True)) for row in p]
    prior = [sum(row) for row in p]

    def of(event, numbers):
        return sum(numbers[s] for s in event)

    lift = of(statement.event, joint) * sum(prior) / (of(statement.event, prior) * sum(joint))
    if statement.belief:
        return of(statement.event, joint) / sum(joint)
    if statement.against is not None:
        other = of(statement.against, joint) / of(statement.against, prior)
        return of(statement.event, joint) / of(statement.event, prior) / other if other else None
    if statement.rises:
        return lift
    return 1 / lift if lift else None


def keeps(statements_, joint, numerators):
    """Whether a channel keeps every statement, in fractions."""
    p = brute.fractions(joint.weights)
    for n in numerators:
        if not any(int(k) for k in n):
            continue
        for one in statements_:
            found = ratio(one, p, n)
            if found is None or found > one.factor():
                return False
    return True


def levels(statements_, joint, numerators):
    """By subject, the largest ln ratio, or belief, of all its statements."""
    p, found = brute.fractions(joint.weights), {}
    for n in numerators:
        for one in statements_:
            got = ratio(one, p, n)
            size = math.inf if got is None else float(got) if one.belief else math.log(got) if got else -math.inf
            found[one.subject] = max(found.get(one.subject, 0.0), size)
    return found


def vertices(weights, statements_, *, above=False):
    """The vertices of Δ by the Parma Polyhedra Library, in rationals; e^ε is taken from below or above."""
    from privacyfunnel.paper.reference import _ppl

    ppl = _ppl()
    n_s, n_x = weights.shape
    N = [[int(w) for w in row] for row in weights.tolist()]
    W_s = [sum(row) for row in N]
    W_x = [sum(N[s][x] for s in range(n_s)) for x in range(n_x)]
    W = sum(W_s)
    w = [ppl.Variable(x) for x in range(n_x)]
    total = sum((W_x[x] * w[x] for x in range(n_x)), ppl.Linear_Expression(0))

    def share(event):
        return sum((sum(N[s][x] for s in event) * w[x] for x in range(n_x)), ppl.Linear_Expression(0))

    system = ppl.Constraint_System()
    for variable in w:
        system.insert(variable >= 0)
    system.insert(total == W)
    for one in statements_:
        bound, prior = one.factor(above), sum(W_s[s] for s in one.event)
        if one.belief:
            system.insert(bound.denominator * share(one.event) <= bound.numerator * total)
        elif one.against is not None:
            other = sum(W_s[s] for s in one.against)
            system.insert(other * bound.denominator * share(one.event) <= prior * bound.numerator * share(one.against))
        elif one.rises:
            system.insert(W * bound.denominator * share(one.event) <= prior * bound.numerator * total)
        else:
            system.insert(W * bound.numerator * share(one.event) >= prior * bound.denominator * total)
    found = []
    for point in ppl.C_Polyhedron(system).generators():
        assert point.is_point()
        divisor = int(point.divisor())
        found.append([Fraction(int(c) * W_x[x], W * divisor) for x, c in enumerate(point.coefficients())])
    return found


def optimum(weights, statements_, *, above=False, cells=None):
    """The best I(X;Y), by a linear program over all vertices of Δ; within the cells of exact columns if there are."""
    W_x = [sum(int(w) for w in column) for column in weights.T.tolist()]
    p_x = [Fraction(w, sum(W_x)) for w in W_x]
    if cells is None:
        points = [p_x, *vertices(weights, statements_, above=above)]
    else:
        points = []
        for k in sorted(set(cells)):
            inside = [x for x in range(len(p_x)) if cells[x] == k]
            points += _within(weights, statements_, inside, above)
    U = [[a / b for a, b in zip(v, p_x, strict=True)] for v in points]
    scale = [max(u) for u in U]
    A = np.array([[float(a / k) for a in u] for u, k in zip(U, scale, strict=True)]).T
    cost = np.array([brute.entropy(v) / float(k) for v, k in zip(points, scale, strict=True)])
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    answer = linprog(cost, A_eq=A, b_eq=np.ones(len(p_x)), method="highs-ds", options=tight)
    if answer.status == 2:
        return None
    assert answer.status == 0, answer.message
    return brute.entropy(p_x) - answer.fun


def _within(weights, statements_, inside, above):
    """Vertices whose support lies inside: all vertices of Δ with the other coordinates 0, and the cell's own shares."""
    whole = weights.astype(object)
    outside = [x for x in range(whole.shape[1]) if x not in inside]
    return [v for v in vertices(whole, statements_, above=above) if not any(v[x] for x in outside)]


def fidelity(joint, statements_, cells=None):
    """The best share of values that stay, by one linear program over all pairs, with e^ε from above."""
    p = joint.p_x
    n = joint.n_x
    pairs = [(x, o) for x in range(n) for o in range(n) if cells is None or cells[x] == cells[o]]
    A, b, rows, limits = [], [], [], []
    for k in range(n):
        for side in (0, 1):
            A.append([float(pair[side] == k) for pair in pairs])
            b.append(p[k])
    given = joint.p / p
    for one in statements_:
        bound = float(one.factor(above=True))
        own = given[sorted(one.event)].sum(axis=0)
        prior = joint.p[sorted(one.event)].sum()
        if one.belief:
            row = own - bound
        elif one.against is not None:
            row = own / prior - bound * given[sorted(one.against)].sum(axis=0) / joint.p[sorted(one.against)].sum()
        else:
            row = own - bound * prior if one.rises else prior - bound * own
        for o in range(n):
            rows.append([row[x] if pair_o == o else 0.0 for x, pair_o in pairs])
            limits.append(1e-12)
    kept = [float((joint.codes[x] == joint.codes[o]).mean()) for x, o in pairs]
    answer = linprog(-np.array(kept), A_ub=rows, b_ub=limits, A_eq=A, b_eq=b, method="highs")
    return None if answer.status == 2 else -answer.fun
