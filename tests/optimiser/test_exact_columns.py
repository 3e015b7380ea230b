"""Columns that stay exact: possible exactly if every cell by itself keeps the promise, and then as good as can be."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import numpy as np
import pytest
from tests import clauses

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidPromise, InvalidProtocol
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.file import from_text, to_text

UNIT = 2**32
ORACLE = 2e-8
GAP = 1e-6
QUICK, MANY = 12, 500
PROMISES = ("lip", "ldp", "pml", "by value", "several", "belief")

needs_ppl = pytest.mark.skipif(importlib.util.find_spec("ppl") is None, reason="pplpy enumerates vertices exactly")


def case(seed):
    """A small joint of two columns, and a promise."""
    rng = np.random.default_rng([77, seed])
    kind, e = PROMISES[seed % len(PROMISES)], float(rng.choice([0.1, 0.3, 0.6, 1.0, 2.0]))
    shape = (int(rng.integers(2, 4)), int(rng.integers(2, 4)))
    array = rng.integers(0 if seed % 3 else 1, 30, size=(2, 2, *shape))
    array[:, :, :, 0] += 1
    if kind == "several":
        joint = pf.Joint(array, attributes=["town", "sport"], secret=["a", "b"])
        return joint, pf.Promises(a=pf.LIP(e), b=pf.LIP(2 * e))
    joint = pf.Joint(array.reshape(4, *shape)[:3], attributes=["town", "sport"])
    match kind:
        case "by value":
            return joint, pf.LIP({0: e, 1: 2 * e, 2: 1.0})
        case "belief":
            return joint, pf.Belief({0: round(float(joint.p_s[0]) + (1 - float(joint.p_s[0])) * 0.4, 4)})
    return joint, {"lip": pf.LIP, "ldp": pf.LDP, "pml": pf.PML}[kind](e)


def town_alone(joint):
    """The channel that tells the town and nothing else, over 2³²."""
    towns = joint.codes[:, 0]
    return np.array([[UNIT * int(town == k) for town in towns] for k in sorted(set(towns.tolist()))], dtype=object)


def check(seed):
    joint, promise = case(seed)
    said, towns = clauses.statements(promise, joint), joint.codes[:, 0].tolist()
    possible = clauses.keeps(said, joint, town_alone(joint))
    if not possible:
        with pytest.raises(InvalidPromise, match="town cannot stay exact: town = "):
            pf.optimise(joint, promise, exact=["town"])
        return False
    protocol = pf.optimise(joint, promise, exact=["town"])
    below = clauses.optimum(joint.weights, said, cells=towns)
    above = clauses.optimum(joint.weights, said, above=True, cells=towns)
    assert below is None or below - ORACLE <= protocol.upper_bound
    assert above is not None
    assert protocol.utility <= above + ORACLE
    assert protocol.gap <= 5 * GAP
    assert pf.certify(protocol, joint).holds
    assert clauses.keeps(said, joint, np.rint(protocol.channel * UNIT).astype(object))
    assert protocol.block.stays_exact()
    return True


@needs_ppl
def test_the_optimum_is_that_of_all_vertices_within_cells():
    assert 0 < sum(check(seed) for seed in range(QUICK)) < QUICK


@needs_ppl
@pytest.mark.long
def test_hundreds_of_optima_are_those_of_all_vertices_within_cells():
    assert sum(check(seed) for seed in range(QUICK, QUICK + 2 * MANY)) >= MANY


def test_the_best_countable_release_is_that_of_a_program_over_pairs_within_cells():
    found = 0
    for seed in range(200, 230):
        joint, promise = case(seed)
        said, towns = clauses.statements(promise, joint), joint.codes[:, 0]
        if not clauses.keeps(said, joint, town_alone(joint)) or joint.codes[:, 1].max() > 1:
            continue  # with two values, near ones do not count in part
        joint = pf.Joint.from_support(
            joint.weights,
            np.array([["tu"[c % 2] + str(c), "xy"[d]] for c, d in joint.codes]),
            secret_values=joint.secret_values,
        )
        joint.secret_parts = case(seed)[0].secret_parts
        protocol = pf.optimise(joint, promise, objective="faithful", exact=["X1"])
        most = clauses.fidelity(joint, clauses.statements(promise, joint), cells=towns.tolist())
        assert most is not None
        assert most - 1.1e-3 <= protocol.fidelity <= most + 1e-7 <= protocol.fidelity_bound + 2e-7
        assert pf.certify(protocol, joint)
        assert protocol.block.stays_exact()
        found += 1
    assert found > 3


def test_with_one_cell_nothing_changes():
    rng = np.random.default_rng(3)
    joint = pf.Joint(rng.integers(1, 40, size=(3, 1, 5)), attributes=["town", "sport"])
    for promise in (pf.LIP(0.3), pf.LDP(0.2), pf.LIP({0: 0.1, 1: 0.5, 2: 1.0})):
        for objective in ("information", "faithful"):
            plain = pf.optimise(joint, promise, objective=objective)
            exact = pf.optimise(joint, promise, objective=objective, exact=["town"])
            assert exact.utility == pytest.approx(plain.utility, abs=5 * GAP if objective == "information" else 0.02)
            if objective == "faithful":
                assert exact.fidelity == pytest.approx(plain.fidelity, abs=1.1e-3)


def test_all_columns_exact_release_everything_or_nothing():
    joint = pf.Joint([[30, 31, 29], [30, 29, 31]], attributes=["town"])
    assert pf.optimise(joint, pf.LIP(0.2), exact=["town"]).utility == pytest.approx(joint.entropy)
    with pytest.raises(InvalidPromise, match=r"promise at least 0\.034 instead of 0\.01, or merge values"):
        pf.optimise(joint, pf.LIP(0.01), exact=["town"])


def test_the_epsilon_that_a_refusal_names_would_do():
    joint = pf.Joint([[[40, 10], [20, 30]], [[10, 20], [30, 30]]], attributes=["town", "sport"])
    with pytest.raises(InvalidPromise, match="cannot stay exact") as refused:
        pf.optimise(joint, pf.LIP(0.1), exact=["town"])
    named = float(str(refused.value).split("promise at least ")[1].split(" ")[0])
    assert pf.optimise(joint, pf.LIP(named), exact=["town"]).utility > 0


@pytest.mark.parametrize(
    ("secrets", "promise", "why"),
    [
        (["a"], pf.LIP(0.5), "no ε allows it, or merge values: town = 0 with town = 1 would do"),
        (["a", "b"], pf.Promises(a=pf.LIP(0.5), b=pf.LIP(0.4)), "no ε allows it, or merge values: town = 0 with"),
        (["a"], pf.Promises(a=pf.Belief({0: 0.9})), "no limit on belief allows it, or merge values"),
    ],
)
def test_a_town_that_tells_for_sure_is_named_and_no_epsilon_is_proposed(secrets, promise, why):
    counts = np.array([[[9, 8], [3, 4]], [[0, 0], [5, 6]]])
    if len(secrets) > 1:
        counts = np.stack([counts, counts], axis=1)
    joint = pf.Joint(counts, attributes=["town", "sport"], secret=secrets)
    with pytest.raises(InvalidPromise, match=why):
        pf.optimise(joint, promise, exact=["town"])


def test_the_epsilon_named_for_several_promises_would_do_if_all_grow_with_it():
    joint = pf.Joint(np.random.default_rng(8).integers(1, 30, size=(2, 2, 3, 2)), attributes=["town", "sport"],
                     secret=["a", "b"])  # fmt: skip
    promise = pf.Promises(a=pf.LIP(0.02), b=pf.LIP(0.01))
    with pytest.raises(InvalidPromise, match="and the others in proportion") as refused:
        pf.optimise(joint, promise, exact=["town"])
    named = float(str(refused.value).split("promise at least ")[1].split(" ")[0])
    assert pf.optimise(joint, promise.times(named / 0.02), exact=["town"]).utility > 0


def test_shares_of_exact_columns_have_no_error_by_drawing():
    rng = np.random.default_rng(1)
    joint = pf.Joint(rng.integers(5, 40, size=(2, 3, 4)), attributes=["town", "age"])
    for objective in ("information", "faithful"):
        protocol = pf.optimise(joint, pf.LIP(0.3), objective=objective, exact=["town"])
        for share in pf.expected_errors(protocol, joint, n=1000).shares:
            if share.attributes == ("town",):
                assert share.estimated == pytest.approx(share.original)
                assert share.counted == pytest.approx(share.original)
            else:
                assert share.estimated > 1.01 * share.original


def test_exact_columns_with_attackers_who_know_some():
    rng = np.random.default_rng(2)
    joint = pf.Joint(rng.integers(10, 40, size=(2, 2, 3)), attributes=["town", "age"])
    protocol = pf.optimise(joint, pf.SRLIP(0.8), exact=["town"])
    assert pf.certify(protocol, joint).holds


def test_a_file_whose_exact_column_does_not_stay_exact_is_refused(tmp_path):
    joint = pf.Joint([[[40, 10], [20, 30]], [[10, 20], [30, 30]]], attributes=["town", "sport"])
    protocol = pf.optimise(joint, pf.LIP(1.0), exact=["town"])
    assert from_text(to_text(protocol)).block.exact == ("town",)
    other = pf.optimise(joint, pf.LIP(0.1))
    other = replace(other, step=replace(other.block, exact=("town",), draw=None))
    with pytest.raises(InvalidProtocol, match="said to stay exact"):
        from_text(to_text(other))


def forged(rng, protocol):
    """The protocol with some of one town released as another."""
    block = protocol.block
    towns = block.codes[:, block.attributes.index("town")]
    shape = len(block.labels), len(block.codes)
    numerators = np.zeros(shape, dtype=np.int64)
    numerators[block.channel.outputs, block.channel.inputs] = block.channel.numerators
    elsewhere = np.argwhere(towns[block.labels][:, None] != towns[None, :])
    y, x = elsewhere[rng.integers(len(elsewhere))]
    own = int(numerators[:, x].argmax())
    moved = min(int(rng.choice([1, 2**10, 2**20, 2**32])), int(numerators[own, x]))
    numerators[own, x] -= moved
    numerators[y, x] += moved
    outputs, inputs = np.nonzero(numerators)
    channel = Channel.from_entries(inputs, outputs, numerators[outputs, inputs], shape)
    return replace(protocol, step=replace(block, channel=channel))


def check_forged(wanted, each):
    rng, found, seed = np.random.default_rng(6), 0, 3000
    while found < wanted:
        seed += 1
        try:
            protocol = pf.optimise(*case(seed), exact=["town"])
        except InvalidPromise:  # no town may stay
            continue
        for _ in range(each):
            with pytest.raises(InvalidProtocol, match="said to stay exact"):
                from_text(to_text(forged(rng, protocol)))
            found += 1


def test_no_town_that_is_sometimes_another_is_said_to_stay_exact():
    check_forged(12, 4)


@pytest.mark.long
def test_of_a_thousand_towns_that_are_sometimes_another_none_is_said_to_stay_exact():
    check_forged(1000, 25)


def check_past_a_limit(wanted):
    """Within cells, but past a limit: refused like any other."""
    rng, found, seed = np.random.default_rng(7), 0, 5000
    while found < wanted:
        seed += 1
        joint, promise = case(seed)
        said, towns = clauses.statements(promise, joint), joint.codes[:, 0]
        row = np.where(towns == towns[0], rng.integers(0, UNIT, size=joint.n_x), 0).astype(object)
        rows = np.array([row, UNIT - row], dtype=object)
        if not clauses.keeps(said, joint, rows):
            assert not pf.certify(rows.astype(np.float64) / UNIT, joint, promise).holds
            found += 1


def test_no_channel_within_cells_and_past_a_limit_is_certified():
    check_past_a_limit(50)


@pytest.mark.long
def test_of_a_thousand_channels_within_cells_and_past_a_limit_none_is_certified():
    check_past_a_limit(1000)


def test_private_fits_read_rare_combinations_within_their_cell():
    """By the usual rule the rare combination would be read as one of another town."""
    rng = np.random.default_rng(4)
    rows = [
        {"town": f"t{rng.integers(3)}", "sport": f"s{rng.integers(6)}", "s": int(rng.random() < 0.4)}
        for _ in range(3000)
    ]
    rows += [{"town": "t0", "sport": "rare", "s": 1}] * 2
    import pandas as pd

    table = pd.DataFrame(rows)
    joint = pf.Joint.from_table(table, "s", ["town", "sport"], private=1.0, at_least=20)
    protocol = pf.optimise(joint, pf.LIP(0.5), objective="faithful", exact=["town"])
    released = protocol.sanitise(table)
    assert sorted(released["town"]) == sorted(table["town"])
    from privacyfunnel.proof.certificate import audit_publicly

    loaded = from_text(to_text(protocol))
    assert audit_publicly(loaded)[1].holds


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"exact": ["nowhere"]}, "none of the released columns"),
        ({"exact": "town"}, "a list of different columns"),
        ({"exact": ["town", "town"]}, "a list of different columns"),
        ({"exact": ["town"], "readers": "shares"}, "goes without readers"),
    ],
)
def test_what_cannot_stay_exact_is_refused(more, why):
    joint = pf.Joint([[[40, 10], [20, 30]], [[10, 20], [30, 30]]], attributes=["town", "sport"])
    with pytest.raises(InvalidInput, match=why):
        pf.optimise(joint, pf.LIP(1.0), **more)
