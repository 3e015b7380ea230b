"""The walk in the shell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tools.walk.steps import Step, run
from tools.walk.tables import Walked

SECONDS = "10"
"""For each search: what counts is what is told when time is up."""


def walk(table: Walked, size: int, folder: Path) -> Iterator[Step]:
    """Fit, release, audit, estimate and report, by default and with the promises that cost most."""
    columns = f"{size} columns" if size else "all columns"
    read = ["--missing", table.missing] if table.missing else []
    released = ["--columns", ",".join(table.columns[:size])] if size else []
    asked = [str(table.path), "--secret", table.secret, *released, *read, "--time-limit", SECONDS, "--force"]
    usual = ["--epsilon", "0.5"]

    def step(what: str, *arguments: str) -> Step:
        return run(Step(table.file, columns, "shell", what), list(arguments), folder)

    path = str(table.path)
    yield step("fit", "fit", *asked, *usual, "-o", "p.json")
    if (folder / "p.json").exists():
        yield step("sanitise", "sanitise", path, "--protocol", "p.json", "-o", "open.csv", "--force")
        yield step("audit", "audit", "p.json")
        yield step("audit --table --attack", "audit", "p.json", "--table", path, "--attack")
        yield step("estimate", "estimate", "open.csv", "--protocol", "p.json")
        report = ["report", "p.json", "--table", path, "-o", "report.html", "--force", "--time-limit", "1"]
        yield step("report", *report)
    informed = ["--set", "objective=information"]
    yield step("fit for information", "fit", *asked, *usual, *informed, "-o", "i.json")
    if (folder / "i.json").exists():
        yield step("sanitise (information)", "sanitise", path, "--protocol", "i.json", "-o", "i.csv", "--force")
        yield step("estimate (information)", "estimate", "i.csv", "--protocol", "i.json")
    yield step("fit --notion srlip", "fit", *asked, *usual, "--notion", "srlip", "-o", "s.json")
    yield step(
        "fit --notion srlip --known 1", "fit", *asked, *usual, "--notion", "srlip", "--known", "1", "-o", "k.json"
    )
    yield step("fit --confidence 0.95", "fit", *asked, *usual, "--confidence", "0.95", "-o", "c.json")
