"""Protocols over nested sets: they keep their promise for the truth, and more columns never keep much less."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binomtest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.numeric.clock import ticks

ALARM = 1e-6


def independent(shape, n, seed=1):
    """Counts of n people whose secret tells nothing of their values."""
    p = np.random.default_rng(seed).dirichlet(np.full(np.prod(shape), 5.0)).reshape(shape)
    return pf.Joint(np.stack([0.6 * n * p, 0.4 * n * p]).astype(np.int64))


# --- all that can be released is released ------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 3), (4, 5)], ids=str)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_where_every_value_may_be_told_as_many_outputs_as_values_are_kept(shape, epsilon):
    joint = independent(shape, 10**6)
    protocol = pf.optimise(joint, pf.robust(pf.LIP(epsilon)))
    assert protocol.block.channel.n_outputs == joint.n_x
    assert protocol.utility > 0.999 * joint.entropy
    assert pf.certify(protocol, joint).holds


@pytest.mark.parametrize("epsilon", [30.0, 50.0, 500.0, 10_000.0])
@pytest.mark.parametrize("notion", [pf.LIP, pf.LDP, pf.PML, pf.SRLIP])
def test_a_promise_that_allows_nearly_everything_lets_nearly_everything_be_released(notion, epsilon):
    joint = independent((2, 3), 300)
    protocol = pf.optimise(joint, pf.robust(notion(epsilon)))
    assert protocol.utility > 0.99 * joint.entropy
    assert pf.certify(protocol, joint).holds


@pytest.mark.parametrize("notion", [pf.LIP(0.5), pf.SRLIP(0.5), pf.LDP(0.5)], ids=str)
def test_values_that_nobody_has_do_not_keep_all_others_from_being_released(notion):
    """Mixtures once left a part of such values to artificial columns, which no channel can have."""
    array = np.zeros((2, 3, 4), dtype=np.int64)
    array[0, :2], array[1, :2] = [[1, 7, 2, 0], [1, 1, 4, 0]], [[4, 20, 3, 6], [3, 2, 3, 3]]
    protocol = pf.optimise(pf.Joint(array), pf.robust(notion))
    assert protocol.utility > 0.05
    assert protocol.block.channel.n_outputs > 1


@pytest.mark.parametrize("notion", [pf.SRLIP(0.5), pf.SRLIP(0.5, known=1), pf.SRLDP(0.5)], ids=str)
def test_attackers_may_know_combinations_that_nobody_has(notion):
    rng = np.random.default_rng(3)
    array = rng.integers(20, 90, (2, 2, 2, 3))
    array[:, 1, 1] = array[:, 0, :, 2] = 0
    joint = pf.Joint(array)
    protocol = pf.optimise(joint, pf.robust(notion), time_limit=3)
    assert pf.certify(protocol, joint).holds
    assert protocol.draw is None


# --- a simulation with known truth ---------------------------------------------------------------------------


def dependent(shape, seed, strength):
    """A truth P(s, x) in which columns depend on each other, with rare combinations and one that nobody has."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(np.prod(shape), 0.7)).reshape(shape)
    p.flat[0], p.flat[1] = 0.0, 1e-4
    tells = 1 / (1 + np.exp(-strength * rng.normal(size=shape)))
    return np.stack([p * tells, p * (1 - tells)]) / p.sum()


def kept_for_the_truth(truth, n, notion, times, confidence=0.95):
    """In how many samples the robust protocol, and the plain one, break their promise under the truth."""
    rng = np.random.default_rng(n)
    broken = plainly_broken = 0
    whole = pf.Joint(truth).completed  # the channel has an input for every combination
    for _ in range(times):
        sample = rng.multinomial(n, truth.ravel()).reshape(truth.shape)
        sample[(slice(None), *[-1] * len(truth.shape[1:]))] += ~sample.any(axis=tuple(range(1, sample.ndim)))
        joint = pf.Joint(sample)
        over = pf.optimise(joint, pf.robust(notion, confidence), time_limit=10)
        assert over.notion.within == "nested"
        assert over.block.channel.n_inputs == whole.n_x
        broken += notion.level(pf.Joint(truth), over.channel_on(pf.Joint(truth))) > notion.epsilon
        plain = pf.optimise(joint, notion, gap=1e-3)
        seen = pf.Joint(truth * sample.any(axis=0))
        plainly_broken += notion.level(seen, plain.channel_on(seen)) > notion.epsilon * (1 + 1e-9)
    return broken, plainly_broken


SAMPLES = 40
"""Of each size, in `make check`."""
TRUTHS = {"two columns": ((2, 3), 2, 2.0), "three columns": ((2, 2, 3), 4, 1.0)}


@pytest.mark.long
@pytest.mark.parametrize("n", [40, 3_000])
def test_the_promise_is_kept_for_the_truth_as_often_as_it_says(n):
    broken, _ = kept_for_the_truth(dependent(*TRUTHS["two columns"]), n, pf.LIP(0.4), 8)
    assert binomtest(broken, 8, 0.05, alternative="greater").pvalue > ALARM


@pytest.mark.long
@pytest.mark.parametrize("n", [40, 300, 3_000, 30_000])
@pytest.mark.parametrize(("columns", "notion"), [("two columns", pf.LIP(0.4)), ("three columns", pf.LIP(0.5))], ids=str)
def test_the_promise_is_kept_for_the_truth_in_many_samples(n, columns, notion, record_property):
    broken, plainly_broken = kept_for_the_truth(dependent(*TRUTHS[columns]), n, notion, SAMPLES)
    record_property("failures of the robust protocol", f"{broken} of {SAMPLES}")
    record_property("failures of the plain protocol", f"{plainly_broken} of {SAMPLES}")
    assert binomtest(broken, SAMPLES, 0.05, alternative="greater").pvalue > ALARM
    # the same test tells a protocol that does not keep its promise
    assert binomtest(plainly_broken, SAMPLES, 0.05, alternative="greater").pvalue < ALARM


# --- soundness --------------------------------------------------------------------------------------------------


def some_people(n_s=2, shape=(2, 3, 2), n=3_000, seed=5):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(np.prod(shape), 0.6)).reshape(shape)
    tells = rng.dirichlet(np.full(n_s, 6.0), size=shape)
    array = rng.multinomial(n, np.moveaxis(p[..., None] * tells, -1, 0).ravel()).reshape(n_s, *shape)
    array[(slice(None), *[-1] * len(shape))] = 0  # a combination that nobody has
    return pf.Joint(array)


@pytest.mark.parametrize("n_s", [2, 3])
@pytest.mark.parametrize(
    "notion",
    [pf.LIP(0.5), pf.LDP(0.5), pf.ALIP(0.3, 0.7), pf.PML(0.5), pf.SRLIP(0.5, known=1), pf.SRLIP(0.5), pf.SRLDP(0.7)],
    ids=str,
)
def test_what_is_found_is_certified_and_lies_between_nothing_and_its_bound(notion, n_s):
    joint = some_people(n_s)
    protocol = pf.optimise(joint, pf.robust(notion), time_limit=25)
    assert 0 < protocol.utility <= protocol.upper_bound <= joint.entropy * (1 + 1e-12)
    certificate = pf.certify(protocol, joint)
    assert certificate.holds
    assert certificate.level <= notion.epsilon
    assert pf.certify(protocol, joint, notion).holds  # for the people themselves
    assert protocol.block.channel.n_inputs == joint.combinations > joint.n_x


def test_time_that_is_up_leaves_a_certified_protocol():
    joint = some_people(3, (4, 5, 3), 20_000)
    pf.optimise(some_people(), pf.robust(pf.LIP(0.5)), time_limit=1)  # loops are compiled when they are first used
    for notion in (pf.LIP(0.5), pf.SRLIP(0.5, known=1)):
        started = ticks()
        protocol = pf.optimise(joint, pf.robust(notion), time_limit=0.2)
        assert ticks() - started < 15
        assert pf.certify(protocol, joint).holds


def test_a_request_to_stop_leaves_a_certified_protocol():
    def stop(progress):
        raise KeyboardInterrupt

    joint = some_people(2, (4, 5, 3), 20_000)
    protocol = pf.optimise(joint, pf.robust(pf.LIP(0.5)), progress=stop)
    assert pf.certify(protocol, joint).holds


# --- more columns never keep much less --------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("notion", [pf.LIP(0.5), pf.LDP(0.5)], ids=str)
@pytest.mark.parametrize("n", [5_000, 100_000])
def test_more_columns_keep_nearly_as_much_as_any_of_them_alone(notion, n):
    joint = some_people(2, (2, 3, 4), n, seed=1)
    whole = pf.optimise(joint, pf.robust(notion), time_limit=10).utility
    for k in (1, 2):
        for some in combinations(joint.attributes, k):
            alone = pf.optimise(joint.over(some), pf.robust(notion), time_limit=4, gap=1e-3).utility
            assert whole >= 0.9 * alone


@pytest.mark.long
@pytest.mark.parametrize(
    ("table", "secret", "attributes"),
    [
        ("adult", "income", ["education", "sex"]),
        ("compas", "two_year_recid", ["sex", "age_cat", "score_text"]),
    ],
)
def test_on_real_tables_more_columns_keep_nearly_as_much_as_any_of_them_alone(shared, table, secret, attributes):
    path = shared / "data" / f"{table}.csv.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not in the shared folder")
    joint = pf.Joint.from_table(path, secret, attributes, missing="?")
    for notion in (pf.LIP(0.5), pf.LDP(0.5)):
        whole = pf.optimise(joint, pf.robust(notion), time_limit=20).utility
        for k in range(1, len(attributes)):
            for some in combinations(attributes, k):
                alone = pf.optimise(joint.over(some), pf.robust(notion), time_limit=5, gap=1e-3).utility
                assert whole >= 0.9 * alone


# --- protocols for every combination ---------------------------------------------------------------------------


@pytest.fixture
def small_table(tmp_path):
    rng = np.random.default_rng(6)
    rows = [f"{s},{a},{b}" for s, a, b in rng.integers(0, (2, 2, 3), (4_000, 3)) if not (a == 1 and b == 2)]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["s,a,b", *rows]) + "\n")
    return path


def test_a_combination_that_was_never_seen_is_released_and_estimated(small_table, tmp_path, capsys):
    out, where = tmp_path / "out.csv", tmp_path / "p.json"
    asked = ["fit", small_table, "--secret", "s", "--epsilon", "0.5", "--confidence", "0.95"]
    asked += ["--set", "objective=information", "--set", "bins=a=each", "--set", "bins=b=each", "-o", where]
    assert run([str(part) for part in asked]) == 0
    protocol = pf.Protocol.load(where)
    assert protocol.notion.within == "nested"
    assert protocol.block.channel.n_inputs == 6
    assert run(["audit", str(where), "--table", str(small_table)]) == 0
    new = tmp_path / "new.csv"
    new.write_text("s,a,b\n" + "0,1,2\n" * 50 + "1,0,1\n" * 50)  # a = 1 with b = 2 occurred nowhere
    assert run(["sanitise", str(new), "--protocol", str(where), "-o", str(out)]) == 0
    assert len(out.read_text().splitlines()) == 101
    assert run(["estimate", str(out), "--protocol", str(where), "--by", "a"]) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_columns_of_one_value_are_released_as_they_are():
    for array in ([[[5]], [[7]]], [[[5, 3]], [[7, 9]]]):
        protocol = pf.optimise(pf.Joint(array), pf.robust(pf.LIP(0.5)))
        assert pf.certify(protocol, pf.Joint(array)).holds
        assert protocol.notion.within == "nested"


@pytest.mark.long
def test_a_row_for_every_person_takes_little_longer_than_its_time_limit():
    array = np.zeros((2, 60, 60), dtype=np.int64)
    array[np.arange(60) % 2, np.arange(60), np.arange(60)] = 1
    joint = pf.Joint(array)
    started = ticks()
    protocol = pf.optimise(joint, pf.robust(pf.LIP(0.5)), time_limit=2)
    assert ticks() - started < 40
    assert pf.certify(protocol, joint).holds
