"""Formulas: "active ~ age + C(town)", as a design over the combinations of values that rows can have."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.distribution.column import OPEN, Column
from privacyfunnel.errors import InvalidInput, MissingExtra
from privacyfunnel.typing import Integers, Matrix, Vector

FUNCTIONS = {
    "": {"C", "I", "log", "log2", "log10", "exp"},
    "np": {"log", "log2", "log10", "log1p", "exp", "sqrt", "abs"},
    "contr": {"treatment", "sum", "helmert", "poly", "diff"},
}
"""What formulas may call, by the module that it is written with: functions of single values, and contrasts. Others,
such as center, go by all rows of a table, and there is none."""
ALLOWED = (
    ast.Expression, ast.Name, ast.Load, ast.Constant, ast.Call, ast.keyword, ast.Attribute, ast.BinOp, ast.UnaryOp,
    ast.operator, ast.unaryop, ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop,
)  # fmt: skip
"""What an expression may consist of."""
LONGEST = 500
"""Letters of a formula: no model that anybody reads has more."""
LARGEST_POWER = 6
"""Of a term or a number: larger ones are never meant, and may take for ever to be multiplied out."""
LARGEST_NUMBER = 1e15
"""In a formula."""
POWER = re.compile(r"(?:\*\*|\^)\s*(\(|[-\w.]+)")
"""What is written after the sign of a power."""
QUOTED = re.compile(r"`[^`]*`")
"""A name of a column as formulas quote it."""
COLOURS = re.compile(r"\x1b\[[0-9;]*m|[⧛⧚]|\[1;31m|\[0m")
"""How formulaic marks what it stumbled over."""


@dataclass(frozen=True, eq=False)
class Design:
    """Rows of a model, one for each combination of values; those that a missing value keeps out are all 0."""

    names: tuple[str, ...]
    """Of the coefficients."""
    terms: dict[str, tuple[int, ...]]
    """Which coefficients belong to each term; the intercept is called "1"."""
    X: Matrix
    y: Vector
    used: NDArray[np.bool_]
    """Which combinations have no missing value."""
    response: str
    """What y is, in words."""
    notes: tuple[str, ...]


class Formula:
    """A formula that was read, and not yet applied to anything."""

    def __init__(self, text: str) -> None:
        try:
            import formulaic
        except ImportError:
            raise MissingExtra("formulaic", "models") from None
        self.text = _readable(text)
        try:
            self._parsed = formulaic.Formula(text)
            sides = self._parsed.lhs, self._parsed.rhs
            factors = {factor for side in sides for term in side for factor in term.factors}
        except AttributeError:
            raise InvalidInput(f"{_quoted(text)} is no model: write it as “response ~ term + term”") from None
        except Exception as trouble:  # of another library, about a text that somebody typed
            raise InvalidInput(f"{_quoted(text)} cannot be read: {_line(trouble)}") from None
        if len(list(sides[0])) != 1:
            raise InvalidInput(f"{_quoted(text)} needs one response on the left of ~")
        for factor in factors:
            _check(text, str(factor.expr))
        self.columns = sorted(map(str, self._parsed.required_variables))
        self.response_columns = sorted(map(str, sides[0].required_variables))
        if set(self.response_columns) & set(map(str, sides[1].required_variables)):
            raise InvalidInput(f"{_quoted(text)} explains a column by itself")

    def design(self, columns: Mapping[str, Column], codes: Integers, binary: bool) -> Design:
        """The model's rows for combinations codes[t, j] of the values of the formula's columns, in their order."""
        import pandas as pd

        frame, notes = {}, []
        used = np.ones(len(codes), dtype=bool)
        for j, name in enumerate(self.columns):
            values, note = _values(columns[name])
            labels = columns[name].labels
            used &= np.array([label is not None for label in labels])[codes[:, j]]
            frame[name] = values[codes[:, j]]
            notes += [note] if note else []
        whole = pd.DataFrame({name: pd.Series(list(values[used])) for name, values in frame.items()})
        if not used.any():
            raise InvalidInput("every combination of these columns has a missing value, so there is nothing to model")
        left, right, terms = self._matrices(whole)
        if right.shape[1] == 0:
            raise InvalidInput(f"{_quoted(self.text)} has no term; a model needs one, or an intercept")
        y, response = self._response(left, binary)
        X = np.zeros((len(codes), right.shape[1]))
        X[used], full = right.to_numpy(dtype=float), np.zeros(len(codes))
        full[used] = y
        if not np.isfinite(X).all() or not np.isfinite(full).all():
            raise InvalidInput(f"{_quoted(self.text)} is not finite everywhere: a logarithm of 0, or a division by it?")
        names = tuple(map(str, right.columns))
        return Design(names, terms, X, full, used, response, tuple(notes))

    def _matrices(self, frame: Any) -> tuple[Any, Any, dict[str, tuple[int, ...]]]:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found = self._parsed.get_model_matrix(frame, context={}, na_action="ignore")
                spec = found.rhs.model_spec
        except Exception as trouble:  # of another library, about a text that somebody typed
            raise InvalidInput(f"{_quoted(self.text)} cannot be computed: {_line(trouble)}") from None
        return found.lhs, found.rhs, {str(term): tuple(places) for term, places in spec.term_indices.items()}

    def _response(self, left: Any, binary: bool) -> tuple[Vector, str]:
        """A number for every row; of two words, whether it is the second."""
        names = list(map(str, left.columns))
        if len(names) == 1:
            return np.asarray(left.iloc[:, 0], dtype=float), names[0]
        if len(names) == 2 and binary:
            return np.asarray(left.iloc[:, 1], dtype=float), f"whether it is {names[1]}"
        what = f"has {len(names)} values" if binary else "is no number"
        hint = "; write {" + self.response_columns[0] + ' == "value"} for one of them' if binary else ""
        raise InvalidInput(f"the response of {_quoted(self.text)} {what}{hint}")


def _values(column: Column) -> tuple[NDArray[Any], str]:
    """What each label stands for in a model: itself, or the middle of a range."""
    if column.kind != "bins":
        numeric = column.kind in ("integer", "number") and not column.other
        values = [None if label is None else (float(label) if numeric else str(label)) for label in column.labels]
        return np.array(values, dtype=object), ""
    middles, open_ends = _middles(np.array(column.edges))
    note = f"{column.name}: everybody counts as in the middle of their range"
    if open_ends:
        note += "; ranges without an end count as being as wide as the next"
    missing: list[float | None] = [None] * (len(column.labels) - len(middles))
    return np.array([*middles.tolist(), *missing], dtype=object), note


def _middles(edges: Vector) -> tuple[Vector, bool]:
    """The middles of ranges; a range without an end is taken to be as wide as the next one."""
    first, last = edges[0] <= -OPEN, edges[-1] >= OPEN
    edges = edges.copy()
    if len(edges) == 2 and (first or last):
        raise InvalidInput("a column with a single range is no number in a model")
    inner = edges[1 if first else 0 : -1 if last else None]
    widths = np.diff(inner) if len(inner) > 1 else np.array([max(abs(float(inner[0])), 1.0)])
    if first:
        edges[0] = edges[1] - widths[0]
    if last:
        edges[-1] = edges[-2] + widths[-1]
    return (edges[:-1] + edges[1:]) / 2, bool(first or last)


def _check(text: str, expression: str) -> None:
    """Refuse code that is no function of the values of one row."""
    names = QUOTED.findall(expression)
    for i, name in enumerate(names):
        expression = expression.replace(name, f"_column_{i}")
    try:
        tree = ast.parse(expression.strip() or "1", mode="eval")
    except SyntaxError:
        if "(" in expression or any(mark in expression for mark in "[]{}"):
            raise InvalidInput(f"{_quoted(text)} cannot be read at {_quoted(expression)}") from None
        return  # a plain name with signs in it, looked up as a column
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = [call.func for call in calls]
    within = [func.value for func in called if isinstance(func, ast.Attribute)]
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in [*called, *within]]
    strange = [
        node for node in ast.walk(tree) if _strange(node) or (isinstance(node, ast.Attribute) and node not in called)
    ]
    if strange or any(name.id in FUNCTIONS for name in used):
        raise InvalidInput(f"{_quoted(text)} holds more than a formula may: {_quoted(expression)}")
    plain = isinstance(tree.body, ast.Constant) and not isinstance(tree.body.value, str)  # the intercept
    if not used and not plain and not any(isinstance(f, ast.Attribute) for f in called):
        raise InvalidInput(f"{_quoted(text)} has a term without a column: {_quoted(expression)}")
    for func in called:
        whole = ast.unparse(func)
        module, _, name = whole.rpartition(".")
        if name not in FUNCTIONS.get(module, ()):
            raise InvalidInput(
                f"{_quoted(text)} uses {whole}, which is not among what a formula may call: C, I, log, exp, np.sqrt. "
                "What goes by all rows of a table, such as center or poly, is written out: I(age ** 2)"
            )
    for call in calls:
        func = call.func
        single = not call.keywords and len(call.args) == 1
        if not single and ast.unparse(func) != "C" and not ast.unparse(func).startswith("contr."):
            raise InvalidInput(f"{_quoted(text)} gives {ast.unparse(func)} more than one value")


def _strange(node: ast.AST) -> bool:
    """Whether a part of an expression is nothing that a formula needs, or could take for ever."""
    if not isinstance(node, ALLOWED) or isinstance(node, ast.MatMult):
        return True
    if isinstance(node, ast.Constant):
        return node.value is None or (isinstance(node.value, int | float) and abs(node.value) > LARGEST_NUMBER)
    if isinstance(node, ast.BinOp):
        return any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, node.right))
    return False


def _readable(text: str) -> str:
    """The text, if it is one, of a length that can be read, with powers that can be multiplied out."""
    if not isinstance(text, str):
        raise InvalidInput(f"a model is a text such as “y ~ x”, not {type(text).__name__}")
    if len(text) > LONGEST:
        raise InvalidInput(f"a formula has at most {LONGEST} letters; this one has {len(text):,}")
    for power in POWER.findall(QUOTED.sub("", text)):
        try:
            fits = abs(float(power)) <= LARGEST_POWER
        except ValueError:
            fits = False
        if not fits:
            raise InvalidInput(f"{_quoted(text)}: powers are numbers up to {LARGEST_POWER}")
    return text


def _quoted(text: str) -> str:
    return f"“{' '.join(text.split())}”"


def _line(trouble: Exception) -> str:
    """What formulaic says, without its marks."""
    return COLOURS.sub("", str(trouble)).split("\n")[0].strip().rstrip(".")


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return ", ".join(names)
