"""Files of wide protocols: they come back as they were, nothing in them can be changed, and groups are recomputed."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.distribution.column import Column
from privacyfunnel.distribution.gaussian import noise_for
from privacyfunnel.distribution.pair_model import pair_model
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.optimiser.wide.mixtures import mixing_rule_for
from privacyfunnel.optimiser.wide.shares import rule_for
from privacyfunnel.promises.notion import factor
from privacyfunnel.proof.wide import certify_plan
from privacyfunnel.protocols.any_file import load
from privacyfunnel.protocols.json_file import digest_of_content, is_wide, written
from privacyfunnel.protocols.wide.file import from_text, to_text
from privacyfunnel.protocols.wide.kept import kept_by
from privacyfunnel.protocols.wide.mixing_rule import mixed_plan_of
from privacyfunnel.protocols.wide.protocol import WideProtocol
from privacyfunnel.protocols.wide.rule import plan_of

SIZES = (3, 2, 4)


@pytest.fixture(scope="module")
def protocol():
    rng = np.random.default_rng(1)
    sets = [(0,), (0, 1), (1, 2)]
    model = pair_model(SIZES, sets, [rng.uniform(0.1, 1, (2, *(SIZES[j] for j in own))) for own in sets])
    columns = tuple(
        Column(name=name, kind="integer", labels=tuple(range(k))) for name, k in zip("abc", SIZES, strict=True)
    )
    secret = Column(name="ill", kind="integer", labels=(0, 1)).reading()
    rule = rule_for(pf.LIP(0.3).limits, model.weights(), SIZES)
    plan = plan_of(rule, model.weights(), SIZES)
    kept = kept_by(plan, SIZES)
    return WideProtocol(pf.LIP(0.3), columns, model, rule, kept, "ill", (secret,), 1_000, 1.0, True, plan.digest())


def test_a_file_comes_back_as_it_was(protocol, tmp_path):
    text = to_text(protocol)
    read = from_text(text)
    assert to_text(read) == text
    assert read.plan.digest() == protocol.groups
    assert read.notion == protocol.notion
    path = tmp_path / "wide.json"
    path.write_text(text, encoding="utf-8")
    assert is_wide(path)
    assert not is_wide(tmp_path / "nothing.json")


def resealed(text, **changes):
    content = json.loads(text)
    content.pop("digest")
    for path, value in changes.items():
        *way, last = path.split("__")
        place = content
        for step in way:
            place = place[int(step) if step.isdigit() else step]
        place[last] = value
    return written({**content, "digest": digest_of_content(content)})


@pytest.fixture(scope="module")
def gaussian(protocol):
    return replace(protocol, noise=noise_for(2, 1.0, 1e-6, 0.3, 0.05))


def test_a_file_with_gaussian_noise_comes_back_as_it_was_and_states_it(gaussian):
    text = to_text(gaussian)
    read = from_text(text)
    assert to_text(read) == text
    assert read.noise == gaussian.noise
    assert read.delta == 1e-6
    assert json.loads(text)["noise"]["kind"] == "discrete Gaussian"
    assert "δ₀ = 1e-06" in read.everything()


def test_a_file_without_gaussian_noise_is_written_and_read_as_before(protocol):
    content = json.loads(to_text(protocol))
    assert content["schema"] == "privacyfunnel-wide/2"
    assert "noise" not in content
    assert "δ₀ = 0)" in from_text(to_text(protocol)).everything()


@pytest.mark.parametrize(
    "changes",
    [
        {"noise__sigma": 12.0},
        {"noise__sigma": 1e-3},
        {"noise__delta": 1e-7},
        {"noise__delta": 0.5},
        {"noise__delta": 0.0},
        {"noise__tables": 1},
        {"noise__choosing": 0.0, "epsilon": 0.9},
        {"noise__choosing": 0.5},
        {"noise__kind": "none"},
        {"noise": None},
        {"epsilon": None},
        {"schema": "privacyfunnel-wide/2"},
    ],
    ids=str,
)
def test_noise_that_does_not_have_what_the_file_says_is_refused_in_a_line(gaussian, changes):
    with pytest.raises(InvalidProtocol) as refused:
        from_text(resealed(to_text(gaussian), **changes))
    assert "\n" not in str(refused.value)


def test_a_changed_digit_is_refused(protocol):
    text = to_text(protocol)
    with pytest.raises(InvalidProtocol, match="digest"):
        from_text(text.replace('"people": 1000', '"people": 1001'))


def test_another_rule_or_model_under_a_new_seal_has_other_groups_and_is_refused(protocol):
    text = to_text(protocol)
    other = list(protocol.rule.to_low)
    at = int(np.argmax(other))
    other[at] //= 2
    for changes in ({"rule__to_low": other}, {"exponent": protocol.model.exponent + 1}):
        with pytest.raises(InvalidProtocol, match="not those that were proven"):
            from_text(resealed(text, **changes)).plan  # noqa: B018 - computing it is what fails


@pytest.mark.parametrize(
    "changes",
    [
        {"rule__to_low": [0]},
        {"rule__order": [0, 0, 1]},
        {"rule__low": 0.9},
        {"rule__cuts": [0.5, 0.4]},
        {"exponent": 5_000},
        {"tables__0__entries": [0, 1, 2, 3, 4, 5]},
        {"tables__0__columns": [7]},
        {"guarantee": "Nothing can happen to you."},
        {"secret": "wealth"},
        {"epsilon": -1.0},
        {"more": 1},
        {"kept__columns": [0.5]},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_in_a_line(protocol, changes):
    with pytest.raises(InvalidProtocol) as refused:
        from_text(resealed(to_text(protocol), **changes))
    assert "\n" not in str(refused.value)


@pytest.fixture(scope="module")
def of_three():
    rng = np.random.default_rng(2)
    sets = [(0,), (0, 1), (1, 2)]
    model = pair_model(SIZES, sets, [rng.uniform(0.1, 1, (3, *(SIZES[j] for j in own))) for own in sets])
    columns = tuple(
        Column(name=name, kind="integer", labels=tuple(range(k))) for name, k in zip("abc", SIZES, strict=True)
    )
    secret = Column(name="ill", kind="integer", labels=(0, 1, 2)).reading()
    rule = mixing_rule_for(pf.LIP(0.2).limits, model.weights(), SIZES)
    plan = mixed_plan_of(rule, model.weights(), SIZES)
    kept = kept_by(plan, SIZES)
    return WideProtocol(pf.LIP(0.2), columns, model, rule, kept, "ill", (secret,), 1_000, 1.0, True, plan.digest())


def test_a_file_about_three_secrets_comes_back_as_it_was(of_three):
    text = to_text(of_three)
    read = from_text(text)
    assert to_text(read) == text
    assert '"privacyfunnel-wide/2"' in text
    assert read.rule == of_three.rule
    assert read.plan.digest() == of_three.groups


def test_another_rule_about_three_secrets_under_a_new_seal_is_refused(of_three):
    with pytest.raises(InvalidProtocol, match="not those that were proven"):
        from_text(resealed(to_text(of_three), rule__spare_bits=0)).plan  # noqa: B018 - computing it is what fails


@pytest.mark.parametrize("changes", [{"up": 1.5}, {"down": 0.5}, {"up": 1.25, "down": 0.8}, {"spare_bits": 0}], ids=str)
def test_a_rule_that_aims_beyond_the_promise_under_new_seals_is_read_but_not_proven(of_three, changes):
    rule = replace(of_three.rule, **changes)
    plan = mixed_plan_of(rule, of_three.model.weights(), SIZES)
    forged = from_text(to_text(replace(of_three, rule=rule, groups=plan.digest())))
    honest = "spare_bits" in changes  # more in the group of everything is no lie
    assert certify_plan(forged.plan, forged.notion).holds is honest


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("classes", [0, 99]),
        ("classes", [0, 0]),
        ("classes", [0, -1]),
        ("proportions", [-1.0]),
        ("proportions", [1.0, 1.0]),
        ("shares", [2**30 + 1, 0]),
        ("shares", [1]),
    ],
)
def test_mixtures_that_make_no_sense_are_refused_in_a_line(of_three, place, value):
    text = to_text(of_three)
    one = {"classes": [0, 1], "proportions": [1.0], "shares": [1, 1], place: value}
    with pytest.raises(InvalidProtocol) as refused:
        from_text(resealed(text, rule__stages=[[one]], rule__reaches=[1]))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"rule__prior": [0.5, 0.5, 0.0]},
        {"rule__prior": [0.5, 0.5]},
        {"rule__centres": [[1.0, 1.0]]},
        {"rule__to_rest": [0]},
        {"rule__spare_bits": 63},
        {"rule__up": -1.0},
        {"rule__up": None, "rule__down": None, "rule__apart": None},
        {"rule__order": [0, 0, 1]},
        {"schema": "privacyfunnel-wide/1"},
        {"schema": "privacyfunnel-wide/3"},
    ],
    ids=str,
)
def test_a_rule_about_three_secrets_that_makes_no_sense_is_refused_in_a_line(of_three, changes):
    with pytest.raises(InvalidProtocol) as refused:
        from_text(resealed(to_text(of_three), **changes))
    assert "\n" not in str(refused.value)


def test_other_readers_say_who_takes_such_files(protocol, tmp_path):
    path = tmp_path / "wide.json"
    path.write_text(to_text(protocol), encoding="utf-8")
    with pytest.raises(InvalidProtocol, match="only funnel sanitise, audit, estimate and regress take"):
        load(path)
    assert isinstance(pf.Protocol.load(path), WideProtocol)


def test_words_tell_a_private_model_from_one_without_noise(protocol):
    assert "e^(ε+ε₀), ε₀ = 1, δ₀ = 0" in protocol.everything()
    assert "no bound" in replace(protocol, epsilon=None).everything()
    assert "not protected" in replace(protocol, declared=False).everything()


def test_words_tell_expectations_that_are_fixed_from_those_that_the_model_gives(protocol, gaussian):
    """Of the latter theorem 2 is not proven where noise is Gaussian, and theorem 3 is (docs/wide.md)."""
    told, records = gaussian.everything(), 2 * math.prod(gaussian.model.sizes)
    more = gaussian.noise.whatever_expected(records)
    assert more > 1.0
    fixed, _, by_model = told.partition(f"by at most a factor {factor(gaussian.notion.epsilon + more)} (e^(ε+ε₁)")
    assert "was fixed before the model was made" in fixed
    assert "the published model says" not in fixed
    assert by_model.index("if they expect of this person what the published model says") < by_model.index("e^ε₀")
    assert "fixed before" not in protocol.everything()  # Laplace noise: the theorem is about each file by itself
    assert "may learn more from a row" in told
