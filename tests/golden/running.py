"""Run a chain of commands, with randomness that comes the same every time, and write down what they did."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import re
import shlex
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, chdir, contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from golden.cases import Chain
from golden.meaning import leaves
from privacyfunnel.cli import aimed, reporting
from privacyfunnel.cli.app import run
from privacyfunnel.drawing.randomness import KEY_BYTES, Randomness
from privacyfunnel.optimiser import aiming
from privacyfunnel.tables.wide import fit
from small_models import small_models

Noise = Callable[[int], AbstractContextManager[None]]
DIGEST = re.compile("[0-9a-f]{64}")
ENDLESS = float("inf")
TABLES = {".csv", ".gz", ".parquet"}


def done(chain: Chain, folder: Path, noise: Noise) -> dict[str, Any]:
    """What each command of the chain did in the folder, which holds its tables."""
    found, before = {}, _sizes(folder)
    for name, code, said in run_all(chain, folder, noise, "--json"):
        told = dict(leaves(json.loads(said))) if said and "--help" not in chain.lines[name] else {}
        after = _sizes(folder)
        written = sorted(path for path in after if after[path] != before.get(path))
        files = {_name(path, folder): _kept_of(path, chain.given) for path in written}
        found[name] = {"exit": code, "told": told, "files": files}
        before = after
    return found


def run_all(chain: Chain, folder: Path, noise: Noise, *options: str) -> Iterator[tuple[str, int, str]]:
    """Name, exit code and output of each command of the chain, which has options more; help has none."""
    for name, line in chain.lines.items():
        seed, said = zlib.crc32(name.encode()), io.StringIO()
        more = () if "--help" in line else options
        with (
            chdir(folder),
            noise(seed),
            repeatable_draws(seed),
            small_models(chain.models),
            nullcontext() if chain.long else time_to_rehearse(),  # of real tables that takes minutes
            redirect_stdout(said),
            redirect_stderr(io.StringIO()),
        ):
            code = run([*shlex.split(line), *more])
        yield name, code, said.getvalue()


@contextmanager
def repeatable_draws(seed: int) -> Iterator[None]:
    """In place of what the operating system gives: keys of streams, that of a ledger, and seeds of generators."""
    streams, usual = itertools.count(), np.random.default_rng

    def drawn(n: int, stream: object = "") -> bytes:
        return hashlib.shake_256(f"{seed} {stream}".encode()).digest(n)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.urandom", drawn)
        patch.setattr("numpy.random.default_rng", lambda given=None: usual(seed if given is None else given))
        patch.setattr(Randomness, "secure", lambda: Randomness(drawn(KEY_BYTES, next(streams)), seed=None))
        yield


@contextmanager
def time_to_rehearse() -> Iterator[None]:
    """Rehearsals end by their gaps: a part of the time limit for each would let a busy machine choose the aim."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aiming, "PART", 1.0)
        patch.setattr(aiming, "SECONDS", ENDLESS)
        for module in (aiming, fit, aimed, reporting):
            patch.setattr(module, "late_after", lambda *_: lambda: False)
        yield


def _sizes(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def _name(path: Path, folder: Path) -> str:
    """Without the digest of what is in the file, if it is called by that."""
    return DIGEST.sub("DIGEST", path.relative_to(folder).as_posix())


def _kept_of(path: Path, given: bool) -> Any:
    """Of a table its columns and rows, and its digest if the channel is given; of any other file its size."""
    if path.suffix not in TABLES:
        return path.stat().st_size
    table = pq.read_table(path) if path.suffix == ".parquet" else pa_csv.read_csv(path)
    kept: dict[str, Any] = {"columns": table.column_names, "rows": table.num_rows}
    if given:
        text = "\n".join(",".join(map(str, row.values())) for row in table.to_pylist())
        kept["digest"] = hashlib.sha256(text.encode()).hexdigest()
    return kept
