"""A desk with tables, some with letters of many languages, and their protocols."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import privacyfunnel as pf
from processes import ROWS


@pytest.fixture(scope="session")
def desk(tmp_path_factory) -> Path:
    """people.csv with its protocol p.json, released.csv (seeded); large.csv and large.parquet with theirs, l.json."""
    folder = tmp_path_factory.mktemp("desk")
    lines = ["s,Größe,İı,born,kg"]
    for i in range(240):
        born = f"19{50 + i % 40}-0{1 + i % 9}-15T23:{i % 60:02}:00"
        lines.append(f"{i % 2},{['Ä', 'ö€', 'I'][i % 3]},{i % 4},{born},{i * 0.37:.2f}")
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    people = pf.Joint.from_table(folder / "people.csv", "s", ["Größe", "İı", "born"])
    protocol = pf.optimise(people, pf.LIP(0.5), objective="faithful")  # as funnel fit would
    protocol.save(folder / "p.json")
    protocol.sanitise(folder / "people.csv", folder / "released.csv", seed=1)
    rng = np.random.default_rng(0)
    words = np.array([f"value number {i}" for i in range(16)])
    x, z = rng.integers(0, 16, ROWS), rng.integers(0, 5, ROWS)
    large = pa.table({"s": (rng.random(ROWS) < 0.3 + 0.02 * x).astype(int), "x": words[x], "z": words[z]})
    pa_csv.write_csv(large, folder / "large.csv")
    pq.write_table(large, folder / "large.parquet")
    pa_csv.write_csv(large.slice(0, 2_000), folder / "small.csv")
    joint = pf.Joint.from_table(large, "s")
    pf.optimise(joint, pf.LIP(0.2), objective="faithful", time_limit=5).save(folder / "l.json")
    return folder
