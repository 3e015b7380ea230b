"""Is every bound a bound? Random tables and promises, every way of bounding, against utilities reached in rationals.

`python -m benchmarks soundness`; SOUNDNESS_CASES sets how many (20,000 unless told).
"""

import os
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import soundness  # the independent side is the tests'
from privacyfunnel.numeric.cores import cores

CASES = int(os.environ.get("SOUNDNESS_CASES", "20000"))
AT_ONCE = 100
SLOW = 40
"""Every so many cases, the ways that take their time as well."""
TURNS = 4
SOMETIMES = {"sweeps": (0, 2), "fewer": (1,)}
"""Of four cases with the same kind of table, those in which ways are tried that take tens of milliseconds."""
RARE = 50
"""Every so many cases, promises over a confidence set and for two distributions."""
RANGES = ((0.0, 0.0), (1e-9, 1e-6), (1e-6, 1e-3), (1e-3, 1.0), (1.0, 10.0), (10.0, 50.0), (50.0, 700.0))

Count = tuple[str, str, tuple[float, float], float | None, str]


def run() -> list[dict[str, object]]:
    """One row for each way, and one for each way and range of ε with every promise's number of cases."""
    start = time.perf_counter()
    found: list[Count] = []
    done = skipped = 0
    with ProcessPoolExecutor(cores()) as pool:
        for counts, solved, unsolved in pool.map(batch, range((CASES + AT_ONCE - 1) // AT_ONCE)):
            found += counts
            done, skipped = done + solved, skipped + unsolved
    rows = summary(found)
    rows.append({"way": "all", "cases": done, "without a reached utility": skipped, "bounds": len(found)})
    rows[-1] |= {"violated": sum(violated(one) for one in found), "s": time.perf_counter() - start}
    for _, way, _, room, what in found:
        if room is not None and room < -soundness.ROUNDING:
            print(f"violated by {-room:.3g} nats: {way}, {what}")
    return rows


def batch(seed: int) -> tuple[list[Count], int, int]:
    """Some cases: what was found, how many were held against something, and how many were not."""
    found, solved, unsolved = [], 0, 0
    previous = None
    for number, case in enumerate(islice(soundness.cases(seed), AT_ONCE)):
        turn = (number // len(soundness.TABLES) + seed) % TURNS
        without = tuple(way for way, turns in SOMETIMES.items() if turn not in turns)
        verdicts = soundness.verdicts(case, slow=number % SLOW == seed % SLOW, without=without)
        solved, unsolved = solved + bool(verdicts), unsolved + (not verdicts)
        if number % RARE == seed % RARE and case.notion.name in ("ldp", "lip", "alip", "pml"):
            if case.notion.limits == case.notion.limits.granted() and case.table in ("even", "sparse"):
                verdicts += soundness.robust_verdicts(case)
            if previous is not None and previous.N.shape == case.N.shape:
                verdicts += soundness.prior_verdicts(case, previous)
        previous = case if case.table == "even" else previous
        found += [(case.notion.name, one.way, span(case.notion.epsilon), one.room, repr(case)) for one in verdicts]
    return found, solved, unsolved


def span(epsilon: float) -> tuple[float, float]:
    """The range that ε lies in."""
    return next(ends for ends in RANGES if ends[0] <= epsilon <= ends[1])


def violated(one: Count) -> bool:
    return one[3] is not None and not one[3] >= -soundness.ROUNDING


def summary(found: list[Count]) -> list[dict[str, object]]:
    """By way and range of ε: how many bounds, of which promises, refused, violated, and the least and median room."""
    groups: dict[tuple[str, tuple[float, float]], list[Count]] = defaultdict(list)
    for one in found:
        groups[one[1], one[2]].append(one)
    rows: list[dict[str, object]] = []
    for (way, ends), group in sorted(groups.items()):
        rooms = sorted(one[3] for one in group if one[3] is not None)
        of: dict[str, int] = defaultdict(int)
        for one in group:
            of[one[0]] += 1
        rows.append(
            {
                "way": way,
                "ε": "0" if ends == (0.0, 0.0) else f"{ends[0]:g} to {ends[1]:g}",
                "bounds": len(group),
                "of": ", ".join(f"{name} {count}" for name, count in sorted(of.items())),
                "refused": len(group) - len(rooms),
                "violated": sum(map(violated, group)),
                "least room, nats": rooms[0] if rooms else "",
                "median room": rooms[len(rooms) // 2] if rooms else "",
            }
        )
    return rows
