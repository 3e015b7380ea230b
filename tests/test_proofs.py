"""Coq has proven what docs/proofs.md says, from nothing; and what is changed into something false is not proven."""

import os
import re
import shutil
from pathlib import Path

import pytest
from tools import proofs

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "proofs.md").read_text(encoding="utf-8")
THEORY = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
FALSE = [
    ("mixtures", "(#|used q'| <= #|X|)%N", "(#|used q'| < #|X|)%N"),
    ("relations", "LDP (g * g) p Q", "LDP g p Q"),
    ("relations", "Hypothesis nothing_is_known : known set0.", "Hypothesis nothing_is_known : known setT."),
    ("processing", "mixing_ALIP lo up : lo <= 1 -> 1 <= up ->", "mixing_ALIP lo up : lo <= 1 -> 0 <= up ->"),
    ("processing", "M f y != 0 -> belief (given p (filled", "belief (given p (filled"),
    ("certificate", "(rounded_down : a%:R / b%:R <= g)", "(rounded_down : g <= a%:R / b%:R)"),
    ("over_time", "LIP (g1 * g2) p together", "LIP g2 p together"),
    ("budget", "(earlier J y j)) (alone attr Q j)", "(fun=> 1)) (alone attr Q j)"),
    ("everything_published", "alike_given_x h f -> moves_within h^-1 h p f", "moves_within h^-1 h p f"),
    ("everything_published", "moves_within (g * h)^-1 (g * h) p f.\nProof.", "moves_within g^-1 g p f.\nProof."),
    ("faithful", "Hypothesis Q_faithful : faithful.", "Hypothesis Q_faithful : True."),
    ("groups", "(forall k, lift_above", "(exists k, lift_above"),
]
"""A file, a statement in it, and a false one in its place: a wrong direction, or one hypothesis less."""


def require_coq():
    """Where coqc is missing, the test is skipped, or fails where all must be there."""
    if shutil.which("coqc") is None:
        reason = "needs coqc, which is not installed"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder in which every file is compiled, and the theorems that rest on nothing."""
    require_coq()
    folder = tmp_path_factory.mktemp("proofs")
    return folder, proofs.check(build=folder)


def test_the_page_names_every_theorem_and_no_other():
    table = PAGE.split("## The theorems")[1].split("## Not proven by machine")[0]
    named = re.findall(r"`(\w+\.[\w']+)`", table.split("`tests/")[0])
    there = [f"{file}.{theorem}" for file, theorem in proofs.theorems()]
    assert sorted(named) == sorted(there)


def test_the_theory_names_theorems_that_there_are():
    there = {f"{file}.{theorem}" for file, theorem in proofs.theorems()}
    named = re.findall(rf"`((?:{'|'.join(proofs.files())})\.[\w']+)`", THEORY)
    assert len(named) > 20
    assert set(named) <= there


def test_every_file_of_proofs_is_compiled_and_admits_nothing():
    sources = {path.stem: path.read_text(encoding="utf-8") for path in proofs.SOURCES.glob("*.v")}
    assert set(sources) == set(proofs.files())
    for name, text in sources.items():
        assert not re.search(r"\b(Admitted|admit|Axiom|Parameter|Conjecture)\b", text), name


def test_every_file_with_theorems_refutes_a_false_variant():
    files = {}
    for file, theorem in proofs.theorems():
        files.setdefault(file, []).append(theorem)
    assert [file for file, names in files.items() if not any(name.startswith("not_") for name in names)] == []


@pytest.mark.long
def test_every_theorem_is_proven_from_nothing(built):
    assert len(built[1]) == len(list(proofs.theorems()))


@pytest.mark.long
@pytest.mark.parametrize(("file", "true", "false"), FALSE, ids=[f"{file}: {false}" for file, _, false in FALSE])
def test_a_false_statement_is_not_proven(built, file, true, false):
    text = (proofs.SOURCES / f"{file}.v").read_text(encoding="utf-8")
    assert true in text
    with pytest.raises(proofs.Unproven, match="does not compile"):
        proofs.compiled(f"{file}_changed", text.replace(true, false), built[0])


@pytest.mark.long
def test_an_axiom_is_noticed(built):
    believed = "Axiom believed : False.\nTheorem anything : 1 = 2.\nProof. destruct believed. Qed."
    proofs.compiled("believed", believed, built[0])
    said = proofs.assumed([("believed", "anything"), ("relations", "LDP_implies_LIP")], built[0])
    assert said["believed.anything"] != proofs.CLOSED
    assert said["relations.LDP_implies_LIP"] == proofs.CLOSED
