"""Coq has proven what docs/proofs.md says, from nothing; and what is changed into something false is not proven."""

import os
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tools import proofs

import privacyfunnel as pf
from privacyfunnel.proof.exponentials import e_to

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "proofs.md").read_text(encoding="utf-8")
THEORY = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
FALSE = [
    ("mixtures", "(#|used q'| <= #|X|)%N", "(#|used q'| < #|X|)%N"),
    ("relations", "LDP (g * g) p Q", "LDP g p Q"),
    ("relations", "Hypothesis nothing_is_known : known set0.", "Hypothesis nothing_is_known : known setT."),
    ("processing", "mixing_ALIP lo up : lo <= 1 -> 1 <= up ->", "mixing_ALIP lo up : lo <= 1 -> 0 <= up ->"),
    ("processing", "M f y != 0 -> belief (given p (filled", "belief (given p (filled"),
    ("processing", "(forall i, M (fs i) (ys i) != 0) ->\n  belief", "belief"),
    ("certificate", "(forall s, (a s)%:R / (b s)%:R <= up s)", "(forall s, up s <= (a s)%:R / (b s)%:R)"),
    ("certificate", "a%:R / b%:R <= bound ->\n  (forall y, check_belief", "(forall y, check_belief"),
    ("certificate", "(rounded_down : a%:R / b%:R <= g)", "(rounded_down : g <= a%:R / b%:R)"),
    ("over_time", "LIP (g1 * g2) p together", "LIP g2 p together"),
    ("mixtures", "<= H (v y).\n\nTheorem vertices", ">= H (v y).\n\nTheorem vertices"),
    ("budget", "(earlier J y j)) (alone attr Q j)", "(fun=> 1)) (alone attr Q j)"),
    ("everything_published", "alike_given_x h f -> moves_within h^-1 h p f", "moves_within h^-1 h p f"),
    ("everything_published", "moves_within (g * h)^-1 (g * h) p f.\nProof.", "moves_within g^-1 g p f.\nProof."),
    ("everything_published", "lo s / h <= moved p f y o s <= up s * h.", "lo s <= moved p f y o s <= up s."),
    ("everything_published", "belief (seeing p f y o) s <= b * h.", "belief (seeing p f y o) s <= b."),
    ("everything_published", "alike P h f ->\n  ALIP lo up (about coarse p)", "ALIP lo up (about coarse p)"),
    ("with_delta", "theorem_1_with_delta a delta T s t x : event T ->", "theorem_1_with_delta a delta T s t x :"),
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
    table = PAGE.split("## The theorems")[1].split("## The check as a program")[0]
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
    assert set(sources) == {*proofs.files(), proofs.EXTRACTION}
    for name, text in sources.items():
        assert not re.search(r"\b(Admitted|admit|Axiom|Parameter|Conjecture)\b", text), name


def test_every_claim_of_the_page_has_theorems_and_a_false_variant_that_is_refuted():
    lines = [line for line in PAGE.split("## The theorems")[1].splitlines() if line.startswith("|") and "`" in line]
    rows = [[re.findall(r"`\w+\.([\w']+)`", cell) for cell in line.split(" | ")[1:]] for line in lines]
    assert len(rows) > 20
    for theorems, variants in rows:
        assert theorems
        assert variants
        assert not any(name.startswith("not_") for name in theorems)
        assert all(name.startswith("not_") for name in variants)


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


UNIT = 2**32
NOTIONS = {"LIP": pf.LIP, "PML": pf.PML, "LDP": pf.LDP, "SRLIP": pf.SRLIP, "SRLDP": pf.SRLDP}


def cells_of(kind, shape):
    """For every group of attackers, 1 for the values of X that they hold possible."""
    everything = np.ones(shape, dtype=int)
    yield everything
    if kind.startswith("SR"):
        for place in np.ndindex(shape):
            for axes in (0,), (1,), (0, 1):
                yield np.array([all(x[j] == place[j] for j in axes) for x in np.ndindex(shape)]).reshape(shape)


def a_case(rng):
    """A kind of promise, counts of people, and a channel in numerators over 2³²."""
    kind = str(rng.choice(list(NOTIONS)))
    shape = (2, int(rng.integers(1, 3)))
    counts = rng.integers(1, 30, (int(rng.integers(2, 4)), *shape))
    weights = rng.random((int(rng.integers(2, 4)), counts[0].size)) + 0.3
    numerators = np.floor(weights / weights.sum(axis=0) * UNIT).astype(np.int64)
    numerators[0] += UNIT - numerators.sum(axis=0)
    joint = pf.Joint(counts, attributes=["a", "b"])
    return kind, joint, counts, numerators


@pytest.mark.long
def test_the_checker_that_coq_proved_and_certify_agree_on_a_thousand_channels(built):
    checker, rng = proofs.extracted(built[0]), np.random.default_rng(49)
    lines, verdicts = [], []
    while len(verdicts) < 1000:
        kind, joint, counts, numerators = a_case(rng)
        level = pf.certify(numerators / UNIT, joint, NOTIONS[kind](1.0)).level
        epsilon = level * float(rng.choice([0.5, 1 - 1e-9, 1, 1 + 1e-9, 2]))
        certificate = pf.certify(numerators / UNIT, joint, NOTIONS[kind](epsilon))
        verdicts.append("1" if certificate.holds else "0")
        bound: Fraction = e_to(epsilon)
        cells = {tuple(cell.ravel()) for cell in cells_of(kind, counts.shape[1:])}
        flat = counts.reshape(len(counts), -1)
        head = [kind.removeprefix("SR"), len(flat), flat.shape[1], len(numerators), len(cells)]
        numbers = [UNIT, *bound.as_integer_ratio(), *flat.ravel(), *np.ravel(list(cells)), *numerators.ravel()]
        lines.append(" ".join([*map(str, head), *(f"{int(number):b}" for number in numbers)]))
    said = subprocess.run([checker], input="\n".join(lines), capture_output=True, text=True, check=True).stdout.split()
    assert said == verdicts
    assert 200 < verdicts.count("1") < 800
