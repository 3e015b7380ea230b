"""PrivacyFunnel: the protocol as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.raw import is_numeric
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.errors import InvalidInput, InvalidTable, MissingExtra
from privacyfunnel.optimiser.optimise import optimise
from privacyfunnel.promises.by_value import text_of
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import kind_named
from privacyfunnel.protocols.protocol import Objective, Protocol
from privacyfunnel.spec import as_keywords
from privacyfunnel.spec.counting import is_modelled
from privacyfunnel.spec.form import without_empty
from privacyfunnel.spec.of_fit import USUAL_OBJECTIVE
from privacyfunnel.spec.of_protocol import DOMAIN, asked_by
from privacyfunnel.spec.of_steps import SanitiseSpec
from privacyfunnel.spec.promising import kind_of, takes
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.by_step import sanitiser_of
from privacyfunnel.tables.counting import count_table
from privacyfunnel.tables.cutting import Bins
from privacyfunnel.tables.domain import Domain
from privacyfunnel.tables.fitting import Precision, Wishes
from privacyfunnel.tables.frames import is_frame, like, taken_apart
from privacyfunnel.tables.sanitiser import check_unseen
from privacyfunnel.tables.wide.fit import fit_wide
from privacyfunnel.tables.writing import plain

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import (
        check_array,
        check_consistent_length,
        check_is_fitted,
        column_or_1d,
        validate_data,
    )
except ImportError:
    raise MissingExtra("scikit-learn (1.6 or later)", "sklearn") from None

CALLED = {"weight": "weights", "keep_exact": "exact", "exact_fit": "private=None"}
"""Keys that have another name here, that of pf.optimise, and what says that a fit is exact."""
SECRET = "the secret"
"""The column that holds y beside those of X."""


class PrivacyFunnel(TransformerMixin, BaseEstimator):
    """Replace the attributes of every row by a draw from the best protocol that keeps a promise about the secret.

    By default the rows that come out have the distribution of those that `fit` saw, all columns together, and as many
    cells as possible stay as they are: a model trained on them learns what it would from the original rows. With
    the objective "information" outputs are names to be told apart, and rows are not to be counted.
    `fit(X, y)` takes the secret as y, several as a DataFrame, or from the columns of X that `secret` names; y is then
    left to the other steps of a pipeline. `transform` keeps the order of the rows and their index, since the other
    columns of a pipeline must still fit: to publish a table use `protocol_.sanitise`, which shuffles it.
    Every call draws afresh. Whoever sees two draws for a row learns more than the promise allows. There are no
    follow-ups: those are drawn by what was released of a person before, and scikit-learn does not say whose rows are.

    Parameters
    ----------
    notion : the kind of promise, such as "lip", or a promise such as pf.ALIP(0.5, 1.0)
    epsilon : its ε, or one for each value of the secret; not used where `notion` is a promise itself
    known : for "srlip" and "srldp", what attackers may know
    objective : "faithful", as above, or "information", the most of I(X;Y)
    weights : by column, how much it counts that its cells stay as they are, 1 unless given; for "faithful"
    secret : the column of X that is the secret, or several of them; None: y is
    bins : by column, or one for all columns of numbers: edges, a number, "width:5", "each"
    top, dates, missing : as for Joint.from_table
    private : ε₀ of noise on every count before anything is computed from it; None: exact counts, whose protocol is not
        for publication
    at_least : combinations of values that fewer people have are read as the nearest other one
    insist : fit even if that concerns more than 5% of the people
    domain : a pf.Domain or the path of its file, so that no value or border comes from the rows; it declares the
        secret, too, so that is a column of X then
    output : "values", as released tables hold them, or "codes", the number of each value in its column
    unseen : "refuse" rows that were not there when fitting, or "draw" them such that the promise is kept whoever
        they are; where no such draw is known (side channels), `fit` refuses
    gap, time_limit : as for pf.optimise; a gap of None is that of the objective
    exact : columns that are released as they are
    random_state : None, for the operating system's randomness; a number is for tests and is insecure

    Attributes
    ----------
    protocol_ : the Protocol. It is for publication only if `private` was given: fitted on exact counts, as it is by
        default, its file tells secrets of people whose combination of values few share

    >>> X, ill = np.array([["A"], ["A"], ["B"], ["B"]] * 50), ["yes", "no", "no", "no"] * 50
    >>> funnel = PrivacyFunnel(epsilon=0.2).fit(X, ill)
    >>> funnel.transform(X).shape, funnel.protocol_.notion
    ((200, 1), LIP(epsilon=0.2))

    """

    def __init__(
        self,
        notion: str | Notion = "lip",
        epsilon: float | Mapping[Any, float] = 0.5,
        *,
        known: int | Sequence[str] | None = None,
        objective: Objective = "faithful",
        weights: Mapping[str, float] | None = None,
        secret: str | Sequence[str] | None = None,
        bins: Mapping[str, Bins] | Bins | None = None,
        top: Mapping[str, int] | None = None,
        dates: Mapping[str, Precision] | None = None,
        missing: str | Sequence[str] = (),
        private: float | None = None,
        at_least: int = 0,
        domain: Domain | str | Path | None = None,
        output: Literal["values", "codes"] = "values",
        unseen: Literal["refuse", "draw"] = "refuse",
        gap: float | None = None,
        time_limit: float | None = 60.0,
        random_state: int | None = None,
        exact: Sequence[str] | None = None,
        insist: bool = False,
    ) -> None:
        self.notion = notion
        self.epsilon = epsilon
        self.known = known
        self.objective = objective
        self.weights = weights
        self.secret = secret
        self.bins = bins
        self.top = top
        self.dates = dates
        self.missing = missing
        self.private = private
        self.at_least = at_least
        self.domain = domain
        self.output = output
        self.unseen = unseen
        self.gap = gap
        self.time_limit = time_limit
        self.random_state = random_state
        self.exact = exact
        self.insist = insist

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the best protocol for the rows of X and their secret."""
        if self.output not in ("values", "codes"):
            raise InvalidInput(f"output is 'values' or 'codes', not {self.output!r}")
        as_keywords.said(SanitiseSpec, {"seed": "random_state"}, unseen=self.unseen, seed=self.random_state).spec()
        table = self._read(X, reset=True)
        secrets = self._secrets
        if not secrets and _is_frame(y) and len(y.columns) > 1:
            table, secrets = self._with_several(table, y)
        elif not secrets:
            secret = SECRET
            while secret in table.column_names:
                secret += "'"
            table, secrets = table.append_column(secret, self._secret_of(y, table)), [secret]
        attributes = [name for name in table.column_names if name not in secrets]
        wishes = Wishes(self._bins(table, attributes), self.top or {}, self.dates or {}, self.missing)
        asked = self._asked(secrets, wishes)
        promise = self._promise(asked)
        counted = count_table(table, secrets, attributes, wishes=wishes, domain=self.domain)
        if is_modelled(asked, counted.joint):
            protocol = fit_wide(counted.joint, promise, self.private, seconds=self.time_limit)
        else:
            safe = counted.safely(self.private, at_least=self.at_least, insist=self.insist)
            protocol = self._best(safe.joint, promise)
        check_unseen(protocol, self.unseen)
        self.protocol_ = protocol
        return self

    def transform(self, X: Any) -> Any:
        """A released row for every row of X, in the same order: a DataFrame for a DataFrame, else an array."""
        check_is_fitted(self)
        table = self._read(X, reset=False)
        seed = self.random_state
        randomness = Randomness.secure() if seed is None else Randomness.seeded(seed)
        sanitiser = sanitiser_of(self.protocol_, self.unseen)
        sanitiser.keep_types({field.name: field.type for field in table.schema} if _is_frame(X) else {})
        absent = [name for name in self.protocol_.attributes if name not in table.column_names]
        if absent:
            raise InvalidTable(f"X has no column {absent[0]!r}, which was there in fit")
        batch = table.select(list(self.protocol_.attributes)).combine_chunks().to_batches()[0]
        y = sanitiser.outputs(sanitiser.inputs(batch), randomness)
        sanitiser.finish()
        released = plain(sanitiser.release(y), sanitiser.schema()) if self.output == "values" else self._codes(y)
        return _like(X, released)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the released columns: those of X, without the secret."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if input_features is not None and names is not None and not np.array_equal(names, input_features):
            raise InvalidInput("input_features is not equal to feature_names_in_")
        if input_features is not None and len(input_features) != self.n_features_in_:
            raise InvalidInput(f"input_features should have length equal to number of features ({self.n_features_in_})")
        if input_features is not None and names is None:
            return np.asarray(input_features, dtype=object)
        return np.asarray(self.protocol_.attributes, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.target_tags.required = self.secret is None
        tags.non_deterministic = self.random_state is None
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _read(self, X: Any, reset: bool) -> pa.Table:
        """The columns of X under their names, x0, x1, … if it has none."""
        if _is_frame(X):
            if self._secrets and not reset and not set(self._secrets) <= set(X.columns):
                return _table(X)  # tomorrow's rows may come without the secret
            validate_data(self, X, reset=reset, skip_check_array=True)
            check_array(np.zeros((len(X), len(X.columns))))  # as many rows and columns as it takes
            table = _table(X)
            return table if hasattr(self, "feature_names_in_") else table.rename_columns(_places(table.num_columns))
        X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan", accept_sparse=False)
        names = [str(name) for name in getattr(self, "feature_names_in_", _places(X.shape[1]))]
        return pa.table({name: _array(X[:, j].tolist(), name) for j, name in enumerate(names)})

    def _with_several(self, table: pa.Table, y: Any) -> tuple[pa.Table, list[str]]:
        """The columns of X with those of y, each a secret."""
        secrets, own = [str(name) for name in y.columns], _table(y)
        check_consistent_length(table[0], own[0])
        both = [name for name in secrets if name in table.column_names]
        if both:
            raise InvalidInput(f"X and y both have a column {both[0]!r}; the secret is left out of X")
        for name in own.column_names:
            table = table.append_column(name, own[name])
        return table, secrets

    def _secret_of(self, y: Any, table: pa.Table) -> pa.Array:
        if y is None:
            raise InvalidInput(
                "PrivacyFunnel requires y to be passed, but the target y is None; pass the secret, or name its column"
            )
        y = column_or_1d(y, warn=True)
        check_consistent_length(table[0], y)
        return _array(y.tolist(), "y")

    def _bins(self, table: pa.Table, attributes: Sequence[str]) -> Mapping[str, Bins]:
        if self.bins is None or isinstance(self.bins, Mapping):
            return self.bins or {}
        return {name: self.bins for name in attributes if is_numeric(table.schema.field(name).type)}

    @property
    def _secrets(self) -> list[str]:
        """The columns of X that are secret."""
        if self.secret is None:
            return []
        return [self.secret] if isinstance(self.secret, str) else list(self.secret)

    def _asked(self, secrets: Sequence[str], wishes: Wishes) -> Spec:
        """What the parameters ask for, refused in the same words as on the command line."""
        keys: dict[str, Any] = {"secret": [list(secrets)], "exact_fit": self.private is None}
        if isinstance(self.notion, Notion):
            keys |= asked_by(self.notion, secrets) or {}
        else:
            kind = kind_named(self.notion) if isinstance(self.notion, str) else None
            level: Any = self.epsilon
            if isinstance(level, Mapping):
                level = {text_of(value): one for value, one in level.items()}
            keys |= {"notion": self.notion, "known": self.known}
            keys |= {"epsilon": level} if kind is None or takes(kind, "epsilon") else {}
        keys |= {"bins": wishes.bins, "top": self.top, "dates": self.dates}
        keys |= {"missing": [self.missing] if isinstance(self.missing, str) else self.missing}
        keys |= {"domain": DOMAIN if isinstance(self.domain, Domain) else self.domain and str(self.domain)}
        keys |= {"objective": None if self.objective == USUAL_OBJECTIVE else self.objective, "weight": self.weights}
        keys |= {"private": self.private, "at_least": self.at_least or None, "insist": self.insist}
        keys |= {"keep_exact": self.exact, "gap": self.gap, "time_limit": self.time_limit}
        return as_keywords.said(Spec, CALLED, **without_empty(keys)).spec()

    def _promise(self, asked: Spec) -> Notion:
        if isinstance(self.notion, Notion):
            return self.notion
        if not asked.promised:
            needed = " and ".join(kind_of(asked.kinds[0]).required())
            raise InvalidInput(f"{self.notion} needs {needed}: pass the promise itself as notion")
        if isinstance(self.epsilon, Mapping) and asked.epsilon is not None:  # values as they are, not as texts
            asked = asked.model_copy(update={"epsilon": dict(self.epsilon)})
        return cast(Notion, asked.promise())

    def _best(self, joint: Joint, promise: Notion) -> Protocol:
        return optimise(
            joint, promise, objective=self.objective, weights=self.weights, exact=self.exact, gap=self.gap,
            time_limit=self.time_limit,
        )  # fmt: skip

    def _codes(self, y: NDArray[np.int32]) -> pa.RecordBatch:
        step = self.protocol_.step
        codes = step.written(y[:, 0].astype(np.int64))
        return pa.RecordBatch.from_arrays([pa.array(own) for own in codes.T], names=list(step.attributes))


def _is_frame(X: Any) -> bool:
    """Whether X is a DataFrame with named columns, as scikit-learn takes them."""
    return is_frame(X) and not isinstance(X, pa.Table)


def _table(frame: Any) -> pa.Table:
    """A DataFrame as Arrow, without its index."""
    names, arrays, unusable = taken_apart(frame)
    for name, trouble in unusable.items():
        raise InvalidTable(f"column {name!r} {trouble}") from None
    return pa.table(arrays, names=names)


def _places(n: int) -> list[str]:
    """The names of columns that have none."""
    return [f"x{j}" for j in range(n)]


def _array(values: Any, name: str) -> Any:
    """A column as Arrow, whose own complaints would quote a value."""
    try:
        return pa.array(values, from_pandas=True)
    except MemoryError:  # also Arrow's own
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise InvalidTable(f"column {name!r} holds values of different types; give it one type") from None


def _like(X: Any, released: pa.RecordBatch) -> Any:
    """The released rows in the kind that X came in."""
    if _is_frame(X):
        frame = like(X, pa.Table.from_batches([released]))
        if hasattr(X, "index") and hasattr(frame, "set_axis"):  # of pandas
            frame.index = X.index
        return frame
    columns = [column.to_numpy(zero_copy_only=False) for column in released.columns]
    kinds = {column.dtype.kind for column in columns}
    return np.stack(columns, axis=1).astype(object if kinds - set("iufb") else None, copy=False)
