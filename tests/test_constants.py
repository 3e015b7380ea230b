"""Every number has a name and a reason: constants say theirs right below, and no tolerance hides in a function."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import privacyfunnel

SOURCE = Path(privacyfunnel.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))


def constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr, bool]]:
    """Name, value, and whether a docstring stands right below, of every constant of a module."""
    for statement, below in pairwise([*tree.body, ast.Pass()]):
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
        value = getattr(statement, "value", None)
        if names and value is not None and all(name.lstrip("_").isupper() for name in names):
            said = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            yield ", ".join(names), value, said and isinstance(below.value.value, str)


def numeric(value: ast.expr) -> bool:
    """Whether a value is made of numbers alone: 3, 2**20, (1, 2), np.array([1.0]), 1 - EPS."""
    parts = [part.value for part in ast.walk(value) if isinstance(part, ast.Constant)]
    return bool(parts) and all(type(part) in (int, float) for part in parts)


def unexplained(text: str) -> list[str]:
    return [name for name, value, said in constants(ast.parse(text)) if numeric(value) and not said]


def hidden(text: str) -> list[str]:
    """Numbers with an exponent, such as 1e-9, in the bodies of functions. Defaults have the name of their parameter."""
    lines = text.encode().split(b"\n")
    found = {}
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in (part for statement in function.body for part in ast.walk(statement)):
                if isinstance(part, ast.Constant) and type(part.value) is float:
                    written = lines[part.lineno - 1][part.col_offset : part.end_col_offset].decode()
                    if "e" in written.lower():
                        found[part.lineno, part.col_offset] = f"{written} in line {part.lineno}"
    return list(found.values())


def test_every_number_has_a_name_and_a_reason():
    texts = {str(module.relative_to(SOURCE)): module.read_text(encoding="utf-8") for module in MODULES}
    without_reason = {name: found for name, text in texts.items() if (found := unexplained(text))}
    assert without_reason == {}, "say below each what it trades off, or where it comes from"
    without_name = {name: found for name, text in texts.items() if (found := hidden(text))}
    assert without_name == {}, "give each a name and a reason at the top of the module"


def test_what_has_no_reason_is_found():
    assert unexplained('A = 1\n"""Why."""\nB = 2**20\nC, _D = 1, 2\nE: float = -1e-9\nF = np.array([1.0])\n') == [
        "B",
        "C, _D",
        "E",
        "F",
    ]
    assert unexplained('WORDS = ("a", "b")\nfew = 3\nSIZES = {"a": 1}\nALIAS = A\nON = True\n') == []


def test_what_has_no_name_is_found():
    text = 'def f(gap=1e-6):\n    "1e-9"\n    é = [x + 1E-5 for x in gap]\n    return 0.5 * é\nTINY = 1e-9\n'
    assert hidden(text) == ["1E-5 in line 3"]
    assert hidden("class A:\n    def f(self):\n        def g(): return 1e3\n") == ["1e3 in line 3"]
