"""Joint: the distribution p(s, x) of the secret and the attributes, on the values of X that occur."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacyfunnel.distribution.column import Column, Label
from privacyfunnel.distribution.labels import coded, names_of, several_secrets
from privacyfunnel.distribution.model import Model, weights_of
from privacyfunnel.distribution.probabilities import Probabilities, frozen
from privacyfunnel.errors import InvalidJoint
from privacyfunnel.numeric.exact import as_numbers
from privacyfunnel.numeric.rows import unique_rows
from privacyfunnel.showing.sheet import Mark, Sheet, share
from privacyfunnel.showing.shown import Shown
from privacyfunnel.typing import Exact, Integers

if TYPE_CHECKING:
    from privacyfunnel.distribution.noise import Noise
    from privacyfunnel.distribution.raw import Written
    from privacyfunnel.tables.domain import Domain


class Joint(Probabilities, Shown):
    """p(s, x), kept exactly and only where P(x) > 0.

    `array` has shape (c, a) or (c, a1, …, am): counts of people, or probabilities (which are
    normalised). The values of X that occur are numbered in C order; arrays below have one entry
    (or column) for each of these n_x values. With several names, `secret` are the first axes, one for each, and the
    secret is all of them together.

    >>> joint = Joint([[30, 10, 0], [10, 50, 0]])
    >>> joint.n_x, joint.p_x.tolist(), joint.values.ravel().tolist()
    (2, [0.4, 0.6], [0, 1])
    """

    events: Integers | None = None
    """events[s]: of the joint that this one is a coarser form of, the number of the event that value s belongs to."""
    numbered: bool = False
    """Whether values of the secret have numbers, in the order of the values of its columns, and no names."""
    chosen: tuple[str, ...] = ()
    """Columns whose ranges or values were chosen by how often they occur among these people."""
    declared: bool = False
    """Whether all columns, the secret's too, have the values that a domain declares, whoever these people are."""
    nearest: bool = False
    """Whether combinations of values that are not listed are read as the nearest one that is."""
    at_least: int = 0
    """Combinations that fewer people have are read as the nearest other one."""
    exact: tuple[str, ...] = ()
    """Columns in which combinations that are read as another agree with it."""
    noise: Noise | None = None
    """The noisy counts that it was computed from, if it was."""
    before_gathering: Joint | None = None
    """The same before rare combinations were read as others, if they were."""

    def __init__(
        self,
        array: ArrayLike,
        *,
        attributes: Sequence[str] | None = None,
        secret: str | Sequence[str] = "S",
        secret_values: Sequence[Hashable] | None = None,
    ) -> None:
        dense = as_numbers(array)
        if not isinstance(secret, str):
            dense, self.secret_parts, secret_values = several_secrets(dense, tuple(secret), secret_values)
            secret = " and ".join(self.secret_parts)
        if dense.ndim < 2:
            raise InvalidJoint(
                f"a joint distribution needs shape (c, a) or (c, a1, …, am); this array has shape {dense.shape}"
            )
        if dense.size == 0:
            raise InvalidJoint(f"the array is empty: its shape is {dense.shape}")
        c, shape = dense.shape[0], dense.shape[1:]
        flat = dense.reshape(c, -1)
        support = np.flatnonzero((flat > 0).any(axis=0))
        codes = np.stack(np.unravel_index(support, shape), axis=1).astype(np.int64)
        columns = tuple(
            Column(name=name, kind="integer", labels=tuple(range(size)))
            for name, size in zip(names_of(attributes, len(shape)), shape, strict=True)
        )
        self._settle(flat[:, support], codes, columns, secret, secret_values)

    @classmethod
    def from_support(
        cls,
        weights: ArrayLike,
        values: ArrayLike,
        *,
        attributes: Sequence[str] | None = None,
        secret: str = "S",
        secret_values: Sequence[Hashable] | None = None,
    ) -> Joint:
        """The joint whose weights[s, x] belong to the attribute values values[x, :].

        For products too large to hold as an array: only the combinations that occur are listed.
        """
        flat = as_numbers(weights)
        try:
            rows = np.asarray(values)
        except ValueError:
            raise InvalidJoint("the rows of values have different lengths") from None
        if rows.ndim == 1:
            rows = rows[:, None]
        if flat.ndim != 2 or rows.ndim != 2 or rows.shape[0] != flat.shape[1]:
            raise InvalidJoint(
                f"weights of shape (c, n) need n rows of values; got {flat.shape} and values of shape {rows.shape}"
            )
        seen = (flat > 0).any(axis=0)
        codes, columns = coded(rows[seen], names_of(attributes, rows.shape[1]))
        return cls.from_codes(flat[:, seen], codes, columns, secret, secret_values)

    @classmethod
    def from_table(
        cls,
        table: Any,
        secret: str | Sequence[str],
        attributes: str | Sequence[str] | None = None,
        *,
        bins: Mapping[str, Sequence[float] | int | str] | None = None,
        top: Mapping[str, int] | None = None,
        dates: Mapping[str, Literal["year", "month", "day"]] | None = None,
        written: Mapping[str, Written] | None = None,
        groups: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
        missing: str | Sequence[str] = (),
        private: float | None = None,
        delta: float | None = None,
        at_least: int = 0,
        insist: bool = False,
        domain: Domain | str | Path | None = None,
        where: str | None = None,
        delimiter: str | None = None,
        encoding: str | None = None,
    ) -> Joint:
        """Count a table: a path (CSV, CSV.GZ, Parquet, JSON lines), a DataFrame (pandas, polars …), or anything else
        that speaks the Arrow C stream, such as relations of DuckDB and tables of ibis.

        Without `attributes`, every column but the secret is one. Numbers are cut into bins of about
        equal counts unless `bins` says otherwise: edges, a number of bins, "width:5" or "each".
        `top` keeps the most frequent values of a column and calls the rest "other", `dates` says how
        precisely dates are kept, `written` how numbers and dates are written ("comma", "dmy", …), `groups` reads some
        texts of a column as one value ({"town": {"north": ["Ashford", "Birch"]}}), `missing` lists texts that mean
        "missing" beside empty ones. With a
        `domain`, or the path of its file, no value or border is taken from the table: columns have
        the values that are declared, and by default the attributes are the declared columns. `where` takes only rows
        that meet a condition in SQL; `delimiter` and `encoding` say how a CSV is written. These are the keys of a
        recipe, and what cannot be combined is refused as there.

        Counts are exact, and protocols fitted on them are not for publication, unless `private` gives an ε₀: then every
        cell gets discrete Laplace noise of scale 2/ε₀ before anything is computed from it (`joint.noise`). `at_least`
        reads combinations of values that fewer people have as the nearest other one; if that concerns more than 5% of
        the people, they are refused unless you `insist`.
        """
        from privacyfunnel.spec.counted import joint_of

        return joint_of(
            table, secret=secret, columns=attributes, bins=bins, top=top, dates=dates, written=written, group=groups,
            missing=missing, private=private, delta=delta, at_least=at_least, insist=insist, domain=domain,
            where=where, delimiter=delimiter, encoding=encoding,
        )  # fmt: skip

    @classmethod
    def from_spark(
        cls,
        frame: Any,
        secret: str | Sequence[str],
        attributes: str | Sequence[str] | None = None,
        *,
        bins: Mapping[str, Sequence[float] | int | str] | None = None,
        top: Mapping[str, int] | None = None,
        dates: Mapping[str, Literal["year", "month", "day"]] | None = None,
        written: Mapping[str, Written] | None = None,
        groups: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
        missing: str | Sequence[str] = (),
        private: float | None = None,
        delta: float | None = None,
        at_least: int = 0,
        insist: bool = False,
        domain: Domain | str | Path | None = None,
    ) -> Joint:
        """As `from_table`, for a Spark DataFrame on its cluster: only different values and counts go to the driver."""
        from privacyfunnel.spec.counted import joint_of
        from privacyfunnel.tables.spark.source import count_spark

        return joint_of(
            frame, count_spark, secret=secret, columns=attributes, bins=bins, top=top, dates=dates, written=written,
            group=groups, missing=missing, private=private, delta=delta, at_least=at_least, insist=insist,
            domain=domain,
        )  # fmt: skip

    @classmethod
    def from_model(
        cls,
        model: Model,
        domain: Domain | str | Path | Mapping[str, Sequence[Label]],
        *,
        secret: str = "S",
        secret_values: Sequence[Hashable] | None = None,
    ) -> Joint:
        """The distribution of a model over its whole domain, so that every combination that can occur is in it.

        The `domain` lists the values of every column, in the order in which the model numbers them: names and values,
        or a `Domain` or its file, whose column `secret` is then left out. Weights are multiples of 2⁻⁶⁰, rounded up.

        >>> class Coins:
        ...     def p_x(self, codes): return 1 / (1 + codes[:, 0])
        ...     def p_s_given_x(self, codes): return np.stack([codes[:, 0] / 2, 1 - codes[:, 0] / 2])
        >>> Joint.from_model(Coins(), {"side": ["head", "tail"]}).p_x.round(3).tolist()
        [0.667, 0.333]
        """
        from privacyfunnel.tables.domain import model_columns

        columns, values = model_columns(domain, secret)
        weights = weights_of(model, [len(column) for column in columns])
        there = np.flatnonzero((weights > 0).any(axis=0))
        codes = np.stack(np.unravel_index(there, [len(column) for column in columns]), axis=1).astype(np.int64)
        self = cls.__new__(cls)
        self._settle(weights[:, there], codes, columns, secret, values if secret_values is None else secret_values)
        self.counted = False
        return self

    @classmethod
    def from_codes(
        cls,
        weights: ArrayLike,
        codes: Integers,
        columns: tuple[Column, ...],
        secret: str,
        secret_values: Sequence[Hashable] | None,
        secret_columns: tuple[Column, ...] = (),
    ) -> Joint:
        """The joint whose weights[s, x] belong to the values numbered codes[x, j] of columns[j].

        Python's integers, of any size, are taken as they are.
        """
        self, numbers = cls.__new__(cls), np.asarray(weights)
        self._settle(numbers if numbers.dtype == object else as_numbers(numbers), codes, columns, secret, secret_values)
        self.secret_columns = secret_columns
        if len(unique_rows(codes)[0]) < self.n_x:
            raise InvalidJoint("the same combination of attribute values is listed twice")
        return self

    @classmethod
    def from_exact(cls, weights: Exact, codes: Integers, columns: tuple[Column, ...], secret: str) -> Joint:
        """The joint whose weights[s, x], integers of any size, belong to different codes[x, j] of columns[j]."""
        self = cls.__new__(cls)
        self._settle(weights // math.gcd(*weights.flat), codes, columns, secret, None)
        self.counted = False
        return self

    def over(self, attributes: Sequence[str]) -> Joint:
        """The joint of the secret and some of the attributes, in this order; the others are summed out.

        >>> tuple(map(tuple, Joint([[[4, 1], [0, 2]], [[1, 1], [1, 0]]]).over(["X2"]).weights.tolist()))
        ((4, 3), (2, 1))
        """
        places = [self.attributes.index(name) for name in attributes]
        codes, of = unique_rows(self.codes[:, places])
        weights = np.zeros((self.n_s, len(codes)), dtype=self.weights.dtype)
        for row, own in zip(weights, self.weights, strict=True):
            np.add.at(row, of, own)
        smaller = Joint.__new__(Joint)
        smaller._settle(weights, codes, tuple(self.columns[j] for j in places), self.secret, self.secret_values)
        smaller.secret_columns, smaller.secret_parts, smaller.numbered = (
            self.secret_columns, self.secret_parts, self.numbered,
        )  # fmt: skip
        smaller.counted, smaller.declared = self.counted, self.declared
        smaller.nearest, smaller.at_least = self.nearest, self.at_least
        left = {*attributes, *(column.name for column in self.secret_columns)}
        smaller.chosen = tuple(name for name in self.chosen if name in left)
        return smaller

    @cached_property
    def completed(self) -> Joint:
        """The same distribution on all combinations of the attributes' values: P(x) = 0 where nobody has them.

        >>> Joint([[[4, 1], [0, 2]], [[1, 1], [0, 0]]]).completed.weights.tolist()
        [[4, 1, 0, 2], [1, 1, 0, 0]]
        """
        if self.n_x == self.combinations:
            return self
        sizes = [len(column) for column in self.columns]
        place = np.ravel_multi_index(tuple(self.codes.T), sizes)
        whole = self._copied()
        whole.codes = frozen(np.stack(np.unravel_index(np.arange(self.combinations), sizes), axis=1).astype(np.int64))
        whole.weights, whole.p = (
            frozen(_spread_out(part, place, self.combinations)) for part in (self.weights, self.p)
        )
        return whole

    def of_events(
        self, event: Integers, values: Sequence[Hashable], secret: str, columns: tuple[Column, ...] = ()
    ) -> Joint:
        """The joint of X and of the event that the secret belongs to: event[s] is a number among those of `values`.

        >>> Joint([[4, 1], [0, 2], [1, 1]]).of_events(np.array([0, 1, 1]), ["a", "b"], "S").weights.tolist()
        [[4, 1], [1, 3]]
        """
        coarser = self._copied()
        for name in ("weights", "p"):
            own = getattr(self, name)
            rows = np.zeros((len(values), self.n_x), dtype=own.dtype)
            for s, row in enumerate(own):
                rows[event[s]] += row
            setattr(coarser, name, frozen(rows))
        coarser.secret, coarser.secret_values, coarser.secret_columns = secret, tuple(values), columns
        coarser.secret_parts, coarser.before_gathering = (), None
        coarser.noise = None if self.noise is None else self.noise.of_events(event, len(values))
        coarser.events = event if self.events is None else event[self.events]
        return coarser

    def _copied(self) -> Joint:
        """The same, without what was computed from it: the copy is about to be changed."""
        fields = Probabilities.__annotations__.keys() | Joint.__annotations__.keys()
        copy = Joint.__new__(Joint)
        copy.__dict__.update({name: value for name, value in vars(self).items() if name in fields})
        return copy

    def sheet(self) -> Sheet:
        """What a notebook shows: the columns, and how many people have each secret."""
        what = f"{self.total:,} people" if self.counted else "probabilities"
        columns = ", ".join(f"{column.name} ({column.kind}, {len(column):,} values)" for column in self.columns)
        secrets = [[str(value), share(float(p))] for value, p in zip(self.secret_values, self.p_s, strict=True)]
        marks = [Mark(float(p)) for p in self.p_s]
        lines = [f"{what}; {self.n_x:,} combinations of values; {self.entropy:.3f} nats of information.", columns]
        if self.noise is not None:
            lines.append(f"From noisy counts of {self.noise.people:,} people, ε₀ = {self.noise.spent:g}.")
        title = f"Joint distribution of {self.secret} and {' × '.join(self.attributes)}"
        return Sheet(title, lines, (self.secret, "share"), secrets, marks)

    def __repr__(self) -> str:
        what = f"{self.total:,} people" if self.counted else "probabilities"
        return (
            f"<Joint of {self.secret} ({self.n_s} values) and {' × '.join(self.attributes)} ({self.n_x} seen), {what}>"
        )


def _spread_out(part: NDArray[Any], place: Integers, size: int) -> NDArray[Any]:
    """The columns of `part` at their places among `size`, with 0 elsewhere."""
    whole = np.zeros((len(part), size), dtype=part.dtype)
    whole[:, place] = part
    return whole
