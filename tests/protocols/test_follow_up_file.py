"""The file of a follow-up: an exact round trip, all that it follows in it, and no changed digit gets through."""

import json
import re
import warnings

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import ExactFit, InvalidProtocol
from privacyfunnel.protocols import json_file
from privacyfunnel.protocols.file import digest_of, from_text, to_text

JOINT = pf.Joint([[40, 30, 20, 5], [5, 20, 60, 10]], attributes=["town"])
FIRST = pf.optimise(JOINT, pf.LIP(0.3))
SECOND = pf.optimise(JOINT, pf.LIP(0.8), after=FIRST)
THIRD = pf.optimise(JOINT, pf.LIP(1.1), after=SECOND, objective="faithful")


def changed(protocol, change):
    """The text of a file after a change, with a digest that fits."""
    content = json.loads(to_text(protocol))
    content.pop("digest")
    change(content)
    return json_file.written({**content, "digest": json_file.digest_of_content(content)})


@pytest.mark.parametrize("protocol", [SECOND, THIRD])
def test_a_follow_up_comes_back_as_it_was(protocol, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExactFit)
        protocol.save(tmp_path / "next.json")
    loaded = pf.Protocol.load(tmp_path / "next.json")
    assert loaded.step.kind == "by_history"
    assert np.array_equal(loaded.by_history.pairs, protocol.by_history.pairs)
    assert np.array_equal(loaded.by_history.channel.numerators, protocol.by_history.channel.numerators)
    assert np.array_equal(loaded.by_history.histories, protocol.by_history.histories)
    assert loaded.releases == protocol.releases
    assert loaded.objective == protocol.objective
    assert pf.certify(loaded, JOINT).level == pf.certify(protocol, JOINT).level
    assert to_text(loaded) == to_text(protocol)


def test_a_follow_up_fitted_on_exact_counts_warns_when_it_is_saved(tmp_path):
    with pytest.warns(ExactFit):
        SECOND.save(tmp_path / "second.json")


def test_a_follow_up_names_what_it_follows_by_its_digest():
    content = json.loads(to_text(SECOND))
    assert digest_of(FIRST) == content["before"]["digest"]
    assert content["schema"] == "privacyfunnel/1"


@pytest.mark.parametrize("nested", [False, True])
def test_changed_digits_are_refused(nested):
    text = to_text(SECOND)
    places = [match.start() for match in re.finditer(r"\d", text)]
    before = text.index('"before"')
    for place in [p for p in places if (p > before) == nested][::23]:
        other = "1" if text[place] != "1" else "2"
        with pytest.raises(InvalidProtocol):
            from_text(text[:place] + other + text[place + 1 :])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.update(before=None), "follows an earlier release"),
        (lambda c: c["before"].update(people=7), "digest does not fit"),
        (lambda c: c["chain"][0].update(histories=c["chain"][0]["histories"][:-1]), "do not fit together"),
        (lambda c: c["chain"][0].update(histories=[[0]] * len(c["chain"][0]["histories"])), "listed twice"),
        (
            lambda c: c["chain"][0].update(histories=[[*h, 0] for h in c["chain"][0]["histories"]]),
            "does not fit the releases before",
        ),
        (lambda c: c["chain"][0]["histories"][-1].__setitem__(0, 99), "does not fit the releases before"),
        (lambda c: c["chain"][0]["columns"][0].update(name="height"), "released before is not among its columns"),
        (
            lambda c: c["chain"][0]["columns"][0].update(kind="bins", edges=[0, 1, 2, 3, 4], labels=list("abcd")),
            "not cut more finely",
        ),
        (lambda c: c["chain"][0]["channel"][0].append(1), "incomplete"),
        (lambda c: c["chain"][0]["channel"][0].__setitem__(1, 5), "sum to exactly 1"),
        (lambda c: c["chain"][0]["inputs"][0].__setitem__(0, 99), "out of range|out of order"),
        (lambda c: c["chain"][0]["marginal"].__setitem__(0, -1), "not a distribution"),
        (lambda c: c.update(utility_nats=99.0), "above its bound"),
        (lambda c: c.update(objective="faithful"), "do not fit together"),
        (lambda c: c.update(guarantee="nothing"), "not that of the promise"),
        (lambda c: c.update(extra=1), "faults, first in extra"),
        (lambda c: c.update(schema="privacyfunnel/9"), "this version reads"),
        (lambda c: c["chain"][0].update(values=[[0]] * len(c["chain"][0]["values"])), "listed twice"),
    ],
)
def test_parts_that_do_not_fit_are_refused_in_a_line(change, words):
    with pytest.raises(InvalidProtocol, match=words) as refused:
        from_text(changed(SECOND, change))
    assert "\n" not in str(refused.value)


def test_a_chain_without_end_is_refused():
    with pytest.raises(InvalidProtocol, match="too many releases"):
        from_text(to_text(THIRD), most=1)


def test_nothing_of_the_people_is_in_the_file():
    counts = pf.Joint([[4001, 3002], [511, 2003]])
    second = pf.optimise(counts, pf.LIP(0.5), after=pf.optimise(counts, pf.LIP(0.2)))
    for count in ("4001", "3002", "511", "2003"):
        assert not re.search(rf"\b{count}\b", to_text(second))
