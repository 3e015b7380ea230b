"""Any bytes as a protocol file: refused in a line, or a protocol that can be written, read again and used."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from tools.fuzzing import one_line

import privacyfunnel as pf
from privacyfunnel.protocols.file import from_text, to_text
from privacyfunnel.protocols.json_file import digest_of_content, written

NUMBERS = (0, 1, 2, -1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, -(2**63), 10**30, 10**400, 0.0, -0.0, 0.5, 1e-300, 1e308)
WORDS = ("", "lip", "ldp", "alip", "pml", "perfect", "srlip", "srldp", "robust", "text", "integer", "number", "boolean")
WORDS += (
    "bins",
    "year",
    "month",
    "day",
    "other",
    "notion",
    "epsilon",
    "lower",
    "upper",
    "known",
    "confidence",
    "promise",
)
WORDS += ("name", "kind", "labels", "edges", "missing", "a\nb", "\0", "\ud800", "Ω", "x" * 2_000, "\u2028", "\x1b[31m")


def seeds() -> list[bytes]:
    """Protocols with every kind of column and promise."""
    rng = np.random.default_rng(0)
    n = 60
    table = pa.table(
        {
            "s": rng.integers(0, 2, n).astype(str),
            "town": rng.choice(["Ash", "Birch", "Dún", ""], n),
            "age": rng.integers(0, 90, n),
            "weight": np.round(rng.normal(70, 9, n), 1),
            "born": rng.choice(["1951-03-02", "1960-01-01", "2001-12-31"], n),
            "member": rng.random(n) < 0.5,
        }
    )
    joints = [pf.Joint.from_table(table, "s", [name]) for name in ("town", "weight", "born", "member")]
    joints.append(pf.Joint.from_table(table, "s", ["town"], top={"town": 2}))
    pair = pf.Joint.from_table(table, "s", ["town", "member"])
    promises = [pf.LIP(0.5), pf.LDP(1.0), pf.ALIP(0.5, 1.0), pf.PML(0.3), pf.PerfectPrivacy()]
    protocols = [pf.optimise(joint, promise) for joint, promise in zip(joints, promises, strict=True)]
    protocols += [pf.optimise(joints[0], pf.robust(pf.LIP(1.0))), pf.optimise(pair, pf.SRLIP(0.5, known=["town"]))]
    protocols.append(pf.optimise(pair, pf.SRLDP(0.5, known=1)))
    return [to_text(protocol).encode() for protocol in protocols]


def check(data: bytes) -> None:
    """Load the bytes as they are and, where they are JSON, with the digest that would fit them."""
    _check(data)
    forgery = forged(data)
    if forgery is not None:
        _check(forgery)


def forged(data: bytes) -> bytes | None:
    """The same content in the only form that is accepted, with a digest that fits; nothing if it is no JSON object."""
    try:
        content = json.loads(data)
        content.pop("digest", None)
        return written({**content, "digest": digest_of_content(content)}).encode("utf-8", "surrogatepass")
    except (ValueError, AttributeError, RecursionError):
        return None


def _check(data: bytes) -> None:
    try:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "protocol.json"
            file.write_bytes(data)
            protocol = pf.Protocol.load(file)
    except pf.PrivacyFunnelError as refused:
        one_line(refused)
        return
    text = to_text(protocol)
    assert to_text(from_text(text)) == text
    assert repr(protocol)
    columns = list(protocol.columns)
    rows = {column.name: [None if label is None else str(label) for label in column.labels[:3]] for column in columns}
    table = pa.table({name: (cells * 3)[:3] for name, cells in rows.items()})
    try:
        released = protocol.sanitise(table, unseen="draw", seed=1)
    except pf.PrivacyFunnelError as refused:
        one_line(refused)
    else:
        assert released.shape == table.shape


def mutated(data: bytes, longest: int, seed: int) -> bytes:
    """The file with a place in its JSON changed, put in, repeated or taken away; or with some bytes changed."""
    rng = random.Random(seed)  # noqa: S311
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or rng.random() < 0.2:
        import atheris

        return bytes(atheris.Mutate(data, longest))
    for _ in range(rng.randint(1, 3)):
        _change(content, rng)
    try:
        return json.dumps(content).encode()[:longest]
    except (ValueError, RecursionError):
        return data


def _change(content: dict[str, Any], rng: random.Random) -> None:
    place: Any = content
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = rng.choice(keys)
        inner = place[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.85:
            place = inner
            continue
        break
    rng.choice(CHANGES)(place, key, rng)


def _replace(place: Any, key: Any, rng: random.Random) -> None:
    place[key] = _anything(rng)


def _nudge(place: Any, key: Any, rng: random.Random) -> None:
    if isinstance(place[key], int):
        place[key] += rng.choice([-1, 1, 2**32, -(2**32)])
    elif isinstance(place[key], float):
        place[key] *= rng.choice([-1, 0, 0.5, 1.001, 1e300])
    else:
        place[key] = _anything(rng)


def _move(place: Any, key: Any, rng: random.Random) -> None:
    """Two numbers whose sum stays what it was: so channels and marginals stay distributions."""
    if isinstance(place, list) and len(place) > 1:
        other = rng.randrange(len(place))
        place[key], place[other] = place[other], place[key]


def _drop(place: Any, key: Any, _: random.Random) -> None:
    del place[key]


def _repeat(place: Any, key: Any, rng: random.Random) -> None:
    if isinstance(place, list):
        place.insert(key, place[key])
    else:
        place[rng.choice(WORDS)] = place[key]


def _nest(place: Any, key: Any, rng: random.Random) -> None:
    for _ in range(rng.choice([1, 1, 2, 50, 600])):
        place[key] = rng.choice([[place[key]], {"notion": "robust", "promise": place[key]}])


CHANGES: list[Callable[[Any, Any, random.Random], None]] = [_replace, _nudge, _nudge, _move, _drop, _repeat, _nest]


def _anything(rng: random.Random) -> Any:
    kind = rng.randrange(5)
    if kind == 0:
        return rng.choice(NUMBERS)
    if kind == 1:
        return rng.choice(WORDS)
    if kind == 2:
        return [_anything(rng) for _ in range(rng.randrange(3))]
    if kind == 3:
        return {rng.choice(WORDS): _anything(rng) for _ in range(rng.randrange(3))}
    return rng.choice([None, True, False])
