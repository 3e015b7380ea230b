"""Breaking the code on purpose: one function of it reads otherwise in a process of its own, and a test must notice.

No file is changed or copied. A process that finds BROKEN in its environment, and every process that it starts, loads
one module from another text (`sitecustomize.py` in `HOOK`, which Python runs first).
"""

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import privacyfunnel as pf

TESTS = Path(__file__).resolve().parent
SOURCE = Path(pf.__file__).parent
RECORD = TESTS / "mutations.json"
"""What each mutation was about when it was last caught by `make mutations`: its name and a digest."""
PATIENCE = 60
"""Seconds: a mutation may have made a loop endless, and is to be written otherwise then."""
TURNS = 10
"""Of the mutations that nothing happened to, one in so many is tried again, others after the next commit."""
HOOK = """
import importlib.abc, importlib.machinery, json, os, sys

class Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        with open(os.environ["BROKEN"], encoding="utf-8") as file:
            return compile(json.load(file)["text"], self.path, "exec", dont_inherit=True)

class Finder(importlib.abc.MetaPathFinder):
    def __init__(self, module):
        self.module = module

    def find_spec(self, name, path, target=None):
        if name != self.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        spec.loader = Loader(name, spec.origin)
        return spec

with open(os.environ["BROKEN"], encoding="utf-8") as file:
    sys.meta_path.insert(0, Finder(json.load(file)["module"]))
"""


@dataclass(frozen=True)
class Mutation:
    """Within `function`, such as "Joint.given", wherever it lies, `before` becomes `after`; one of `tests` must fail.

    White space is not compared. Where functions share a name, it is the one in which `before` occurs, once.
    """

    function: str
    before: str
    after: str
    tests: tuple[str, ...]

    def place(self) -> tuple[Path, int, int]:
        """The file, and where `before` begins and ends in it."""
        pattern = re.compile(r"\s+".join(re.escape(word) for word in self.before.split()))
        found = {
            (file, start + match.start(), start + match.end())
            for file, start, text in functions().get(self.function, ())
            for match in pattern.finditer(text)
        }
        if len(found) != 1:
            raise LookupError(
                f"{self.before!r} occurs {len(found)} times in functions called {self.function!r}, not once"
            )
        return found.pop()

    def mutated(self) -> tuple[Path, str]:
        """The file, and what it says instead."""
        file, start, end = self.place()
        text = file.read_text(encoding="utf-8")
        return file, text[:start] + self.after.strip() + text[end:]

    def digest(self) -> str:
        """Of what this mutation is about: itself, its file, and the files of its tests."""
        files = [self.place()[0], *(TESTS / test.split("::")[0] for test in self.tests)]
        parts = [
            self.function,
            self.before,
            self.after,
            *self.tests,
            *(file.read_text(encoding="utf-8") for file in files),
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


@cache
def functions() -> dict[str, list[tuple[Path, int, str]]]:
    """By name: file, place in it and text of each function, class and, as "", module of the package."""
    found: dict[str, list[tuple[Path, int, str]]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        found.setdefault("", []).append((file, 0, text))
        for name, first, last in _named(ast.parse(text), ""):
            found.setdefault(name, []).append((file, starts[first - 1], text[starts[first - 1] : starts[last]]))
    return found


def _named(node: ast.AST, before: str) -> Iterator[tuple[str, int, int]]:
    """Name, first and last line of the functions and classes within."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([part.lineno, *(above.lineno for above in part.decorator_list)])
            yield before + part.name, first, part.end_lineno or part.lineno
            yield from _named(part, f"{before}{part.name}.")
        else:
            yield from _named(part, before)


def chosen(mutations: Mapping[str, Mutation], everything: bool) -> list[str]:
    """Names of all mutations, or of those that changed since all were tried and, by turns, a tenth of the others."""
    if everything:
        return list(mutations)
    known = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    turn = _commits() % TURNS
    return [
        name
        for name, mutation in mutations.items()
        if zlib.crc32(name.encode()) % TURNS == turn or _digest_if_any(mutation) != known.get(name)
    ]


def _digest_if_any(mutation: Mutation) -> str:
    try:
        return mutation.digest()
    except (LookupError, OSError):
        return "lost"  # which its test reports


def _commits() -> int:
    """How many commits lead here; 0 without git."""
    command = ["git", "rev-list", "--count", "HEAD"]
    try:
        counted = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(counted.stdout)


def record(mutations: Mapping[str, Mutation]) -> None:
    """Every mutation was tried and caught."""
    digests = {name: mutations[name].digest() for name in sorted(mutations)}
    RECORD.write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")


def outcome(
    tests: Collection[str], folder: Path, mutation: Mutation | None = None, patience: float = PATIENCE
) -> subprocess.CompletedProcess[str]:
    """Pytest on some tests, with a mutation or without; the same draws of Hypothesis every time."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV", "TEST_BUDGET"))}
    paths = [str(SOURCE.parent)]
    if mutation is not None:
        file, text = mutation.mutated()
        module = ".".join(["privacyfunnel", *file.relative_to(SOURCE).with_suffix("").parts]).removesuffix(".__init__")
        (folder / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
        (folder / "broken.json").write_text(json.dumps({"module": module, "text": text}), encoding="utf-8")
        env["BROKEN"] = str(folder / "broken.json")
        paths.insert(0, str(folder))
    env |= {"PYTHONPATH": os.pathsep.join(paths), "CI": "1"}
    env |= {"NUMBA_DISABLE_JIT": "1", "HYPOTHESIS_PROFILE": "first failure"}  # compiling, shrinking: they take longest
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *(str(TESTS / test) for test in tests)],
        cwd=TESTS.parent,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience,
    )
