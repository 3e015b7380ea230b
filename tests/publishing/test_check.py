"""check.py: the promise of a file in whole numbers, with the verdict of `funnel audit` and no line of its code."""

import ast
import json
import math
import subprocess
import sys
import time
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import checked_files as files
import forged_files
import privacyfunnel as pf
from privacyfunnel.distribution.nearest import read_as
from privacyfunnel.distribution.noise import weights_of
from privacyfunnel.promises.notions import notion_from
from privacyfunnel.promises.several import Promises
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.public import published_joint
from privacyfunnel.protocols.block import Block
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.digits import coarse_marginal
from privacyfunnel.protocols.file import to_text
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.publishing import check
from wide_files import wide_protocol

SOURCE = Path(check.__file__)
FEW, MANY = 300, 7_000
"""Seeds of random files that both judge; some make no file."""
DIGITS = Context(prec=150)


@pytest.fixture
def judged(tmp_path, capsys):
    """Exit code and words of check.py for the text of a file."""

    def run(text):
        (tmp_path / "protocol.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        code = check.main([str(tmp_path / "protocol.json")])
        return code, capsys.readouterr()

    return run


def differing(judged, seeds, make):
    """The seeds of files on which check.py and the package have different verdicts; how many both accept and refuse."""
    wrong, kept, refused = [], 0, 0
    for seed in seeds:
        text = make(np.random.default_rng(seed))
        if text is None:
            continue
        mine, own = judged(text)[0] == 0, files.audited(text)
        wrong += [seed] if mine != own else []
        kept, refused = kept + own, refused + (not own)
    return wrong, kept, refused


def single(rng):
    """A file of a single release, good, broken or forged."""
    protocol = files.random_protocol(rng)
    return protocol and files.forged(rng, files.to_text(protocol))


def following(rng):
    """A file of a follow-up, good, broken or forged."""
    protocol = files.random_protocol(rng)
    text = protocol and files.random_follow_up(rng, protocol)
    return text and files.forged(rng, text)


def in_parts(first, last, size):
    """Seeds for a quick test, and those of long ones."""
    more = [range(k, min(last, k + size)) for k in range(first, last, size)]
    return [range(first), *(pytest.param(seeds, id=str(seeds.start), marks=pytest.mark.long) for seeds in more)]


@pytest.mark.parametrize("seeds", in_parts(FEW, FEW + MANY, 500))
def test_random_broken_and_forged_files_get_the_verdict_of_the_package(judged, seeds):
    wrong, kept, refused = differing(judged, seeds, single)
    assert wrong == []
    assert kept > len(seeds) / 8
    assert refused > len(seeds) / 4
    assert kept + refused > len(seeds) * 0.75


@pytest.mark.parametrize("seeds", in_parts(60, 1_260, 400))
def test_random_follow_ups_get_the_verdict_of_the_package(judged, seeds):
    wrong, kept, refused = differing(judged, seeds, following)
    assert wrong == []
    assert kept > len(seeds) / 30
    assert refused > len(seeds) / 15


def borders(seeds):
    """Files of channels that just keep their promise, and of the same with one unit of 2³² elsewhere."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        protocol = files.random_protocol(rng)
        if protocol is None or protocol.block.exact:
            continue
        joint = published_joint(protocol)
        whole = joint.before_gathering or joint
        found = files.at_the_border(protocol, lambda one, whole=whole: bool(certify(one, whole)))
        if found is not None:
            yield found


@pytest.mark.parametrize("seeds", in_parts(60, 1_060, 250))
def test_one_unit_beyond_the_border_is_refused_and_the_last_one_before_it_is_not(judged, seeds):
    found = list(borders(seeds))
    assert len(found) > len(seeds) / 10
    for kept, broken in found:
        assert judged(kept)[0] == 0
        assert judged(broken)[0] == 1


def test_a_bound_of_e_to_the_epsilon_in_the_wrong_direction_would_be_noticed(judged, monkeypatch):
    exact = check.e_below
    monkeypatch.setattr(check, "e_below", lambda epsilon: exact(epsilon) * (1 + Fraction(1, 2**24)))
    assert any(judged(broken)[0] == 0 for _, broken in borders(range(60)))


@given(st.floats(0, 60) | st.floats(0, 1e-6))
@example(0.0)
@example(1e-8)
@example(9_999.5)
@example(5e-324)
def test_the_bound_of_e_to_the_epsilon_is_below_it_and_near(epsilon):
    bound = check.e_below(epsilon)
    truth = Fraction(DIGITS.exp(Decimal(epsilon)))
    assert 1 <= bound < truth or bound == truth == 1
    assert truth - bound < truth / 10**60


def test_beyond_the_largest_exponent_the_bound_is_smaller_still():
    assert check.e_below(1e300) == check.e_below(10_000)


@settings(max_examples=30)
@given(st.integers(1, 10**30), st.integers(1, 10**30))
def test_a_level_is_the_least_billionth_that_suffices(a, b):
    over, under = max(a, b), min(a, b)
    found = round(check.level(over, under) * 10**9)
    assert over <= under * check.e_below(Fraction(found, 10**9))
    assert found == 0 or over > under * check.e_below(Fraction(found - 1, 10**9))


def test_the_level_is_that_of_the_certificate(judged):
    several = 0
    for seed in range(120):
        protocol = files.random_protocol(np.random.default_rng(seed))
        if protocol is None or protocol.notion.name not in ("lip", "ldp", "pml", "srlip", "srldp"):
            continue
        if not protocol.notion.simple or protocol.block.draw is not None:
            continue
        own, (code, said) = certify(protocol), judged(files.to_text(protocol))
        told = max(float(line.split(": ")[1].split()[0]) for line in said.out.splitlines() if line.startswith("level"))
        assert told == pytest.approx(own.level, abs=2e-9)
        assert (code == 0) == own.holds
        several += 1
    assert several > 20


@pytest.mark.parametrize("exact", [False, True])
def test_what_is_nearest_is_that_of_the_package(exact):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        columns = [files.column(rng, name) for name in ("a", "b", "c")]
        whole = np.stack(np.unravel_index(np.arange(math.prod(sizes := [*map(len, columns)])), sizes), axis=1)
        listed = whole[rng.permutation(len(whole))[: rng.integers(1, 12)]]
        names = ["b"] if exact else []
        own = read_as(whole, listed, columns, near=True, exact=names)
        read = check.reader([*map(tuple, listed.tolist())], [one.model_dump() for one in columns], True, names)
        assert [read(tuple(x)) for x in whole.tolist()] == own.tolist()


def test_it_needs_nothing_but_the_standard_library():
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {alias.name for node in named if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module.partition(".")[0] for node in named if isinstance(node, ast.ImportFrom)}
    assert modules <= sys.stdlib_module_names


@pytest.mark.parametrize("kind", forged_files.FORGERIES)
def test_every_forged_file_gets_the_verdict_of_the_package(judged, kind):
    differing = []
    for name, text in forged_files.forged(kind):
        code, said = judged(text)
        left = said.out.startswith(check.LEFT)
        differing += [name] if (code == 0) != files.audited(text) and not left else []
        assert code != 0 or kind != "by_model"
    assert differing == []


@pytest.mark.parametrize("kind", ["channel", "by_history", "filled"])
def test_what_stands_beside_the_promise_is_said_not_to_be_checked(judged, kind):
    for _, text in forged_files.told_beside(kind):
        code, said = judged(text)
        assert code == 0
        assert check.BESIDE in said.out
        assert (check.BESIDE_FILL in said.out) == (kind == "filled")
        assert not files.audited(text)


BYTES = {
    "nothing": "",
    "no JSON": "{",
    "another file": '{"schema": "other"}',
    "a list": "[]",
    "deep": "[" * 100_000,
    "an entry twice": '{"schema": "privacyfunnel/1", "schema": "privacyfunnel/1"}',
    "no number": '{"schema": "privacyfunnel/1", "people": NaN}',
}


@pytest.mark.parametrize("name", BYTES)
def test_what_is_no_protocol_is_one_clear_line(judged, name):
    code, said = judged(BYTES[name])
    assert code == 2
    assert said.out == ""
    assert said.err.count("\n") == 1


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path, capsys):
    assert check.main([str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.fixture(scope="module")
def good():
    """The text of a file whose promise is kept."""
    made = (files.random_protocol(np.random.default_rng(seed)) for seed in range(100))
    return next(text for one in made if one for text in [files.to_text(one)] if files.audited(text))


def test_a_changed_digit_is_refused(judged, good):
    assert judged(good)[0] == 0
    for place in [i for i, sign in enumerate(good) if sign.isdigit()][::17]:
        other = "1" if good[place] != "1" else "2"
        assert judged(good[:place] + other + good[place + 1 :])[0] in (1, 2)


SPELLINGS = {
    "a space less": lambda text: text.replace(": ", ":", 1),
    "a line more": lambda text: text + "\n",
    "a letter by its number": lambda text: text.replace("privacyfunnel/", "\\u0070rivacyfunnel/", 1),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_another_spelling_of_the_same_content_is_refused(judged, good, name):
    assert judged(SPELLINGS[name](good))[0] == 1


def test_line_ends_of_other_systems_are_read(judged, good):
    assert judged(good.replace("\n", "\r\n"))[0] == 0


def alone(folder, name="protocol.json"):
    """check.py of a folder, in a Python without any packages."""
    command = [sys.executable, "-I", "-S", "check.py", name]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)


def test_a_published_folder_proves_itself_without_any_package(published):
    done = alone(published)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("KEPT: ")
    assert json.loads((published / "protocol.json").read_text(encoding="utf-8"))["digest"] in done.stdout
    assert (published / "check.py").read_bytes() == SOURCE.read_bytes()
    assert "python3 check.py protocol.json" in (published / "README.md").read_text(encoding="utf-8")


def test_a_forged_file_in_a_published_folder_is_found_out(published, tmp_path):
    content = json.loads((published / "protocol.json").read_text(encoding="utf-8"))
    step = content["chain"][0]
    n = len(step["values"])
    step.update(channel=[[x, 2**32] for x in range(n)], draw=None)
    (tmp_path / "protocol.json").write_text(files.sealed(content), encoding="utf-8")
    (tmp_path / "check.py").write_bytes(SOURCE.read_bytes())
    done = alone(tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("BROKEN: a row tells more than is promised.")
    assert done.stderr == ""
    assert alone(tmp_path, "none.json").returncode == 2


COUNTS = np.array([[[90, 30, 4], [20, 40, 1]], [[10, 60, 0], [30, 5, 25]]])


def undecided():
    """Protocols of which something is left to the package."""
    exact = pf.Joint(COUNTS, attributes=["sex", "town"])
    noisy = files.noise_joint(COUNTS, ["sex", "town"])
    return {
        "exact counts": lambda: pf.optimise(exact, pf.LIP(0.5)),
        "a confidence": lambda: replace(pf.optimise(noisy, pf.LIP(0.5)), notion=pf.robust(pf.LIP(0.5), 0.95, "nested")),
        "a model": wide_protocol,
    }


@pytest.mark.parametrize("name", undecided())
def test_what_is_left_to_the_package_is_said_and_is_no_proof(judged, name):
    code, said = judged(to_text(undecided()[name]()))
    assert code == 1
    assert said.out.startswith("NOT DECIDED, no flaw found; left to funnel audit: ")


def test_a_robust_promise_that_breaks_on_the_very_counts_is_broken(judged):
    text = to_text(undecided()["a confidence"]())
    content = json.loads(text)
    n = len(content["chain"][0]["values"])
    content["chain"][0].update(outputs=n, labels=list(range(n)), channel=[[x, 2**32] for x in range(n)], draw=None)
    content["chain"][0]["marginal"] = [2**32 - n + 1, *[1] * (n - 1)]
    assert not files.audited(files.sealed(content))
    assert judged(files.sealed(content))[1].out.startswith("BROKEN: a row tells more than is promised.")


SECONDS = 20
"""Of CPU, many times what it takes: seconds, not minutes."""


@pytest.mark.long
def test_a_channel_of_a_thousand_values_takes_seconds(judged):
    rng = np.random.default_rng(1)
    joint = files.noise_joint(rng.multinomial(100_000, np.full(2_400, 1 / 2_400)).reshape(2, 10, 10, 12), "abc")
    n, near = joint.n_x, files.channel_of(rng, joint.n_x, joint.n_x, 0.01)
    marginal = coarse_marginal(np.full(n, 1 / n), None)
    block = Block(joint.columns, joint.codes, Channel.from_numerators(near), np.arange(n), marginal, None, True)
    made = Protocol(
        pf.LIP(2.0), block, 0.1, 0.2, 1.0, "by chance", "S", (), fitted="private counts", people=100_000,
        noise=joint.noise,
    )  # fmt: skip
    text = to_text(made)
    begun = time.process_time()
    code, said = judged(text)
    assert time.process_time() - begun < SECONDS
    assert code == 0, said.out
    assert n > 1_000


def of_two_secrets():
    """The content of a file about two secrets of two values each, in this order, read from a table."""
    counts = np.array([[400, 300, 90], [200, 100, 250], [100, 60, 30], [30, 150, 200]])
    joint = files.noise_joint(counts, ["town"])
    content = json.loads(to_text(pf.optimise(joint, pf.LIP(0.2))))
    both = Promises.of((("ill", pf.LIP(0.2)), ("poor", pf.LIP(0.5))), (2, 2))
    readings = [{"name": name, "kind": "boolean", "edges": [], "missing": []} for name in ("ill", "poor")]
    content["chain"][0]["draw"] = None
    return (
        content
        | {"promise": both.as_dict(), "guarantee": both.words(), "secret": "ill and poor"}
        | {"secret_readings": readings}
    )


def test_promises_about_several_secrets_are_taken_in_the_order_in_which_these_were_read(judged):
    content = of_two_secrets()
    assert files.audited(files.sealed(content))
    assert judged(files.sealed(content))[0] == 0
    content["promise"]["each"].reverse()
    content["guarantee"] = notion_from(content["promise"]).words()
    assert not files.audited(files.sealed(content))
    assert "in their order" in judged(files.sealed(content))[1].out


NESTED = {
    "promises": lambda own: {"notion": "promises", "each": [["ill", own]], "sizes": [4]},
    "robust": lambda own: {"notion": "robust", "confidence": 0.95, "within": "nested", "promise": own},
}


@pytest.mark.parametrize("inner", NESTED)
@pytest.mark.parametrize("outer", ["promises", "ordered"])
def test_promises_within_others_are_not_proven(judged, inner, outer):
    content, own = of_two_secrets(), NESTED[inner]({"notion": "lip", "epsilon": 0.2})
    wrapped = {"notion": "promises", "each": [["S", own]], "sizes": [4]}
    content["promise"] = wrapped if outer == "promises" else {"notion": "ordered", "promise": own}
    content |= {"secret_readings": [], "secret": "S"}
    assert judged(files.sealed(content))[0] == 1


@pytest.mark.parametrize("seed", range(60))
def test_people_are_estimated_as_in_the_package_to_the_last_bit(seed):
    rng = np.random.default_rng(seed)
    columns = tuple(files.column(rng, f"c{j}") for j in range(rng.integers(1, 6)))
    noise = files.noise_of(rng, columns, int(rng.integers(2, 5)))
    if noise.codes is None and len(noise.counts) - len(noise.faint) >= 2:
        told = {"counts": noise.counts.tolist(), "people": noise.people, "combinations": None, "epsilon": noise.epsilon}
        own = check.counted(told, noise.counts.shape[1], [len(column) for column in columns])
        weights, person = weights_of(noise, columns)
        assert own == (weights.tolist(), person)


def test_counts_that_no_noise_of_the_stated_size_makes_are_refused():
    noise = {"epsilon": 1.0, "combinations": None}
    check.check_noise([503, 498], noise, 1_000)
    check.check_noise([1_000, *([3, -2, 1, -4, 2, -1, 0, 5, -3] * 20)], noise, 1_000)
    for counts in ([5_000, 500], [1_500, -500], [1_000, *([0] * 200)]):
        with pytest.raises(check.Stop):
            check.check_noise(counts, noise, 1_000)
