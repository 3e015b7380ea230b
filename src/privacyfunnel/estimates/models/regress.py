"""regress: linear, logistic and Poisson models from released rows, with honest standard errors.

On a faithful release of the fitted table, the model is fitted on the rows as they stand; its standard errors hold both
that people are a sample and that rows were drawn. Otherwise scores are corrected: what an unbiased estimate of the
model's equations is, for rows that the channel drew, is set to 0. Either way errors are those of the sandwich
A⁻¹BA⁻¹, which hold whether or not the model is true.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from scipy.special import chdtrc, ndtr

from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.estimates.cell_shares import CellShares, cell_shares
from privacyfunnel.estimates.frequencies import Presentation, Reader
from privacyfunnel.estimates.intervals import quantile, tail
from privacyfunnel.estimates.measuring import Way
from privacyfunnel.estimates.meters import Meters
from privacyfunnel.estimates.models.families import Family, FamilyName, family_named
from privacyfunnel.estimates.models.formula import Formula, listed
from privacyfunnel.estimates.models.solving import TOO_VAGUE, Equations
from privacyfunnel.estimates.questions import Asker
from privacyfunnel.estimates.read_release import Layout, read_release
from privacyfunnel.estimates.which_rows import Rows
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.showing.sheet import Mark, Sheet, between, number
from privacyfunnel.showing.shown import Shown
from privacyfunnel.tables.reading_back import Tally
from privacyfunnel.typing import Matrix, Vector

SURE = 4.0
"""Standard errors by which what the model rests on must exceed 0: what is divided by must not be 0 by chance."""
NOISY = 2.0
"""The same of counts that were set right by noisy ones, whose own errors are looked at: it leaves small groups."""
MOST_CELLS = 10_000
"""Combinations of values of a model's columns; as many numbers for each output must fit."""
IF_FITTED = 'If these are the rows that the protocol was fitted on, say so, and it can: rows="fitted", or --rows fitted'
INTERCEPT = "1"
"""How formulas name it."""


@dataclass(frozen=True)
class Coefficient:
    """One coefficient of a model."""

    name: str
    value: float
    error: float
    """Standard error."""
    low: float
    high: float
    z: float
    p_value: float
    """Of the Wald test that it is 0."""


@dataclass(frozen=True)
class TermTest:
    """The Wald test that all coefficients of a term are 0."""

    term: str
    chi2: float
    df: int
    p_value: float


@dataclass(frozen=True)
class Regression(Shown):
    """A model, fitted on released rows."""

    formula: str
    family: FamilyName
    response: str
    """What the response is, in words."""
    rows: int
    used: float
    """The share of people without a missing value in the model's columns, as estimated."""
    way: Way
    """Whether released rows were taken as they stand, or scores corrected for how they were drawn."""
    why: str
    confidence: float
    coefficients: tuple[Coefficient, ...]
    terms: tuple[TermTest, ...]
    notes: tuple[str, ...]
    covariance: tuple[tuple[float, ...], ...] = field(repr=False)
    """Of the coefficients."""

    def coefficient(self, name: str) -> Coefficient:
        """The coefficient of this name."""
        for each in self.coefficients:
            if each.name == name:
                return each
        known = listed([each.name for each in self.coefficients])
        raise InvalidInput(f"the model has no coefficient {name!r}; it has {known}")

    def wald(self, *names: str) -> TermTest:
        """The test that some coefficients are all 0."""
        known = [each.name for each in self.coefficients]
        places = sorted({known.index(self.coefficient(name).name) for name in names})
        if not places:
            raise InvalidInput("name the coefficients that are tested")
        values = np.array([each.value for each in self.coefficients])
        return _wald(" + ".join(names), places, values, np.array(self.covariance))

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def sheet(self) -> Sheet:
        """What a notebook shows: coefficients, with errors, intervals and tests."""
        rows = [
            [one.name, number(one.value), number(one.error), between(one.low, one.high), number(one.p_value, 2)]
            for one in self.coefficients
        ]
        marks = [Mark(one.value, one.low, one.high) for one in self.coefficients]
        heads = ("coefficient", "value", "error", f"{self.confidence:.0%} interval", "p")
        title = f"{self.formula} ({self.family}), {self.rows:,} released rows"
        return Sheet(title, [self.response, self.why, *self.notes], heads, rows, marks)


def regress(
    released: Any,
    protocol: Protocol,
    formula: str,
    *,
    family: str = "gaussian",
    rows: Rows | None = None,
    confidence: float = 0.95,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    earlier: Any = None,
    person: str | None = None,
) -> Regression:
    """A generalised linear model of the original rows, from the released ones and the protocol alone.

    `formula` is a response and terms, such as "active ~ age + C(town) + age:sex"; columns that were cut into ranges
    count as numbers, everybody in the middle of theirs. `family` is gaussian, binomial (logistic) or poisson. `rows`,
    `earlier` and `person` are as in `estimate`. What the protocol does not tell is refused, with what it does tell.

    >>> joint = Joint([[300, 100], [100, 500]], attributes=["smokes"])
    >>> protocol = optimise(joint, LIP(0.8), objective="faithful")
    >>> rows = __import__("pyarrow").table({"smokes": [0] * 400 + [1] * 600})
    >>> found = regress(protocol.sanitise(rows, seed=1), protocol, "smokes ~ 1", family="binomial")
    >>> found.way, [one.name for one in found.coefficients]
    ('counted', ['Intercept'])
    """
    tail(confidence)  # refuses what is none
    kind, model = family_named(family), Formula(formula)
    read = read_release(protocol, released, Layout(rows, True, earlier, person, delimiter, encoding))
    read.asker.require(model.columns)
    reader = read.meters.reader(model.columns, {}, Presentation(confidence, model=False))
    return _solved(reader, read.rows, model, kind, why=read.why, faithful=read.faithful, noisy=read.noisy)


def regression(
    protocol: Protocol, counts: Tally, model: Formula, family: Family, *, way: Way, why: str = "", confidence: float
) -> Regression:
    """The same from the tally of a release, for rows that are known to be counted or worked back."""
    asker = Asker(protocol)
    reader = Meters(protocol, counts, way, asker).reader(model.columns, {}, Presentation(confidence, model=False))
    faithful, noisy = protocol.objective == "faithful", protocol.noise is not None
    return _solved(reader, counts.rows, model, family, why=why, faithful=faithful, noisy=noisy)


def _solved(
    reader: Reader, rows: int, model: Formula, family: Family, *, why: str, faithful: bool, noisy: bool
) -> Regression:
    """The model that the reader's rows give."""
    asker, confidence = reader.asker, reader.presentation.confidence
    shares = cell_shares(reader, model.columns, MOST_CELLS)
    equations = Equations(model.design(asker.columns, shares.codes, family.name == "binomial"), family)
    try:
        _check_told(equations, shares)
        theta = equations.solved(shares.values)
        _check_sure(equations, shares, theta, noisy=noisy)
    except InvalidTable as trouble:
        if reader.meter.way == "channel" and faithful:
            raise InvalidTable(f"{trouble}. {IF_FITTED}") from None
        raise
    A = equations.information(theta, shares.values)
    influence = np.asarray(np.linalg.solve(A, equations.scores(theta)), dtype=np.float64)
    covariance = shares.covariance(influence) * rows / max(1, rows - len(theta))  # HC1
    errors, z = np.sqrt(np.diag(covariance)), quantile(tail(confidence))
    design = equations.design
    return Regression(
        formula=model.text,
        family=family.name,
        response=design.response,
        rows=rows,
        used=float(shares.values[design.used].sum()),
        way=reader.meter.way,
        why=why,
        confidence=confidence,
        coefficients=tuple(_coefficient(*each, z) for each in zip(design.names, theta, errors, strict=True)),
        terms=tuple(
            _wald(term, places, theta, covariance)
            for term, places in design.terms.items()
            if term != INTERCEPT and places
        ),
        notes=design.notes,
        covariance=tuple(map(tuple, covariance.tolist())),
    )


def _check_told(equations: Equations, shares: CellShares) -> None:
    """Refuse a model that the channel does not tell, with the terms that it does."""
    design = equations.design
    every = list(range(design.X.shape[1]))
    if not shares.untold(_needed(equations, every)).any():
        return
    alone = {term: [*_intercept(design.terms), *places] for term, places in design.terms.items() if term != INTERCEPT}
    told = [term for term, places in alone.items() if not shares.untold(_needed(equations, places)).any()]
    together = [place for term in told for place in design.terms[term]] + _intercept(design.terms)
    if told and shares.untold(_needed(equations, sorted(set(together)))).any():
        told = told[:1]
    not_told = [term for term in alone if term not in told]
    coarser = f"a model of {listed(told)} alone can be fitted" if told else "no model with fewer of its terms can be"
    raise InvalidTable(
        f"this protocol does not tell the model: released rows leave open what goes with {listed(not_told)}; {coarser}"
    )


def _intercept(terms: dict[str, tuple[int, ...]]) -> list[int]:
    return list(terms.get(INTERCEPT, ()))


def _needed(equations: Equations, places: list[int]) -> Matrix:
    """What must be told for a model with some of the coefficients, whatever these are.

    Each mean is a function of the row x of the design, so it takes the sums of y and of 1 within rows that are alike;
    for a linear model, those of xy and xxᵀ.
    """
    design = equations.design
    X, y, used = design.X[:, places], design.y, design.used
    if equations.family.name == "gaussian":
        upper = np.triu_indices(len(places))
        return np.vstack([(X * y[:, None]).T, (X[:, upper[0]] * X[:, upper[1]]).T]) * used
    _, alike = np.unique(X[used], axis=0, return_inverse=True)
    within = np.zeros((int(alike.max()) + 1, len(X)))
    within[alike.ravel(), np.flatnonzero(used)] = 1.0
    return np.vstack([within, (X * y[:, None] * used[:, None]).T])


def _check_sure(equations: Equations, shares: CellShares, theta: Vector, noisy: bool) -> None:
    """Refuse a model that so few rows, of this kind, do not tell: what is divided by might as well be 0.

    It goes by the shares that the protocol publishes, so that luck does not decide it; after a private fit, by what
    noise leaves of those that were found.
    """
    equations.check_separated(theta, shares.values)
    X, slopes = equations.design.X, equations.slopes(theta)
    A = equations.information(theta, shares.published)
    if (np.diag(A) <= 0).any():
        raise InvalidTable(TOO_VAGUE)
    size = np.sqrt(np.diag(A))
    values, vectors = np.linalg.eigh(A / np.outer(size, size))
    weakest = (X / size) @ vectors
    phi = (weakest**2 * slopes[:, None]).T
    planned, times = shares.planned(phi), SURE
    if planned is None and noisy:
        planned, times = shares.covariance(phi), NOISY
    if planned is not None and (values <= times * np.sqrt(np.maximum(np.diag(planned), 0.0))).any():
        raise InvalidTable(TOO_VAGUE)


def _coefficient(name: str, value: float, error: float, z: float) -> Coefficient:
    ratio = float(value / error) if error > 0 else float("inf") * (1 if value > 0 else -1 if value < 0 else 0)
    low, high = value - z * error, value + z * error
    return Coefficient(name, *map(float, (value, error, low, high, ratio, 2 * ndtr(-abs(ratio)))))


def _wald(term: str, places: Any, theta: Vector, covariance: Matrix) -> TermTest:
    own = np.asarray(places)
    some = theta[own]
    chi2 = float(some @ np.linalg.pinv(covariance[np.ix_(own, own)], hermitian=True) @ some)
    return TermTest(term, chi2, len(own), float(chdtrc(len(own), chi2)))
