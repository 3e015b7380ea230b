"""What a command said and wrote, as far as it means something, and where two of these differ.

What is kept of a JSON object are its leaves, each with its path: numbers, yes and no, and texts of a few words (names,
values, ranges). Not kept are sentences, what is not about the release (times, places of files, digests of protocols),
and what depends on how long somebody waited. Of long lists the length and the first members are kept.

Two leaves mean the same if they are

- equal (texts, yes and no, counts), or numbers within `SAME`: promises, entropies, what was asked for and published;
- a level within `SAME_LEVEL`;
- at least 99.5% of what was kept before (`KEPT`), whatever more there is; a bound at most 100.5% of it (`BOUNDS`);
- within `NEAR`, where a number hangs on which of several channels that are as good a search found, or on rows drawn by
  that channel: another processor rounds linear programs otherwise. That is what released rows tell (lifts and leakage
  below the level), estimates from them, and all that is said of the channel on exact counts. Where the channel is
  given, these are compared within `SAME`, too, and released tables by their digest.

A number that no such rule holds still on another processor is left out by name, or its case is one that does not move.
Whoever renames a key that is named here renames it here.

Keys are spelling: a leaf that is gone is no loss if its value has come up at a path that is new. More leaves are none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

Leaf = str | int | float | bool | None

SAME = 1e-6
"""Relative: `DIGITS` are written."""
SAME_LEVEL = 1e-4
"""Relative: levels of searches for a population end within 2e-5 of each other on two processors."""
NEAR = 0.02
"""Relative: estimates differ by up to 0.015 between two processors, nearly all by less than 0.005."""
NEAR_SHARE = 0.001
"""The same, absolute, for small shares."""
LEAST_KEPT, MOST_BOUND = 0.995, 1.005
"""What is kept may not fall, and what might be kept may not rise, by more than half a percent."""
MOST_GAP = 0.001
"""By which a certified gap, a share, may grow."""
DIGITS = 7
"""That are written of a number."""
WORDS = 3
"""A text of more is a sentence."""
FIRST = 4
"""Members of a list that are kept."""
LINES = 20
"""Of a difference that is told."""
HURRIED = "hurried"
"""What stands beside this is not compared if one of the two runs was short of time: that depends on the load."""
TWICE = 2.0
"""Pages may become longer or shorter by this factor."""

LEFT_OUT = {
    *("seconds", "at", "versions"),  # times
    *("output", "protocol", "report", "recipe", "domain", "template", "ledger"),  # files
    *("digest", "sha256", "bytes", "head", "drawing", "protocol_digest", "follows", "records", "log"),  # digests
    *("how", "found_by", "known_costs", "side_channel", "stopped"),  # what a search did and found while it had time
    *("worst_output", "worst_lift", "worst_column", "average_bias", "variant"),  # one of many that are alike
    *("p_value", "likely", "covariance", "right", "accuracy_error", "on_the_table"),  # of chance
}
KEPT = {"kept_share", "kept_bits", "kept", "fidelity", "information_nats", "utility"}
BOUNDS = {"fidelity_bound", "upper_bound", "at_most"}
GAPS = {"gap_share"}
HANGS = {
    *("released", "leakage_bits", "best_guess", "one_column_known", "population", "attackers", "repeated", "learned"),
    *("cells_unchanged", "rows_unchanged", "columns_unchanged", "unchanged", "kept_shares", "three_risks"),
    *("counted", "typical_error", "worst_error", "expected_errors", "miscounted", "steward_only", "precision"),
    *("tables", "summaries", "comparisons", "associations", "coefficients", "terms"),  # estimated from rows
}


def leaves(told: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Leaf]]:
    """What is kept of a JSON value."""
    if path and path[-1] in LEFT_OUT:
        return
    if isinstance(told, dict):
        for key, value in told.items():
            yield from leaves(value, (*path, key))
    elif isinstance(told, list):
        if len(told) > FIRST:
            yield "/".join((*path, "#")), len(told)
        for i, value in enumerate(told[:FIRST]):
            yield from leaves(value, (*path, str(i)))
    elif not (isinstance(told, str) and len(told.split()) > WORDS):
        yield "/".join(path), float(f"{told:.{DIGITS}g}") if isinstance(told, float) else told


def differences(was: dict[str, Any], now: dict[str, Any], given: bool = False) -> list[str]:
    """A line for each difference between what two runs of the same chain did; `given` as of a chain."""
    lines = [f"{name}: was run, and is not" for name in was if name not in now]
    lines += [f"{name}: is new; `make golden` writes it down" for name in now if name not in was]
    for name in (name for name in was if name in now):
        before, after = was[name], now[name]
        if before["exit"] != after["exit"]:
            lines.append(f"{name}: exit code was {before['exit']}, is {after['exit']}")
        lines += [f"{name}: {line}" for line in _of_files(before["files"], after["files"])]
        lines += [f"{name}: {line}" for line in _of_leaves(before["told"], after["told"], given)]
    return lines


def shortened(lines: list[str]) -> list[str]:
    """At most `LINES` of them, the last of which says how many there are."""
    if len(lines) <= LINES:
        return lines
    return [*lines[: LINES - 1], f"… and {len(lines) - LINES + 1} more"]


def same(path: str, was: Leaf, now: Leaf, given: bool = False) -> bool:
    """Whether two leaves at the same path mean the same."""
    numbers = [isinstance(one, int | float) and not isinstance(one, bool) for one in (was, now)]
    if not all(numbers):
        return was == now and type(was) is type(now)
    before, after, names = float(was or 0), float(now or 0), path.split("/")
    if math.isclose(before, after, rel_tol=SAME, abs_tol=1e-12):
        return True
    if given:
        return False
    if names[-1] == "level" and math.isclose(before, after, rel_tol=SAME_LEVEL):
        return True
    if names[-1] in GAPS:
        return after <= before + MOST_GAP
    if names[-1] in KEPT:
        return after >= before * LEAST_KEPT
    if names[-1] in BOUNDS:
        return after <= before * MOST_BOUND
    return not HANGS.isdisjoint(names) and math.isclose(before, after, rel_tol=NEAR, abs_tol=NEAR_SHARE)


def _of_leaves(was: dict[str, Leaf], now: dict[str, Leaf], given: bool) -> list[str]:
    hurried = tuple(path.removesuffix(HURRIED) for one in (was, now) for path in one if one[path] and _is_hurried(path))
    was, now = ({path: one[path] for path in one if not path.startswith(hurried)} for one in (was, now))
    fresh = [path for path in now if path not in was]
    lines = []
    for path, leaf in was.items():
        if path in now:
            if not same(path, leaf, now[path], given):
                lines.append(f"{path} was {leaf}, is {now[path]}")
            continue
        moved = next((other for other in fresh if same(path, leaf, now[other], given=True)), None)
        if moved is None:
            lines.append(f"{path} was {leaf}, is gone")
        else:
            fresh.remove(moved)
    return lines


def _is_hurried(path: str) -> bool:
    return path.split("/")[-1] == HURRIED


def _of_files(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    lines = [f"{name} was written, is not" for name in was if name not in now]
    lines += [f"{name} was not written, is" for name in now if name not in was]
    for name in (name for name in was if name in now):
        before, after = was[name], now[name]
        sizes = isinstance(before, int) and isinstance(after, int)
        if not (max(before, after) <= TWICE * min(before, after) if sizes else before == after):
            lines.append(f"{name} was {before}, is {after}")
    return lines
