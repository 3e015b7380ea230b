"""The page of results, from records of figures: python -m tools.results, or make results.

A record is a file in benchmarks/results: its title, what is measured and by which command, the run that the figures
come from, and rows. `python -m benchmarks NAME --json FILE` writes one, with its date and machine.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RECORDS, PAGE = ROOT / "benchmarks" / "results", ROOT / "docs" / "results.md"
HEAD = """# Results

What was measured, one line each, with the command that measures it again; `make results` makes this page of the records
in `benchmarks/results`. Times are CPU seconds of one process, unless said otherwise. *Kept* is information, as a share
of H(X) or in nats; *cells* are those that stay as they were.
"""


def page(records: list[dict[str, Any]]) -> str:
    """Markdown: a section for each record, those with an `order` first, then by title."""
    ordered = sorted(records, key=lambda record: (record.get("order", len(records)), record["title"]))
    return "\n".join([HEAD, *map(section, ordered)])


def section(record: dict[str, Any]) -> str:
    """A heading, what was measured when, and one table."""
    rows = record["rows"]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [columns, ["---"] * len(columns), *([cell(row.get(column)) for column in columns] for row in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    after = [record["after"]] if "after" in record else []
    return "\n\n".join([f"## {record['title']}", f"{record['about']} ({record['run']})", table, *after]) + "\n"


def cell(value: object) -> str:
    """A figure with three digits; nothing where a row has none."""
    if isinstance(value, float):
        value = f"{value:.3g}" if abs(value) < 1000 else f"{float(f'{value:.3g}'):,.0f}"
    text = "" if value is None else str(value)
    return text.replace("|", r"\|")


def records() -> list[dict[str, Any]]:
    """All of them."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RECORDS.glob("*.json"))]


if __name__ == "__main__":
    PAGE.write_text(page(records()), encoding="utf-8")
