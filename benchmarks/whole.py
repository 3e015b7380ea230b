"""Whole tables: `funnel release` with the secret alone, on all columns, scored by three-way tables.

For each table: seconds and memory, how many columns are kept and filled, and the score 1000·(1 − mean total variation)
of the counts of all triples of columns, and of those of kept columns alone, beside that of a bootstrap sample of the
original rows. Numbers are scored by ranges of equal counts. Means and quartiles of numbers are in standard errors of
the original's. WHOLE_TABLES, a list with commas, chooses the tables.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

DATA = Path(os.environ.get("PRIVACYFUNNEL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
RANGES, MOST_VALUES = 16, 40
"""Of a column of numbers; and of texts that are told apart when a table is scored."""
MOST_TRIPLES = 2_000
"""Of a table with many columns, drawn once."""
Row = dict[str, object]


@dataclass(frozen=True)
class Whole:
    """A file, its secret, and columns that are no part of it."""

    file: str
    secret: str
    out: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    """Options; diabetes130 has several stays of a patient, and each is protected by itself."""


TABLES = {
    "adult": Whole("adult.csv.gz", "income", ("split",)),
    "dutch": Whole("dutch_census2001.csv.gz", "occupation"),
    "diabetes130": Whole("diabetes130.csv.gz", "readmitted", ("patient_nbr",), ("--set", "unit=row")),
}


def run() -> list[Row]:
    wanted = os.environ.get("WHOLE_TABLES", "adult").split(",")
    rows = []
    for name in wanted:
        rows.append(on_table(name, TABLES[name]))
        print(json.dumps(rows[-1]), flush=True)
    return rows


def on_table(name: str, table: Whole) -> Row:
    with tempfile.TemporaryDirectory() as place:
        folder, begun = Path(place) / "folder", time.monotonic()
        out = ["--leave-out", ",".join(table.out)] if table.out else []
        words = [
            "release",
            str(DATA / table.file),
            "--secret",
            table.secret,
            *out,
            *table.more,
            "-o",
            str(folder),
            "--json",
        ]
        ran = subprocess.run(
            [sys.executable, "-m", "privacyfunnel", *words], capture_output=True, text=True, check=False
        )
        if ran.returncode:
            return {"table": name, "refused": ran.stderr.strip()}
        seconds = time.monotonic() - begun
        told = json.loads(ran.stdout)
        checked = subprocess.run(
            [sys.executable, folder / "check.py", folder / "protocol.json"], check=False
        ).returncode
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        kept = [one["column"] for one in told["roles"] if one["role"] == "kept"]
        filled = [one["column"] for one in told["roles"] if one["role"] == "filled"]
        original, released = read(DATA / table.file), read(folder / "table.csv")
        return {
            "table": name,
            "kept": len(kept),
            "filled": len(filled),
            "seconds": round(seconds),
            "GiB": round(memory, 2),
            "check.py": "kept" if checked == 0 else "NOT KEPT",
            "all": score(original, released, [*kept, *filled]),
            "kept alone": score(original, released, kept),
            "bootstrap": score(original, original.sample(frac=1, replace=True, random_state=1), [*kept, *filled]),
            "worst number": worst(original, released, [*kept, *filled]),
        }


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def coded(column: pd.Series, other: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """The same values as the same numbers: ranges of numbers, the most frequent texts."""
    numbers = [pd.to_numeric(each, errors="coerce") for each in (column, other)]
    if numbers[0].notna().mean() > 0.5 and numbers[0].nunique() > MOST_VALUES // 2:
        edges = np.unique(numbers[0].quantile(np.arange(1, RANGES) / RANGES))
        return tuple(
            np.where(each.isna(), len(edges) + 1, np.searchsorted(edges, each, side="right")) for each in numbers
        )
    known = {value: i for i, value in enumerate(column.value_counts().index[:MOST_VALUES])}
    return tuple(each.map(known).fillna(MOST_VALUES).to_numpy(dtype=np.int64) for each in (column, other))


def score(original: pd.DataFrame, released: pd.DataFrame, names: list[str]) -> float:
    """1000·(1 − mean total variation) of counts of three columns together, or of as many as there are."""
    codes = {name: coded(original[name], released[name]) for name in names}
    sets = list(combinations(names, min(3, len(names))))
    if len(sets) > MOST_TRIPLES:
        chosen = np.random.default_rng(0).choice(len(sets), MOST_TRIPLES, replace=False)
        sets = [sets[i] for i in chosen]
    return round(1000 * (1 - float(np.mean([variation([codes[name] for name in each]) for each in sets]))), 1)


def variation(codes: list[tuple[np.ndarray, np.ndarray]]) -> float:
    size, found = 1, [np.zeros(len(codes[0][k]), dtype=np.int64) for k in range(2)]
    for pair in codes:
        wide = int(max(each.max() for each in pair)) + 1
        found = [place * wide + each for place, each in zip(found, pair, strict=True)]
        size *= wide
    shares = [np.bincount(place, minlength=size) / len(place) for place in found]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def worst(original: pd.DataFrame, released: pd.DataFrame, names: list[str]) -> str:
    """The column of numbers whose mean is off by the most standard errors."""
    found = {}
    for name in names:
        before, after = (pd.to_numeric(each[name], errors="coerce").dropna() for each in (original, released))
        if before.nunique() > MOST_VALUES // 2 and len(before) > len(original) / 2 and len(after):
            found[name] = abs(after.mean() - before.mean()) / (before.std() / np.sqrt(len(before)))
    return "; ".join(f"{name} {off:.1f}" for name, off in sorted(found.items(), key=lambda each: -each[1])[:3])
