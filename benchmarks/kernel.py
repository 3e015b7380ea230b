"""Rows drawn per second: our kernel with secure randomness, against NumPy, OpenDP and multi-freq-ldpy.

NumPy's draws are of lower quality than ours (PCG64 in place of AES, floats in place of exact integers); it is
given three ways. The inverse distribution function over the whole table is what one writes first. The same in
chunks that fit into the cache is the fastest plain NumPy we know for few outputs per value. The alias method in
chunks is faster still, but reads the tables that our package built, so it is a bound and no alternative.
"""

import importlib
import importlib.util
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.drawing.kernel import AliasTables, sample
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.typing import Integers

ROWS = 10**7
CHUNK = 2**15
"""Close to the best for NumPy in every case, of 2¹², 2¹³, … 2¹⁸ on the machine this was written on."""
CALLS = {"OpenDP": 20_000, "multi-freq-ldpy": 500_000}
"""Rows for libraries that take one row per call."""
EPSILON = 1.0
VALUES = 16

Draw = Callable[[], object]


def run() -> list[dict[str, object]]:
    sparse, response = sparse_channel(100, 3), randomised_response(VALUES, EPSILON)
    rng = np.random.default_rng(1)
    rows: list[dict[str, object]] = []
    for name, channel in (("100 values, 3 outputs each", sparse), (f"{VALUES}-ary randomised response", response)):
        codes = rng.integers(0, channel.n_inputs, ROWS).astype(np.int32)
        contenders = [*ours(channel, codes), *plain_numpy(channel, codes)]
        if channel is response:
            contenders += row_by_row(codes)
        rows += compare(name, contenders)
    return rows


def ours(channel: Channel, codes: NDArray[np.int32]) -> list[tuple[str, int, Draw | None]]:
    tables, source = AliasTables.of(channel), Randomness.secure()
    sample(tables, codes[:1], source)  # compile first
    return [
        ("ours, 1 thread", ROWS, lambda: sample(tables, codes, source, threads=1)),
        ("ours, 2 threads", ROWS, lambda: sample(tables, codes, source, threads=2)),
    ]


def plain_numpy(channel: Channel, codes: NDArray[np.int32]) -> list[tuple[str, int, Draw | None]]:
    rng = np.random.default_rng()
    most = int(np.diff(channel.starts).max())
    cumulative = np.ones((most, channel.n_inputs))
    outputs = np.zeros((channel.n_inputs, most), dtype=np.int32)
    for x in range(channel.n_inputs):
        entries = slice(channel.starts[x], channel.starts[x + 1])
        k = entries.stop - entries.start
        cumulative[:k, x] = np.cumsum(channel.numerators[entries]) / UNIT
        outputs[x, :k] = channel.outputs[entries]
    flat_outputs = outputs.ravel()

    def inverse(codes: NDArray[np.int32]) -> NDArray[np.int32]:
        u = rng.random(len(codes))
        rank = np.zeros(len(codes), dtype=np.int32)
        for bound in cumulative[:-1]:
            rank += u >= bound.take(codes)
        return flat_outputs.take(codes * most + rank)

    tables = AliasTables.of(channel)
    buckets = UNIT >> int(tables.shift[0])  # the same in all columns of these channels
    cuts, choices = tables.cuts / (UNIT / buckets), tables.choices.ravel()

    def alias(codes: NDArray[np.int32]) -> NDArray[np.int32]:
        u = rng.random(len(codes)) * buckets
        bucket = codes * buckets + u.astype(np.int32)
        drawn: NDArray[np.int32] = choices.take(2 * bucket + (u >= cuts.take(bucket)))
        return drawn

    return [
        ("NumPy, inverse, whole table", ROWS, lambda: inverse(codes)),
        ("NumPy, inverse, in chunks", ROWS, lambda: in_chunks(inverse, codes)),
        ("NumPy, our alias tables, in chunks", ROWS, lambda: in_chunks(alias, codes)),
    ]


def in_chunks(draw: Callable[[NDArray[np.int32]], NDArray[np.int32]], codes: NDArray[np.int32]) -> NDArray[np.int32]:
    y = np.empty(len(codes), dtype=np.int32)
    for low in range(0, len(codes), CHUNK):
        y[low : low + CHUNK] = draw(codes[low : low + CHUNK])
    return y


def row_by_row(codes: NDArray[np.int32]) -> list[tuple[str, int, Draw | None]]:
    """The same randomised response by libraries that take one value per call; None where not installed."""
    opendp: Draw | None = None
    ldpy: Draw | None = None
    probability = float(np.exp(EPSILON) / (np.exp(EPSILON) + VALUES - 1))
    if importlib.util.find_spec("opendp"):
        dp = importlib.import_module("opendp.prelude")
        dp.enable_features("contrib")
        respond = dp.m.make_randomized_response(list(range(VALUES)), probability)
        some = codes[: CALLS["OpenDP"]].tolist()
        opendp = lambda: [respond(x) for x in some]  # noqa: E731
    if importlib.util.find_spec("multi_freq_ldpy"):
        client = importlib.import_module("multi_freq_ldpy.pure_frequency_oracles.GRR").GRR_Client
        client(0, VALUES, EPSILON)  # compile first
        more = codes[: CALLS["multi-freq-ldpy"]].tolist()
        ldpy = lambda: [client(x, VALUES, EPSILON) for x in more]  # noqa: E731
    return [("OpenDP", CALLS["OpenDP"], opendp), ("multi-freq-ldpy", CALLS["multi-freq-ldpy"], ldpy)]


def compare(name: str, contenders: list[tuple[str, int, Draw | None]], repeats: int = 5) -> list[dict[str, object]]:
    """Median times; `ours` are the first two contenders. They take turns, so that a slow moment hits all."""
    times: dict[str, list[float]] = {method: [] for method, _, _ in contenders}
    for _ in range(repeats):
        for method, _, draw in contenders:
            if draw is not None:
                start = time.perf_counter()
                draw()
                times[method].append(time.perf_counter() - start)
    per_row = {method: float(np.median(times[method])) / n for method, n, draw in contenders if draw is not None}
    one, two = (per_row[method] for method, _, _ in contenders[:2])
    rows: list[dict[str, object]] = []
    for method, n, _ in contenders:
        row: dict[str, object] = {"channel": name, "method": method, "rows": n}
        if method in per_row:
            row["rows per second"] = 1 / per_row[method]
            row["ours, 1 thread, times faster"] = per_row[method] / one
            row["ours, 2 threads, times faster"] = per_row[method] / two
        else:
            row["rows per second"] = "not installed"
        rows.append(row)
    return rows


def sparse_channel(n: int, per_column: int) -> Channel:
    rng = np.random.default_rng(2)
    N: Integers = np.zeros((n, n), dtype=np.int64)
    for x in range(n):
        N[rng.choice(n, per_column, replace=False), x] = 1 + rng.multinomial(
            UNIT - per_column, rng.dirichlet(np.ones(per_column))
        )
    return Channel.from_numerators(N)


def randomised_response(k: int, epsilon: float) -> Channel:
    """The true value with probability e^ε / (e^ε + k - 1), any other with the same one each, rounded to 2⁻³²."""
    other = int(UNIT / (np.exp(epsilon) + k - 1))
    N: Integers = np.full((k, k), other, dtype=np.int64)
    np.fill_diagonal(N, UNIT - (k - 1) * other)
    return Channel.from_numerators(N)


if __name__ == "__main__":
    from rich.console import Console

    from benchmarks.__main__ import show

    show(Console(width=200), "kernel", run())
