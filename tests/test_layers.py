"""Each module imports only from earlier stages of the pipeline, and the public names are what they are said to be."""

import ast
from pathlib import Path

import pytest

import privacyfunnel as pf

SOURCE = Path(pf.__file__).parent
ORDER = [
    "errors",
    "stopping",
    "typing",
    "compiled",
    "cores",
    "information",
    "exact",
    "population",
    "tables",
    "tables.raw",
    "tables.domain",
    "joint",
    "mixture",
    "limits",
    "shares",
    "confidence_bounds",
    "confidence",
    "worst_case",
    "promise",
    "robust_promise",
    "notions",
    "polytope",
    "channel",
    "protocol",
    "protocol_file",
    "released",
    "lifts",
    "certificate",
    "population_level",
    "optimiser",
    "optimiser.lp",
    "optimiser.master",
    "optimiser.supports",
    "optimiser.reduce",
    "optimiser.simplex",
    "optimiser.boxes",
    "optimiser.pricing",
    "optimiser.peel",
    "optimiser.branch",
    "optimiser.rounding",
    "optimiser.state",
    "optimiser.listing",
    "optimiser.monge",
    "optimiser.sides",
    "optimiser.binary",
    "optimiser.faces",
    "optimiser.sweep",
    "optimiser.levels",
    "optimiser.few",
    "optimiser.fewer",
    "optimiser.generation",
    "optimiser.relaxation",
    "optimiser.robust_rows",
    "optimiser.robust_pricing",
    "optimiser.robust_bounds",
    "optimiser.robust_rounding",
    "optimiser.robust_sets",
    "optimiser.robust_leaning",
    "optimiser.basis",
    "optimiser.nested",
    "optimiser.layers",
    "optimiser.spikes",
    "optimiser.robust_nested",
    "optimiser.robust_search",
    "optimiser.priors",
    "optimiser.chain",
    "optimiser.solve",
    "optimiser.bisection",
    "optimiser.curve",
    "optimiser.wish",
    "optimiser.product",
    "optimiser.sketch",
    "optimiser.builds",
    "composition",
    "baselines",
    "paper",
    "paper.reference",
    "paper.methods",
    "paper.experiments",
    "findings",
    "outcomes",
    "beliefs",
    "randomness",
    "kernel",
    "tables.writing",
    "tables.csv_files",
    "tables.database",
    "tables.grouping",
    "tables.sources",
    "tables.profiling",
    "tables.fitting",
    "tables.counting",
    "tables.auditing",
    "attacks_learned",
    "attacks",
    "repetition",
    "tables.arrow",
    "tables.release",
    "tables.suggesting",
    "tables.preview",
    "report",
    "report.account",
    "report.words",
    "report.commands",
    "report.pictures",
    "report.charts",
    "report.risks",
    "report.curves",
    "report.html",
    "report.page",
    "studio",
    "studio.neighbours",
    "studio.guard",
    "studio.work",
    "studio.desk",
    "studio.page",
    "studio.choosing",
    "studio.visit",
    "studio.steps",
    "studio.app",
    "studio.serve",
    "tables.tallying",
    "estimates",
    "estimates.scores",
    "estimates.likelihood",
    "estimates.tails",
    "estimates.intervals",
    "estimates.measuring",
    "estimates.questions",
    "estimates.frequencies",
    "estimates.summaries",
    "estimates.answer",
    "estimates.posterior",
    "paper.figures",
    "tables.spark",
    "tables.spark_files",
    "tables.spark_folder",
    "tables.spark_release",
    "transformer",
    "cli.options",
    "cli.show",
    "cli.fit",
    "cli.sanitise",
    "cli.attack",
    "cli.audit",
    "cli.estimate",
    "cli.tradeoff",
    "cli.report",
    "cli.studio",
    "cli.demo",
    "cli.paper",
    "cli",
    "entry",
    "__main__",
]
FRONT_DOORS = {
    ("joint", "tables.counting"),
    ("joint", "tables.fitting"),
    ("joint", "tables.spark"),
    ("protocol", "protocol_file"),
    ("protocol", "tables.writing"),
    ("protocol", "tables.release"),
    ("protocol", "tables.spark_release"),
}
"""Public methods that hand over to a later stage, and import it only when they are called."""


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports(path: Path) -> list[tuple[str, bool]]:
    """The modules of ours that a file imports, and whether at its top."""
    tree = ast.parse(path.read_text())
    top = {id(node) for node in tree.body}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("privacyfunnel"):
            base = node.module.removeprefix("privacyfunnel").removeprefix(".")
            for alias in node.names:
                longer = f"{base}.{alias.name}".removeprefix(".")
                found.append((longer if longer in ORDER else base, id(node) in top))
    return found


MODULES = sorted(path for path in SOURCE.rglob("*.py") if module_name(path))


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_a_module_imports_only_from_earlier_stages(path):
    own = module_name(path)
    for imported, at_top in imports(path):
        if not at_top and (own, imported) in FRONT_DOORS:
            continue
        assert ORDER.index(imported) < ORDER.index(own), f"{own} imports {imported}"


def test_every_module_has_its_place_in_the_order():
    assert sorted(map(module_name, MODULES)) == sorted(ORDER)


def test_the_certificate_owes_the_optimiser_nothing():
    reached, todo = set(), ["certificate"]
    while todo:
        own = todo.pop()
        reached.add(own)
        file = SOURCE / (own.replace(".", "/") + ".py")
        path = file if file.exists() else SOURCE / own.replace(".", "/") / "__init__.py"
        todo += [name for name, at_top in imports(path) if at_top and name not in reached]
    assert not [name for name in reached if name.startswith("optimiser")]


def test_only_one_module_names_the_solver():
    naming = [module_name(path) for path in MODULES if "highspy" in path.read_text()]
    assert naming == ["optimiser.lp"]


def test_public_names_are_all_there():
    assert all(hasattr(pf, name) for name in pf.__all__)
    assert set(pf._HOME) == set(pf.__all__)
    with pytest.raises(AttributeError):
        pf.no_such_name  # noqa: B018 - asking is what fails


def test_no_notion_is_asked_for_by_name_outside_of_notions():
    for path in MODULES:
        if module_name(path) not in ("notions",):
            text = path.read_text()
            assert 'notion == "' not in text, path
            assert "isinstance(notion, L" not in text, path
