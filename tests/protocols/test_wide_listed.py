"""Files that list how each value is released: they come back as they were, and nothing false in them is taken."""

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.distribution.laplace_split import LaplaceNoise
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.protocols.file import from_text, to_text
from privacyfunnel.protocols.wide.by_model import plan_by
from privacyfunnel.protocols.wide.listed import Listed, ListRule
from wide_files import SIZES, gaussian, wide_protocol, with_step
from wide_files import resealed as with_entries

VALUES = 24


@pytest.fixture(scope="module", params=[2, 3], ids=["two secrets", "three secrets"])
def protocol(request):
    return wide_protocol(notion=pf.LIP(0.2), secrets=request.param, listed=True)


@pytest.mark.parametrize("noise", [LaplaceNoise(), gaussian(level=0.2)], ids=str)
@pytest.mark.parametrize("secrets", [2, 3])
def test_a_file_comes_back_as_it_was_and_says_what_redraws_its_rows(noise, secrets):
    protocol = wide_protocol(noise, pf.LIP(0.2), secrets, listed=True)
    text = to_text(protocol)
    read = from_text(text)
    assert read.by_model.noise == noise
    assert to_text(read) == text
    assert read.by_model.rule == protocol.by_model.rule
    assert read.by_model.redrawn_by == "program"
    assert read.by_model.plan.digest() == protocol.by_model.groups


def resealed(protocol, rule):
    """The file with another list, under a right digest."""
    return with_entries(to_text(protocol), **{f"chain__0__rule__{name}": value for name, value in rule.items()})


def test_a_changed_digit_is_refused(protocol):
    text, weight = to_text(protocol), str(protocol.by_model.rule.weights[0][0])
    other = weight[:-1] + str((int(weight[-1]) + 1) % 10)
    with pytest.raises(InvalidProtocol, match="digest"):
        from_text(text.replace(weight, other, 1))


def test_another_list_under_a_new_seal_is_not_the_one_that_was_proven(protocol):
    weights = [list(own) for own in protocol.by_model.rule.weights]
    weights[0][0] -= 1
    with pytest.raises(InvalidProtocol, match="not those that were proven"):
        from_text(resealed(protocol, {"weights": weights})).by_model.plan  # noqa: B018 - computing it is what fails


def forged(protocol, listed):
    """A file with this list, under right seals of every kind; its plan is not looked at."""
    rule = ListRule.of(listed, protocol.by_model.model.n_s, VALUES)
    plan = plan_by(rule, protocol.by_model.model.weights(), SIZES)
    return to_text(with_step(protocol, rule=rule, groups=plan.digest()))


def test_a_forged_list_that_breaks_the_promise_is_read_and_audit_says_broken(protocol, tmp_path, capsys):
    W, path = protocol.by_model.plan.W, tmp_path / "forged.json"
    every = np.arange(VALUES)
    path.write_text(forged(protocol, Listed.of(every, every, W - 1)), encoding="utf-8")  # all but nothing stays
    assert run(["audit", str(path)]) == 1
    assert "BROKEN, in exact arithmetic: a group of values tells more than is promised" in capsys.readouterr().out
    path.write_text(forged(protocol, Listed.of(every, every, W // 1_000)), encoding="utf-8")  # and a thousandth
    assert run(["audit", str(path)]) == 1


def changed_at(protocol, name, value, place=0):
    rows = [list(own) for own in getattr(protocol.by_model.rule, name)]
    rows[place] = value(rows[place])
    return {name: rows}


FAULTS = {
    "negative": lambda p: changed_at(p, "weights", lambda own: [-own[0], *own[1:]]),
    "nothing": lambda p: changed_at(p, "weights", lambda own: [0, *own[1:]]),
    "huge": lambda p: changed_at(p, "weights", lambda own: [10**30, *own[1:]]),
    "beyond 64 bits": lambda p: changed_at(p, "weights", lambda own: [2**64 + 5, *own[1:]]),
    "broken number": lambda p: changed_at(p, "weights", lambda own: [0.5, *own[1:]]),
    "text": lambda p: changed_at(p, "weights", lambda own: ["1", *own[1:]]),
    "truth": lambda p: changed_at(p, "weights", lambda own: [True, *own[1:]]),
    "a value that there is not": lambda p: changed_at(p, "targets", lambda own: [*own[:-1], VALUES]),
    "a value below all": lambda p: changed_at(p, "targets", lambda own: [-1, *own[1:]]),
    "twice": lambda p: (
        changed_at(p, "targets", lambda own: [own[0], *own]) | changed_at(p, "weights", lambda own: [1, *own])
    ),
    "in disorder": lambda p: changed_at(p, "targets", lambda own: own[::-1] if len(own) > 1 else [5, 3]),
    "no weight": lambda p: changed_at(p, "targets", lambda own: [*own, VALUES - 1]),
    "too few values": lambda p: {"targets": [[]], "weights": [[]]},
    "too many values": lambda p: {"targets": [*p.by_model.rule.targets, []], "weights": [*p.by_model.rule.weights, []]},
    "no list": lambda p: {"targets": 5},
    "one secret": lambda p: {"secrets": 1},
    "another secret": lambda p: {"secrets": p.by_model.rule.secrets + 1},
    "something else": lambda p: {"more": 1},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_list_that_makes_no_sense_is_refused_in_a_line(protocol, tmp_path, capsys, fault):
    path = tmp_path / "forged.json"
    path.write_text(resealed(protocol, FAULTS[fault](protocol)), encoding="utf-8")
    with pytest.raises(InvalidProtocol) as refused:
        from_text(path.read_text(encoding="utf-8"))
    assert "\n" not in str(refused.value)
    for command in (["audit", str(path)], ["sanitise", str(path), "--protocol", str(path), "-o", f"{path}.csv"]):
        assert run(command) == 2
        error = capsys.readouterr().err
        assert len(error.strip().splitlines()) == 1
        assert "Traceback" not in error


def test_a_list_of_more_than_there_is_draws_nothing(protocol, tmp_path, capsys):
    """Sums of it are too large, for a row or for what is released: no row is drawn by it, proven or not."""
    W = protocol.by_model.plan.W.tolist()
    crowded = {"targets": [[0]] * VALUES, "weights": [[w] for w in W]}
    heavy = {"targets": [[0]] * VALUES, "weights": [[2**60]] * VALUES}
    table, path = tmp_path / "people.csv", tmp_path / "forged.json"
    table.write_text("a,b,c,ill\n0,0,0,0\n")
    for rule in (crowded, heavy):
        path.write_text(resealed(protocol, rule), encoding="utf-8")
        assert run(["sanitise", str(table), "--protocol", str(path), "-o", str(tmp_path / "out.csv")]) == 2
        assert "than there is" in capsys.readouterr().err
        assert not (tmp_path / "out.csv").exists()
        assert run(["audit", str(path)]) == 2
