"""Counting: from a table to the joint distribution of its secret and its attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from privacyfunnel.distribution.column import LONGEST_NAME, OTHER, UNSEEN, Column
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.numeric.rows import unique_rows
from privacyfunnel.tables.domain import Domain, opened
from privacyfunnel.tables.fitting import FittedColumn, Wishes, as_secret, fitted_in, look_at
from privacyfunnel.tables.frequency_threshold import Threshold, of_noisy, thresholded
from privacyfunnel.tables.grouping import Grouping
from privacyfunnel.tables.groups import secret_groups, with_groups
from privacyfunnel.tables.private_counts import at_threshold, private
from privacyfunnel.tables.sources import open_source
from privacyfunnel.typing import Integers

MOST_CELLS = 20_000_000
"""Different combinations of secret and attributes that are held in memory, a number of 8 bytes for each column."""
NOT_FITTED = ("values that were not there when fitting", "; leave these rows out (--where)")
NOT_DECLARED = (
    "values that the domain does not declare",
    '; declare them (missing ones by "missing": true, numbers by wider or open bins), '
    'or say "outside": "other" of an attribute',
)
"""What is said of rows that cannot be counted, and what to do about them."""


@dataclass(frozen=True)
class Counted:
    """A joint distribution, and what was decided for each column on the way."""

    joint: Joint
    secrets: tuple[FittedColumn, ...]
    attributes: tuple[FittedColumn, ...]
    dropped: tuple[str, ...]
    """Columns of the table that play no part."""
    identifiers: tuple[str, ...] = ()
    """Those of them that nobody left out but that look like names or numbers of people."""
    threshold: Threshold | None = None
    """What a frequency threshold did, if one was asked for."""
    unit: str | None = None
    """What the promise is about, where it was said that this is not a person."""

    def safely(
        self,
        epsilon: float | None,
        *,
        delta: float | None = None,
        at_least: int = 0,
        choosing: float = 0.0,
        insist: bool = False,
    ) -> Counted:
        """The same with noise of ε₀ on every cell, if it is given, and a frequency threshold, if that is not 0.

        `choosing` is what the choice of columns has spent beside this ε₀. Refused where too many people would be read
        as having another combination of values, unless somebody insists; of noisy counts, these say so.
        """
        if isinstance(at_least, bool) or not isinstance(at_least, int | np.integer) or at_least < 0:
            raise InvalidInput(f"at_least is a number of people; got {at_least!r}")
        if epsilon is not None:
            joint = private(self.joint, epsilon, delta=delta, at_least=int(at_least), choosing=choosing)
            return self._with(joint, of_noisy(joint), insist)
        if delta is not None:
            raise InvalidInput("δ₀ belongs to a private fit: give its ε₀, too (private=1.0)")
        if not at_least:
            return self
        return self._with(*thresholded(self.joint, int(at_least)), insist)

    def at_threshold(self, at_least: int, insist: bool = False) -> Counted:
        """The same noisy counts with another frequency threshold."""
        joint = at_threshold(self.joint, at_least)
        return self._with(joint, of_noisy(joint), insist)

    def _with(self, joint: Joint, threshold: Threshold | None, insist: bool) -> Counted:
        if threshold is not None and not insist:
            threshold.refuse_many()
        return replace(self, joint=joint, threshold=threshold)


def count_table(
    table: Any,
    secret: str | Sequence[str],
    attributes: str | Sequence[str] | None = None,
    *,
    wishes: Wishes | None = None,
    allow_secret_attribute: bool = False,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    domain: Domain | str | Path | None = None,
    with_identifiers: bool = True,
    as_before: Mapping[str, Column] | None = None,
    leave_out: Sequence[str] = (),
) -> Counted:
    """Fit the columns of a table and count them. Without `attributes`, all columns but the secret are meant.

    Those in `leave_out` are not, either.

    Those that look like identifiers are left out of these if `with_identifiers` says so and there is no wish for them.

    Columns in `as_before` are read as these say, unless there are wishes for them.

    With a domain no column is fitted: each has the values that are declared, whatever occurs in the table, and the
    columns that are meant by default are the declared ones.
    """
    wishes = wishes or Wishes()
    domain = opened(domain)
    if domain is not None:
        _check_wishes(wishes)
    source = table if isinstance(table, Grouping) else open_source(table, delimiter=delimiter, encoding=encoding)
    secrets = [secret] if isinstance(secret, str) else list(secret)
    with_identifiers = with_identifiers or attributes is not None or domain is not None  # these name what is meant
    if attributes is None:
        source.require(leave_out)
        meant = domain.names if domain else source.columns
        attributes = [name for name in meant if name not in (*secrets, *leave_out)]
    attributes = [attributes] if isinstance(attributes, str) else list(attributes)
    _check_names(secrets, attributes, allow_secret_attribute)
    used = {*secrets, *attributes}
    if not isinstance(wishes.groups, Mapping):
        raise InvalidTable("groups are given by column, {'town': {'north': ['Ashford', 'Birch']}}")
    source.require([*secrets, *attributes, *sorted(wishes.columns())])
    idle = sorted(wishes.columns() - used)
    if idle:
        raise InvalidTable(f"there are wishes for column {idle[0]!r}, which is neither secret nor attribute")
    hidden = sorted({*wishes.top} & set(secrets))
    if hidden:
        raise InvalidTable(
            f"the secret {hidden[0]!r} cannot keep only its most frequent values; merge others by "
            "groups (--set group=…)"
        )
    if domain is not None:  # the table is read once, to be counted
        fitted_secrets, fitted = _declared_secrets(domain, secrets), _declared(domain, attributes)
    else:
        source.hold(sorted(used))
        look = look_at(source, list(dict.fromkeys([*secrets, *attributes])), wishes)
        fitted_secrets, fitted = fitted_in(look, secrets, secret=True), fitted_in(look, attributes)
    if domain is None and as_before:
        fitted = tuple(_as_before(f, as_before, wishes) for f in fitted)
    fitted = tuple(with_groups(f, wishes) for f in fitted)
    fitted_secrets = tuple(secret_groups(f, wishes) for f in fitted_secrets)
    kept = fitted if with_identifiers else _without_identifiers(fitted, wishes)
    lacking = NOT_FITTED if domain is None else NOT_DECLARED
    joint = count(source, [f.column for f in fitted_secrets], [f.column for f in kept], lacking)
    joint.declared = domain is not None
    joint.chosen = tuple(f.column.name for f in (*fitted_secrets, *kept) if f.chosen)
    identifiers = tuple(f.column.name for f in fitted if f not in kept)
    dropped = tuple(name for name in source.columns if name not in used or name in identifiers)
    return Counted(joint, fitted_secrets, kept, dropped, identifiers)


def _as_before(fitted: FittedColumn, columns: Mapping[str, Column], wishes: Wishes) -> FittedColumn:
    """The column as it was read before, unless somebody wants it otherwise."""
    name = fitted.column.name
    if name not in columns or name in wishes.columns():
        return fitted
    return FittedColumn(columns[name], "as it was released before")


def _without_identifiers(fitted: tuple[FittedColumn, ...], wishes: Wishes) -> tuple[FittedColumn, ...]:
    """The columns that do not look like names or numbers of people, or that somebody wants to be read in some way."""
    kept = tuple(f for f in fitted if not f.identifier or f.column.name in wishes.columns())
    if not kept:
        raise InvalidTable("every column looks like names or numbers of people; choose some with --columns")
    return kept


def _check_names(secrets: Sequence[str], attributes: Sequence[str], allow_secret_attribute: bool) -> None:
    if not secrets or not attributes:
        raise InvalidTable("name at least one secret column and one attribute")
    for names, what in ((secrets, "secret"), (attributes, "attribute")):
        twice = sorted({name for name in names if list(names).count(name) > 1})
        if twice:
            raise InvalidTable(f"column {twice[0]!r} is named twice as {what}")
    long = [name for name in (*secrets, *attributes) if len(name) > LONGEST_NAME]
    if long:
        raise InvalidTable(f"a column has a name of {len(long[0]):,} letters; rename it, {LONGEST_NAME:,} at most")
    both = sorted(set(secrets) & set(attributes))
    if both and not allow_secret_attribute:
        raise InvalidTable(
            f"column {both[0]!r} is both secret and attribute; leave it out of the attributes, "
            "or pass --set allow-secret-attribute to release a sanitised form of it"
        )


def _check_wishes(wishes: Wishes) -> None:
    if {*wishes.bins, *wishes.top, *wishes.dates, *wishes.written}:
        raise InvalidTable(
            "a domain declares the values of columns, so it goes without bins, top and dates; edit the domain"
        )
    if wishes.markers:
        raise InvalidTable(
            'a domain declares what means missing, so it goes without missing; put these texts into "missing_texts"'
        )


def _declared(domain: Domain, names: Sequence[str]) -> tuple[FittedColumn, ...]:
    """The columns as the domain has them, which nobody fitted."""
    domain.require(names)
    return tuple(FittedColumn(column, _words(column)) for column in map(domain.column, names))


def _declared_secrets(domain: Domain, names: Sequence[str]) -> tuple[FittedColumn, ...]:
    fitted = _declared(domain, names)
    for one in fitted:
        if one.column.other:
            raise InvalidTable(
                f'the domain merges values of the secret {one.column.name!r} into "other"; declare them all'
            )
    return tuple(map(as_secret, fitted))


def _words(column: Column) -> str:
    """What was declared for a column."""
    own = len(column) - (None in column.labels) - column.other
    words = f"declared: {own:,} {'bin' if column.kind == 'bins' else 'value'}{'s' if own != 1 else ''}"
    if column.other:
        words += f"; the rest is {OTHER!r}"
    return words + ("; missing is a value of its own" if None in column.labels else "")


def count(
    source: Grouping, secrets: Sequence[Column], attributes: Sequence[Column], lacking: tuple[str, str] = NOT_FITTED
) -> Joint:
    """The joint distribution of columns that have been fitted. The table's engine groups the raw values.

    `lacking` are the words for rows with values that a column does not have: what these are, and what to do. A table is
    too large by what is public: how many rows it has, and how many combinations its columns have. How many of these
    occur hangs on single people, and a refusal would tell it.
    """
    columns = [*secrets, *attributes]
    possible = math.prod(map(len, columns))
    names = list(dict.fromkeys(column.name for column in columns))
    cells: Integers = np.empty((0, len(columns)), dtype=np.int64)
    people: Integers = np.empty(0, dtype=np.int64)
    unseen = np.zeros(len(columns), dtype=np.int64)
    for batch in source.groups(names):
        codes = np.stack([column.encode(batch.column(names.index(column.name))) for column in columns], axis=1)
        counts = batch.column(len(names)).to_numpy(zero_copy_only=False)
        unseen += ((codes == UNSEEN) * counts[:, None]).sum(axis=0)
        cells, people = _merge(np.vstack([cells, codes]), np.concatenate([people, counts]))
        if min(possible, int(people.sum())) > MOST_CELLS:
            raise InvalidTable(
                f"over {MOST_CELLS:,} rows, of columns with over {MOST_CELLS:,} combinations of values, are too many; "
                "use fewer columns, wider ranges (bins) or fewer values (top)",
                steward_only=False,  # public numbers
            )
    lost = [f"{n} in {c.name!r}" for n, c in zip(unseen, columns, strict=True) if n]
    if lost:
        what, next_step = lacking
        raise InvalidTable(f"{source.name} has rows with {what}: {', '.join(lost)}{next_step}", steward_only=True)
    return _assemble(source, secrets, attributes, cells, people)


def _merge(cells: Integers, people: Integers) -> tuple[Integers, Integers]:
    different, place = unique_rows(cells)
    total = np.zeros(len(different), dtype=np.int64)
    np.add.at(total, place, people)
    return different, total


def _assemble(
    source: Grouping,
    secrets: Sequence[Column],
    attributes: Sequence[Column],
    cells: Integers,
    people: Integers,
) -> Joint:
    if not len(cells):
        raise InvalidTable(f"{source.name} has a header but no rows")
    k = len(secrets)
    secret_cells, s = unique_rows(cells[:, :k])
    codes, x = unique_rows(cells[:, k:])
    weights = np.zeros((len(secret_cells), len(codes)), dtype=np.int64)
    weights[s, x] = people
    values = [tuple(c.labels[i] for c, i in zip(secrets, row, strict=True)) for row in secret_cells.tolist()]
    return Joint.from_codes(
        weights,
        codes,
        tuple(attributes),
        secret=" and ".join(column.name for column in secrets),
        secret_values=[value[0] if k == 1 else value for value in values],
        secret_columns=tuple(secrets),
    )
