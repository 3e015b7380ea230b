"""`make walk`: every step on four tables with 4, 6, 10 and all columns, in the shell and in Chromium."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from tools.walk import browser, shell
from tools.walk.steps import Step
from tools.walk.tables import SHARED, SIZES, TABLES


def main() -> None:
    """Walk, and say what was stumbled over; exit code 1 if anything was."""
    parser = argparse.ArgumentParser(prog="make walk", description=__doc__)
    parser.add_argument("--tables", default=",".join(table.file for table in TABLES))
    parser.add_argument("--columns", default=",".join(map(str, SIZES)), help="0 stands for all")
    parser.add_argument("--where", default="shell,browser")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/walk.json"))
    asked = parser.parse_args()
    if not SHARED.is_dir():
        raise SystemExit(f"make walk: the tables are not there: {SHARED}")
    steps, stumbles = [], 0
    for step in _steps(asked.tables.split(","), tuple(map(int, asked.columns.split(","))), asked.where.split(",")):
        found = "; ".join(step.stumbles)
        stumbles += bool(found)
        sys.stdout.write(
            f"{step.table:17} {step.columns:11} {step.where:8} {step.what:30} {step.seconds:6.1f} s "
            f"{step.mib:7.0f} MiB  silent {step.silent:4.1f} s  exit {step.code}  {found}\n"
        )
        sys.stdout.flush()
        steps.append({**asdict(step), "stumbles": step.stumbles})
        asked.output.parent.mkdir(parents=True, exist_ok=True)
        asked.output.write_text(json.dumps(steps, ensure_ascii=False, indent=1), encoding="utf-8")
    sys.stdout.write(f"{len(steps)} steps, {stumbles} to stumble over; all that was said: {asked.output}\n")
    raise SystemExit(bool(stumbles))


def _steps(tables: list[str], sizes: tuple[int, ...], where: list[str]) -> Iterator[Step]:
    for table in (table for table in TABLES if table.file in tables):
        if "shell" in where:
            for size in sizes:
                with tempfile.TemporaryDirectory() as folder:
                    yield from shell.walk(table, size, Path(folder))
        if "browser" in where:
            with tempfile.TemporaryDirectory() as folder:
                yield from browser.walk(table, sizes, Path(folder))


if __name__ == "__main__":
    main()
