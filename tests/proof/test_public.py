"""The public audit: a private fit is proven by its own file, and a file that does not follow from its counts is not."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.proof.certificate import audit_publicly
from privacyfunnel.proof.public import published_joint
from privacyfunnel.protocols import file as protocol_file
from privacyfunnel.protocols.everything import everything
from privacyfunnel.tables.counting import count_table
from privacyfunnel.tables.private_counts import private

COUNTS = np.array([[[90, 30, 4], [20, 40, 1]], [[10, 60, 0], [30, 5, 25]]])


@pytest.fixture
def joint():
    return pf.Joint(COUNTS, attributes=["sex", "town"])


ROBUSTLY = pytest.param(pf.robust(pf.LIP(0.9)), marks=pytest.mark.long)


@pytest.mark.parametrize("objective", ["information", "faithful"])
@pytest.mark.parametrize("promise", [pf.LIP(0.4), pf.LDP(0.7), pf.SRLIP(0.8), pf.PML(0.5), ROBUSTLY])
def test_anybody_can_check_a_private_fit_with_its_file_alone(joint, promise, objective, tmp_path):
    at_least = 0 if len(promise.views(joint)) > 1 or promise.confidence else 10
    protocol = pf.optimise(private(joint, 1.0, at_least=at_least), promise, objective=objective)
    protocol.save(tmp_path / "protocol.json")
    loaded = pf.Protocol.load(tmp_path / "protocol.json")
    found, certificate = audit_publicly(loaded)
    assert certificate
    assert found.n_x == protocol.block.channel.n_inputs or promise.confidence
    assert loaded.fitted == "private counts"
    assert loaded.people == COUNTS.sum()


def test_a_channel_that_does_not_follow_from_the_counts_fails(joint):
    protocol = pf.optimise(private(joint, 1.0), pf.LIP(0.2))
    leaky = pf.optimise(private(joint, 1.0), pf.LIP(3.0))
    assert not audit_publicly(replace(protocol, step=leaky.block, noise=leaky.noise))[1]


def test_a_fit_on_exact_counts_cannot_be_checked_without_its_table(joint):
    with pytest.raises(InvalidProtocol, match="original table"):
        published_joint(pf.optimise(joint, pf.LIP(0.5)))


def test_everything_in_the_file_is_computed_from_the_noisy_counts(joint, monkeypatch):
    """Two tables with the same number of people and the same noisy counts give the same file, to the last digit."""
    noisy = private(joint, 1.0).noise.counts
    monkeypatch.setattr("privacyfunnel.tables.private_counts.noised", lambda counts, epsilon: noisy.copy())
    other = pf.Joint(COUNTS[::-1], attributes=["sex", "town"])
    for objective in ("information", "faithful"):
        for promise, at_least in ((pf.LIP(0.4), 10), (pf.SRLIP(0.8), 0), (pf.robust(pf.LIP(0.9)), 0)):
            files = [
                protocol_file.to_text(pf.optimise(private(one, 1.0, at_least=at_least), promise, objective=objective))
                for one in (joint, other)
            ]
            assert files[0] == files[1]


def test_a_joint_of_noisy_counts_cannot_get_noise_again(joint):
    with pytest.raises(ValueError, match="noise already"):
        private(private(joint, 1.0), 1.0)


def test_rare_combinations_and_side_channels_do_not_go_together(joint):
    with pytest.raises(ValueError, match="at_least"):
        pf.optimise(private(joint, 1.0, at_least=10), pf.SRLIP(0.5))
    with pytest.raises(ValueError, match="at-least"):
        pf.optimise(private(joint, 1.0, at_least=10), pf.robust(pf.LIP(0.5)))


@pytest.mark.parametrize(
    "change",
    [
        {"noise": None},
        {"fitted": "exact counts"},
        {"people": 5},
        lambda c: c["noise"]["counts"][0].append(1),
        lambda c: c["noise"]["counts"].append([0]),
        lambda c: c["noise"].update(attributes=["sex", "age"]),
        lambda c: c["noise"].update(combinations=[[9, 9]] * 6),
        lambda c: c["noise"].update(epsilon=0),
        lambda c: c["noise"].update(delta=1),
        lambda c: c["noise"]["counts"][0].__setitem__(0, 10**15),
    ],
)
def test_noisy_counts_that_do_not_fit_are_refused(joint, change):
    content = json.loads(protocol_file.to_text(pf.optimise(private(joint, 1.0), pf.LIP(0.4))))
    content.pop("digest")
    content.update(change) if isinstance(change, dict) else change(content)
    text = protocol_file.written({**content, "digest": protocol_file.digest_of_content(content)})
    with pytest.raises(InvalidProtocol):
        protocol_file.from_text(text)


def forged(protocol, change):
    """The file of a protocol after a change, with a digest that fits."""
    content = json.loads(protocol_file.to_text(protocol))
    content.pop("digest")
    change(content)
    digest = protocol_file.digest_of_content(content)
    return protocol_file.from_text(protocol_file.written({**content, "digest": digest}))


def identity(content):
    """Every row stays as it is, which no promise of a small ε allows."""
    (block,) = content["chain"]
    n = len(block["values"])
    block.update(outputs=n, channel=[[x, 2**32] for x in range(n)], labels=list(range(n)), draw=None)
    block["marginal"] = [2**32 // n + (x < 2**32 % n) for x in range(n)]


FORGERIES = {
    "as it is": lambda c: None,
    "a threshold that leaves one value": lambda c: c.update(at_least=149),
    "one combination told": lambda c: c["noise"].update(combinations=[[0, 0]], counts=[[200], [20]], delta=1e-9),
    "one combination told without δ": lambda c: c["noise"].update(combinations=[[0, 0]], counts=[[90], [10]]),
    "one person": lambda c: (c.update(people=1), c["noise"].update(people=1)),
    "more people than there are": lambda c: (c.update(people=2**53), c["noise"].update(people=2**53)),
    "counts that overflow": lambda c: c["noise"]["counts"][0].__setitem__(0, -(2**63)),
    "values that nobody has": lambda c: c["noise"].update(
        counts=[[0] * 3 + row[3:] for row in c["noise"]["counts"]], people=sum(sum(r[3:]) for r in c["noise"]["counts"])
    ),
    "columns in another order": lambda c: c["noise"].update(attributes=["town", "sex"]),
    "one value of the secret": lambda c: c["noise"].update(counts=c["noise"]["counts"][:1]),
    "rare combinations as strangers": lambda c: c["chain"][0].update(nearest=False),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_file_does_not_pass(joint, forgery):
    protocol = pf.optimise(private(joint, 5.0), pf.LIP(0.1))

    def change(content):
        identity(content)
        FORGERIES[forgery](content)

    try:
        kept = bool(audit_publicly(forged(protocol, change))[1])
    except ValueError:
        kept = False
    assert not kept


def test_a_rare_secret_that_does_not_show_is_said_to_be_unprotected():
    counts = np.concatenate([COUNTS * 10, np.array([[[1, 0, 0], [0, 1, 0]]])])
    protocol = pf.optimise(private(pf.Joint(counts, attributes=["sex", "town"]), 1.0), pf.LIP(0.4))
    told = everything(protocol)
    assert (told.faint, told.secrets) == (1, 3)
    assert "One of the 3 values of the secret is too rare" in told.words()


def test_a_secret_that_is_released_itself_is_not_fitted_privately():
    table = {"ill": ["yes", "no"] * 50, "town": ["a", "b", "b", "a"] * 25}
    counted = count_table(pd.DataFrame(table), "ill", ["ill", "town"], allow_secret_attribute=True)
    with pytest.raises(ValueError, match="exact-fit"):
        counted.safely(1.0)
