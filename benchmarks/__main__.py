"""python -m benchmarks [NAME …] [--json FILE]: run the named measurements (default: all), print tables, write JSON.

Each goes into bench-results/NAME.json; a single one also into FILE. In benchmarks/results, `make results` makes a
section of the page of results from it.
"""

import argparse
import importlib
import json
import pkgutil
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import benchmarks

RESULTS = Path("bench-results")


def show(console: Console, name: str, rows: list[dict[str, object]]) -> None:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = Table(title=name)
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*(_cell(row.get(column, "")) for column in columns))
    console.print(table)


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def record(name: str, about: str, rows: list[dict[str, object]]) -> dict[str, Any]:
    """The figures of a run, with all that the page of results says of them; `about` is the module's docstring."""
    title, _, text = about.partition("\n\n")[0].replace("\n", " ").partition(": ")
    text = text[:1].upper() + text[1:]
    run = f"{datetime.now(UTC).date()}, {platform.machine()}, Python {platform.python_version()}"
    return {
        "title": title.rstrip("."),
        "about": f"{text} `python -m benchmarks {name}`.".lstrip(),
        "run": run,
        "rows": rows,
    }


def main() -> None:
    available = sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(available))
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the record of a single one is written, too")
    asked = parser.parse_args()
    wanted = asked.names or available
    unknown = [name for name in wanted if name not in available]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(available)}")
    if asked.json and len(wanted) > 1:
        parser.error("--json is for a single benchmark")
    RESULTS.mkdir(exist_ok=True)
    for name in wanted:
        module = importlib.import_module(f"benchmarks.{name}")
        rows = module.run()
        show(Console(width=200), name, rows)
        text = json.dumps(record(name, module.__doc__ or name, rows), indent=1, ensure_ascii=False, default=str) + "\n"
        for path in (RESULTS / f"{name}.json", *([asked.json] if asked.json else [])):
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
