"""Formats: which files are read, by the ends of their names, and what they are called."""

from __future__ import annotations

from pathlib import Path

STATISTICAL = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
"""SPSS, Stata and SAS."""
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
OTHERS = (*STATISTICAL, *WORKBOOKS)
READ = ".csv, .csv.gz, .tsv, .parquet, .jsonl, .sav, .dta, .sas7bdat, .xpt, .xlsx, .xls or .ods"
"""In words."""


def sheet_of(path: Path) -> tuple[Path, str | None]:
    """The file, and the sheet of it that is named behind: people.xlsx/2024 is the sheet 2024 of people.xlsx.

    >>> sheet_of(Path("people.csv"))[1] is None
    True
    """
    if path.parent.suffix.lower() in WORKBOOKS and path.parent.is_file():
        return path.parent, path.name
    return path, None
