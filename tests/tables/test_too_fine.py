"""Too fine: it is measured, its cause is named, and what is proposed comes to what is said."""

import time

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.distribution.column import Column
from privacyfunnel.tables.counting import count_table
from privacyfunnel.tables.fitting import Wishes
from privacyfunnel.tables.too_fine import fineness

pa = pytest.importorskip("pyarrow")


def table(n=3_000, seed=0):
    """Sex and town are coarse; weight is what is too fine."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "s": rng.integers(0, 2, n).tolist(),
            "sex": rng.integers(0, 2, n).tolist(),
            "town": [f"t{i}" for i in rng.integers(0, 8, n)],
            "weight": rng.integers(0, 400, n).tolist(),
        }
    )


def test_the_column_that_causes_it_is_named_with_what_is_left_without_it():
    found = fineness(count_table(table(), "s", wishes=Wishes({"weight": "each"})).joint)
    assert found.too_fine
    best = found.proposals[0]
    assert best.option == "without weight"
    assert best.combinations == 16
    assert "without weight: 16 combinations, 0% of the people" in found.words()


def test_proposed_options_come_to_what_was_said():
    wishes = Wishes({"weight": 30})  # some 6 people for each of 480 combinations
    found = {p.option: p for p in fineness(count_table(table(), "s", wishes=wishes).joint).proposals}
    proposed = found["--set bins=weight=15"]
    tried = fineness(count_table(table(), "s", wishes=Wishes({"weight": 15})).joint)
    assert tried.combinations == pytest.approx(proposed.combinations, rel=0.05)
    assert tried.share == pytest.approx(proposed.share, abs=0.1)
    top = found.get("--set top=town=4")
    tried = fineness(count_table(table(), "s", wishes=Wishes({"weight": 30}, top={"town": 4})).joint)
    assert top is None or tried.combinations == top.combinations


def test_a_coarse_table_is_not_too_fine():
    found = fineness(count_table(table(), "s", ["sex", "town"]).joint)
    assert not found.too_fine
    assert found.words() == ""
    assert found.proposals == ()


def test_people_who_are_alone_are_counted_on_exact_counts_only():
    counted = count_table(table(300), "s", wishes=Wishes({"weight": "each"}))
    exact, noisy = fineness(counted.joint), fineness(counted.safely(20.0).joint)
    rows = list(zip(*(table(300)[name].to_pylist() for name in ("sex", "town", "weight")), strict=True))
    assert exact.alone == sum(rows.count(row) == 1 for row in rows)
    assert noisy.alone is None
    assert noisy.too_fine
    assert "by noisy counts" in noisy.words()


def test_probabilities_tell_nothing_of_people():
    assert fineness(pf.Joint([[0.25, 0.25], [0.125, 0.375]])) is None


def test_25_000_combinations_take_less_than_a_second():
    rng = np.random.default_rng(0)
    sizes = (8, 12, 16, 20, 5)
    codes = np.unique(np.column_stack([rng.integers(0, size, 26_000) for size in sizes]), axis=0)
    columns = tuple(Column(name=f"x{j}", kind="integer", labels=tuple(range(size))) for j, size in enumerate(sizes))
    joint = pf.Joint.from_codes(rng.integers(1, 3, (2, len(codes))), codes, columns, "s", None)
    assert joint.n_x > 20_000
    begun = time.perf_counter()
    assert fineness(joint).too_fine
    assert time.perf_counter() - begun < 1
