"""Rooms: a module imports only from its own room and those below, within a room no way leads in a circle, and a module
that has grown past one topic is divided."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import privacyfunnel

SOURCE = Path(privacyfunnel.__file__).parent
ROOMS = [
    "errors",
    "typing",
    "population",
    "showing",
    "numeric",
    "distribution",
    "promises",
    "protocols",
    "proof",
    "drawing",
    "model",
    "optimiser.program",
    "optimiser.generation",
    "optimiser.two_secrets",
    "optimiser.few_secrets",
    "optimiser.bounds",
    "optimiser.splitting",
    "optimiser.robust",
    "optimiser.faithful",
    "optimiser.readers",
    "optimiser",
    "baselines",
    "tables",
    "tables.spark",
    "spec",
    "advice",
    "attacks",
    "estimates",
    "paper",
    "report",
    "publishing",
    "recipes",
    "studio",
    "transformer",
    "cli",
]
"""From the ground up. A room is a folder, or a file that is public as it stands."""
FRONT_DOORS = {"distribution.joint", "protocols.protocol", "protocols.step", "protocols.fill"}
"""Their public methods hand over to rooms above, which they import only when they are called, and names of
classes that are only for types."""

MOST_LINES = 350
"""Of a module: longer ones hold a second topic."""
ONE_FILE = {"publishing.check": 740}
"""Read from top to bottom by somebody who has nothing else of ours, so that no part of it may be elsewhere."""


def module_name(path: Path) -> str:
    return ".".join(part for part in path.relative_to(SOURCE).with_suffix("").parts if part != "__init__")


MODULES = {name: path for path in SOURCE.rglob("*.py") if (name := module_name(path)) not in ("", "__main__")}


def room(module: str) -> str:
    """The innermost room that holds the module."""
    return max((name for name in ROOMS if f"{module}.".startswith(f"{name}.")), key=len, default="")


@cache
def imports(module: str) -> set[str]:
    """The modules of ours that one imports; of a front door, at its top."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    found = set()
    for node in tree.body if module in FRONT_DOORS else ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "privacyfunnel":
            base = node.module.removeprefix("privacyfunnel").removeprefix(".")
            longer = {f"{base}.{alias.name}".removeprefix(".") for alias in node.names}
            found |= longer & MODULES.keys() or {base}
    return found


def test_a_module_imports_only_from_its_own_room_and_those_below():
    upwards = [
        f"{module} imports {imported}"
        for module in sorted(MODULES)
        for imported in sorted(imports(module))
        if ROOMS.index(room(imported)) > ROOMS.index(room(module))
    ]
    assert upwards == []


@pytest.mark.parametrize("name", ROOMS)
def test_no_way_leads_in_a_circle_within_a_room(name):
    members = {module for module in MODULES if room(module) == name}
    assert members
    TopologicalSorter({module: imports(module) & members for module in members}).prepare()


def test_no_module_is_longer_than_one_topic_takes():
    lines = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in MODULES.items()}
    longer = {module: count for module, count in lines.items() if count > ONE_FILE.get(module, MOST_LINES)}
    assert longer == {}, "give one of its topics a file of its own"


def test_what_proves_a_promise_alone_imports_nothing_of_ours():
    assert imports("publishing.check") == set()
