"""Any bytes as a CSV file: refused in a line that quotes no cell, or counted and released with nobody lost."""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from tools.fuzzing import PIECES, one_line

import privacyfunnel as pf
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.csv_files import csv_layout
from privacyfunnel.tables.sources import open_source

CANARY = "CANARY"
"""Stands in cells of every seed, and in no name of a column."""


def seeds() -> list[bytes]:
    """Texts, numbers, dates, gaps, quotes and line ends."""
    rows = [
        (
            f"{CANARY}{i % 3}",
            str(i % 7),
            f"19{50 + i % 30}-0{1 + i % 9}-15",
            f"{i * 0.37:.2f}",
            "yes" if i % 5 < 2 else "no",
        )
        for i in range(30)
    ]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("town", "age", "born", "weight", "ill"), *rows])
    plain = text.getvalue()
    few = f'a,s\n"{CANARY}, ""x""",1\n"{CANARY}\ny",0\n,1\n'
    many = "n;s\n" + "".join(f"{i};{i % 2}\n" for i in range(130))
    texts = "t\ts\n" + "".join(f"{CANARY}{i}\t{i % 2}\n" for i in range(130))
    wild = [few, few.replace("\n", "\r\n"), plain.replace(",", "|"), many, texts, f"s\n{CANARY}\n", "\ufeff" + few]
    return [plain.encode(), *(content.encode() for content in wild)]


def check(data: bytes) -> None:
    """Count the file, and release it through a channel that changes nothing: every row must come out again."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        file.write_bytes(data)
        _check(file)


def _check(file: Path) -> None:
    names: tuple[str, ...] = ()
    try:
        source = open_source(file)
        names = source.columns
        source.connection.execute("SET threads = 1")  # for files this small, waiting for each other is all they do
        joint = pf.Joint.from_table(source, secret="s" if "s" in names else names[-1])
    except pf.PrivacyFunnelError as refused:
        one_line(refused)
        assert CANARY not in str(refused) or any(CANARY in name for name in names), refused
        return
    people = _rows_as_python_reads(file)
    if people is not None:
        assert joint.total == people, f"{joint.total} people were counted, {people} are there"
    released = _unchanging(joint).sanitise(source, unseen="refuse", seed=1)
    originals = map(tuple, joint.values.tolist())
    counted = Counter(dict(zip(originals, joint.weights.sum(axis=0).tolist(), strict=True)))
    assert Counter(zip(*(column.to_pylist() for column in released.columns), strict=True)) == counted


def _rows_as_python_reads(file: Path) -> int | None:
    """How many rows the csv module finds; nothing if it finds fault with the file. Blank lines are no rows."""
    try:
        _, layout = csv_layout(file, None, "utf-8")
        text = io.StringIO(file.read_bytes().decode("utf-8-sig"), newline="")
        rows = list(csv.reader(text, delimiter=layout["delim"][1:-1], strict=True))
    except (csv.Error, UnicodeDecodeError):
        return None
    return len([row for row in rows[1:] if row])


def _unchanging(joint: pf.Joint) -> Protocol:
    """The protocol that releases every row as it is."""
    n = joint.n_x
    every = np.arange(n)
    identity = Channel(n, np.arange(n + 1), every.copy(), np.full(n, UNIT))
    marginal = np.where(every == 0, UNIT, 0)
    block = Block(joint.columns, joint.codes, identity, every, marginal)
    return Protocol(pf.LIP(1.0), block, 0.0, 0.0, 0.0, "by hand", joint.secret)


def mutated(data: bytes, longest: int, seed: int) -> bytes:
    """The file with pieces put in, cells and lines moved or repeated; or with some bytes changed."""
    rng = random.Random(seed)  # noqa: S311
    if rng.random() < 0.2:
        import atheris

        return bytes(atheris.Mutate(data, longest))
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        kind, place = rng.randrange(5), rng.randint(0, len(changed))
        end = min(len(changed), place + rng.choice([1, 5, 60]))
        if kind <= 1:
            changed[place:place] = rng.choice((*PIECES, CANARY.encode()))
        elif kind == 2:
            changed[place:end] = rng.choice((*PIECES, CANARY.encode()))
        elif kind == 3:
            changed[place:place] = changed[place:end] * rng.choice([1, 2, 40])
        else:
            del changed[place:end]
    return bytes(changed[:longest])
