"""python -m benchmarks [NAME …]: run the named measurements (default: all), print tables, write JSON."""

import importlib
import json
import pkgutil
import platform
import sys
from pathlib import Path

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


def main() -> None:
    console = Console(width=200)
    available = sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_"))
    wanted = sys.argv[1:] or available
    RESULTS.mkdir(exist_ok=True)
    for name in wanted:
        if name not in available:
            raise SystemExit(f"no benchmark {name!r}; there are {', '.join(available)}")
        rows = importlib.import_module(f"benchmarks.{name}").run()
        show(console, name, rows)
        machine = {"python": platform.python_version(), "machine": platform.machine()}
        (RESULTS / f"{name}.json").write_text(json.dumps({"machine": machine, "rows": rows}, indent=2, default=str))


if __name__ == "__main__":
    main()
