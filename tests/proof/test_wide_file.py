"""The public audit of a model's file: with nothing but the file, a forger gets no KEPT for what it does not keep."""

import itertools
import json
import math

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.distribution.fitting import fitted_model
from privacyfunnel.distribution.laplace_split import LaplaceNoise
from privacyfunnel.distribution.pair_model import pair_model
from privacyfunnel.errors import InvalidInput
from privacyfunnel.proof.table_noise import SMALLER
from privacyfunnel.proof.wide_file import OTHER_MODEL
from privacyfunnel.protocols.file import from_text, to_text
from privacyfunnel.protocols.wide.by_model import plan_by
from wide_files import gaussian, noisy_tables, people_like, protocol_of, resealed, sealed, wide_protocol, with_step

SURE = 1e-3
"""Of a level: by how much models that differ in the last digits may have another."""
KINDS = {
    "laplace": lambda seed: wide_protocol(seed=seed),
    "gaussian": lambda seed: wide_protocol(gaussian(), seed=seed),
    "three secrets": lambda seed: wide_protocol(gaussian(level=0.2), pf.LIP(0.2), 3, seed=seed),
    "list": lambda seed: wide_protocol(gaussian(level=0.2), pf.LIP(0.2), seed=seed, listed=True),
    "odds": lambda seed: wide_protocol(gaussian(level=0.5), pf.LDP(0.5), seed=seed),
    "one column": lambda seed: wide_protocol(seed=seed, sizes=(5,)),
}

MANY = dict.fromkeys(KINDS, 300) | {"three secrets": 60}
"""Forged files for each kind: mixtures of three secrets take a second."""


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_file_is_certified_and_its_level_is_that_of_the_rows_it_draws(kind):
    for seed in range(2):
        protocol = from_text(to_text(KINDS[kind](seed)))
        certificate = pf.certify(protocol)
        assert certificate.holds
        assert true_level(protocol) <= certificate.level + SURE


def drawn_channel(plan):
    """Q[x′, x] of a plan, by the definition of its groups."""
    W = np.maximum(plan.W, 1).astype(float)
    Q = np.diag(plan.alone / W)
    if plan.rest.sum():
        Q = Q + np.outer(plan.leaving / plan.leaving.sum(), plan.rest / W)
    groups = [([x, z], [m, n]) for x, z, m, n in zip(*vars(plan.pairs).values(), strict=True)]
    ends = plan.groups.start
    groups += [(plan.groups.cells[i:j], plan.groups.mass[i:j]) for i, j in itertools.pairwise(ends)]
    for cells, mass in groups:
        mass = np.array(mass, dtype=float)
        Q[np.ix_(cells, cells)] += np.outer(mass / mass.sum(), mass / W[cells])
    np.add.at(Q, (plan.listed.target, plan.listed.source), plan.listed.mass / W[plan.listed.source])
    return Q


def true_level(protocol):
    """The level of the rows that are drawn, on the model that follows from the file's noisy tables."""
    weights = fitted_model(protocol.by_model.tables).weights().astype(float)
    joint = weights / weights.sum()
    told = joint @ drawn_channel(protocol.by_model.plan).T
    seen = told.sum(axis=0) > 1e-9
    with np.errstate(divide="ignore"):
        lifts = np.log(told[:, seen] / told.sum(axis=0)[seen] / joint.sum(axis=1)[:, None])
    if math.isfinite(protocol.notion.limits.spread):
        return float((lifts.max(axis=0) - lifts.min(axis=0)).max())
    return float(np.abs(lifts).max())


def with_model(protocol, model):
    """The file with another model and all groups that follow from it: what somebody writes who wants to be believed."""
    plan = plan_by(protocol.by_model.rule, model.weights(), model.sizes)
    return with_step(protocol, model=model, groups=plan.digest())


def empty_model(protocol):
    """One by which nothing tells anything, so that nearly all rows stay as they are."""
    return pair_model(
        protocol.by_model.model.sizes,
        list(protocol.by_model.model.sets),
        [np.ones(t.shape) for t in protocol.by_model.model.tables],
    )


@pytest.mark.parametrize("kind", ["laplace", "gaussian", "odds"])
def test_an_empty_model_that_leaves_rows_as_they_are_is_broken(kind, tmp_path, capsys):
    protocol = KINDS[kind](1)
    forged = with_model(protocol, empty_model(protocol))
    assert forged.by_model.kept.rows > 0.99
    (tmp_path / "forged.json").write_text(to_text(forged), encoding="utf-8")
    assert run(["audit", str(tmp_path / "forged.json")]) == 1
    text = capsys.readouterr().out
    assert f"BROKEN, in exact arithmetic: {OTHER_MODEL}" in text
    assert "KEPT" not in text
    assert "Everything that is published" not in text
    assert run(["audit", str(tmp_path / "forged.json"), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["certificate"]["holds"], told["proven"], told["everything_published"]) == (False, [], None)


def test_a_factor_that_is_off_by_more_than_machines_are_is_another_model():
    protocol = wide_protocol(gaussian())
    for times, other in ((1.0, False), (1 + 1e-8, False), (1.001, True)):
        factors = [table.astype(float) for table in protocol.by_model.model.tables]
        factors[0][:, 0] *= times
        model = pair_model(protocol.by_model.model.sizes, list(protocol.by_model.model.sets), factors)
        assert (pf.certify(with_model(protocol, model)).reason == OTHER_MODEL) is other


RESTATED = {
    "sigma": {"noise__drawn__sigma": 1e6},
    "a tenth of ε₀ with the sigma that it takes": {
        "noise__epsilon": 0.1,
        "noise__drawn__sigma": gaussian(epsilon=0.1).sigma,
    },
    "other people, too, whom larger noise would explain": {
        "noise__epsilon": 0.01,
        "noise__drawn__sigma": gaussian(epsilon=0.01).sigma,
        "people": 14_000,
    },
}


@pytest.mark.parametrize("what", RESTATED)
def test_gaussian_noise_cannot_be_restated(what, tmp_path, capsys):
    (tmp_path / "forged.json").write_text(resealed(to_text(wide_protocol(gaussian())), **RESTATED[what]))
    assert run(["audit", str(tmp_path / "forged.json")]) == 1
    assert f"BROKEN, in exact arithmetic: {SMALLER}" in " ".join(capsys.readouterr().out.split())


def test_the_epsilon_of_laplace_noise_cannot_be_restated(tmp_path, capsys):
    text = to_text(wide_protocol())
    for changes in ({"noise__epsilon": 0.1}, {"noise__drawn__choosing": 0.9}):
        (tmp_path / "forged.json").write_text(resealed(text, **changes))
        assert run(["audit", str(tmp_path / "forged.json")]) == 1
        assert f"BROKEN, in exact arithmetic: {SMALLER}" in " ".join(capsys.readouterr().out.split())


def test_a_secret_that_no_table_shows_is_no_ground_for_a_verdict(tmp_path, capsys):
    content = json.loads(to_text(wide_protocol(gaussian())))
    for table in content["chain"][0]["tables"]:
        half = len(table["people"]) // 2
        table["people"][:half] = [-abs(count) for count in table["people"][:half]]
    (tmp_path / "forged.json").write_text(sealed(content))
    assert run(["audit", str(tmp_path / "forged.json")]) == 1


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_audit_says_what_it_proves_and_what_is_the_publishers_word(kind, tmp_path, capsys):
    (tmp_path / "wide.json").write_text(to_text(KINDS[kind](1)), encoding="utf-8")
    assert run(["audit", str(tmp_path / "wide.json")]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "Proven, by the file alone: the model follows from its noisy tables" in words
    assert "Not proven: that noise of the stated size was added" in words
    assert "of rows and" in words
    assert run(["audit", str(tmp_path / "wide.json"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["proven"][0].startswith("Proven")
    assert told["not_proven"][0].startswith("Not proven: that noise of the stated size was added")


def _tables(change):
    """A forgery of some of the noisy tables."""

    def forged(content, rng):
        for table in content["chain"][0]["tables"]:
            table["people"] = [int(count) for count in change(np.array(table["people"]), rng)]

    return forged


def _swap(content, rng):
    i, j = rng.choice(len(content["chain"][0]["tables"]), 2, replace=len(content["chain"][0]["tables"]) < 2)
    one, other = content["chain"][0]["tables"][i], content["chain"][0]["tables"][j]
    one["people"], other["people"] = other["people"], one["people"]


def _drop(content, rng):
    content["chain"][0]["tables"].pop(int(rng.integers(len(content["chain"][0]["tables"]))))
    if rng.random() < 0.5 and content["chain"][0]["factors"]:
        content["chain"][0]["factors"].pop(int(rng.integers(len(content["chain"][0]["factors"]))))


def _cell(content, rng):
    people = content["chain"][0]["tables"][int(rng.integers(len(content["chain"][0]["tables"])))]["people"]
    people[int(rng.integers(len(people)))] += int(rng.normal(0, 300))


def _restated(content, rng):
    content["noise"]["epsilon"] = float(10 ** rng.uniform(-2.5, 0))
    if content["noise"]["drawn"]["kind"] == "discrete Gaussian":
        level = content["promise"]["epsilon"]
        content["noise"]["drawn"]["sigma"] = gaussian(
            len(content["chain"][0]["columns"]), content["noise"]["epsilon"], level
        ).sigma


def _noise(content, rng):
    if content["noise"]["drawn"]["kind"] == "discrete Gaussian":
        what = rng.choice(["sigma", "delta", "choosing"])
        content["noise"]["drawn"][what] *= float(10 ** rng.uniform(-3, 5))
    else:
        content["noise"]["drawn"]["choosing"] = float(rng.uniform(0, content["noise"]["epsilon"]))


def _rule(content, rng):
    rule = content["chain"][0]["rule"]
    if "to_low" in rule:
        name = rng.choice(["to_low", "to_high", "low", "high", "cuts"])
        shares = rule[name] if isinstance(rule[name], list) else [rule[name]]
        changed = [type(share)(min(share * rng.uniform(0, 1.2), 2**30)) for share in shares]
        rule[name] = sorted(changed) if name == "cuts" else changed if isinstance(rule[name], list) else changed[0]
    elif "weights" in rule:
        rule["weights"] = [[max(1, int(w * rng.uniform(0.5, 1))) for w in own] for own in rule["weights"]]
    else:
        rule["to_rest"] = [int(share * rng.uniform(0, 1)) for share in rule["to_rest"]]
        rule["up"] = (rule["up"] or 1.2) * float(rng.uniform(0.9, 3))


def _factors(content, rng):
    for own in content["chain"][0]["factors"]:
        own[:] = [int(min(max(1, factor ** rng.uniform(0, 1)), 2**30)) for factor in own]


FORGERIES = {
    "ε₀": lambda content, rng: content["noise"].update(epsilon=float(10 ** rng.uniform(-2, 1))),
    "ε₀ and its noise": _restated,
    "noise": _noise,
    "people": lambda content, rng: content.update(people=int(content["people"] * 10 ** rng.uniform(-1, 1))),
    "scaled": _tables(lambda people, rng: np.rint(people * rng.uniform(0.5, 2))),
    "shuffled": _tables(lambda people, rng: rng.permutation(people)),
    "flat": _tables(lambda people, rng: np.full(len(people), people.mean())),
    "one cell": _cell,
    "swapped": _swap,
    "factors": _factors,
    "factors of nothing": lambda content, rng: content["chain"][0].update(
        factors=[[2**30] * len(f) for f in content["chain"][0]["factors"]]
    ),
    "exponent": lambda content, rng: content["chain"][0].update(
        exponent=content["chain"][0]["exponent"] - int(rng.integers(1, 60))
    ),
    "rule": _rule,
    "secrets": lambda content, rng: content["secret_readings"].pop(),
    "dropped": _drop,
    "other noise": lambda content, rng: content["noise"].update(drawn={"kind": "discrete Laplace", "choosing": 0.0}),
    "no noise": lambda content, rng: content.update(noise=None, fitted="exact counts"),
    "emptied": lambda content, rng: content["chain"][0].update(tables=[], factors=[]),
    "no columns": lambda content, rng: content["chain"][0].update(columns=[]),
}
"""In the order in which they are done."""


def forged_file(content, rng):
    """Some forgeries under right seals of every kind, or what refuses them."""
    forgeries = list(FORGERIES.values())
    for place in sorted(rng.choice(len(forgeries), int(rng.integers(1, 3)), replace=False).tolist()):
        forgeries[place](content, rng)
    protocol = from_text(sealed(content))
    if rng.random() < 0.5:  # a careful forger fits everything again
        listed, noise = protocol.by_model.redrawn_by == "program", protocol.by_model.noise
        return protocol_of(protocol.by_model.tables, noise, protocol.notion, protocol.by_model.epsilon, listed=listed)
    return with_model(protocol, protocol.by_model.model)


def tables_of(protocol):
    """The part of a file that holds the noisy tables."""
    return json.dumps(json.loads(to_text(protocol))["chain"][0]["tables"])


def _tried(kind, seeds):
    """How many forged files are refused, broken and kept; those that are kept do keep what is said of them."""
    outcomes = {"refused": 0, "broken": 0, "kept": 0}
    for seed in seeds:
        rng, honest = np.random.default_rng(seed), KINDS[kind](seed % 5)
        try:
            forged = forged_file(json.loads(to_text(honest)), rng)
            forged = from_text(to_text(forged))
            certificate = pf.certify(forged)
        except InvalidInput:
            outcomes["refused"] += 1
            continue
        outcomes["kept" if certificate.holds else "broken"] += 1
        if certificate.holds:
            assert true_level(forged) <= certificate.level + SURE
            assert certificate.level <= forged.notion.epsilon
            if to_text(forged).count(tables_of(honest)):  # which have the noise of ε₀ = 1
                assert forged.by_model.epsilon > 0.05 or kind == "one column"
    return outcomes


@pytest.mark.parametrize("kind", KINDS)
def test_no_forged_file_is_said_to_keep_what_its_rows_break(kind):
    outcomes = _tried(kind, range(4 if kind == "three secrets" else 12))
    assert outcomes["refused"] + outcomes["broken"] > outcomes["kept"]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_no_forged_file_of_many_is_said_to_keep_what_its_rows_break(kind):
    outcomes = _tried(kind, range(1_000, 1_000 + MANY[kind]))
    assert min(outcomes.values()) > 0


def test_a_forger_who_makes_up_people_gets_the_level_of_what_was_made_up():
    """Which no file can show: audit says that this is the publisher's word."""
    rng, noise = np.random.default_rng(8), gaussian()
    invented = protocol_of(noisy_tables(rng, people_like(rng, 2), noise), noise, pf.LIP(0.3))
    certificate = pf.certify(from_text(to_text(invented)))
    assert certificate.holds
    assert true_level(invented) <= certificate.level + SURE
    assert isinstance(wide_protocol().by_model.noise, LaplaceNoise)
