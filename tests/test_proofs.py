"""Coq has proven what docs/proofs.md says, from nothing; and what is changed into something false is not proven."""

import os
import re
import shutil
import subprocess
from fractions import Fraction
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest
from tools import proofs

import checked_files as files
import privacyfunnel as pf
from privacyfunnel.proof.exponentials import e_to
from privacyfunnel.proof.public import published_joint
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.publishing import check

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
    if proofs.BUILD.exists():  # what `make proofs` compiled just now
        shutil.copytree(proofs.BUILD, folder, dirs_exist_ok=True)
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


LARGEST = 24
"""Numbers of a channel: Coq's whole numbers are lists of digits, and slow."""
KINDS = {pf.LIP: "LIP", pf.PML: "PML", pf.LDP: "LDP", pf.SRLIP: "LIP", pf.SRLDP: "LDP"}


def one_of_the_kinds(rng, _, names):
    """A promise with one ε."""
    epsilon, known = float(rng.uniform(0.2, 1.5)), [None, 1, [names[0]]][rng.integers(3)]
    kind = list(KINDS)[rng.integers(len(KINDS))]
    return kind(epsilon, known=known) if kind in (pf.SRLIP, pf.SRLDP) else kind(epsilon)


def cells_of(protocol, codes):
    """For every group of attackers, 1 for the values of X that they hold possible."""
    known = getattr(protocol.notion, "known", 0)
    names, m = [column.name for column in protocol.columns], codes.shape[1]
    largest = [names.index(name) for name in known] if isinstance(known, tuple | list) else range(m)
    size = known if isinstance(known, int) else m
    for J in chain.from_iterable(combinations(largest, k) for k in range(min(size, len(largest)) + 1)):
        for place in codes:
            yield tuple(int((row[list(J)] == place[list(J)]).all()) for row in codes)


def a_file(rng):
    """The text of a file, and its numbers for the checker: noisy counts, cells, a channel, and a rational below e^ε."""
    made = files.random_protocol(rng)
    if made is None or made.block.exact:
        return None
    if made.block.channel.n_inputs * made.block.channel.n_outputs > LARGEST:
        return None
    joint = published_joint(made)
    if joint.before_gathering is not None:
        return None
    place = {tuple(code): x for x, code in enumerate(made.block.codes.tolist())}
    numerators = (made.block.channel.dense() * UNIT).astype(np.int64)[
        :, [place[tuple(code)] for code in joint.codes.tolist()]
    ]
    cells = set(cells_of(made, joint.codes))
    bound: Fraction = e_to(made.notion.epsilon)
    head = [KINDS[type(made.notion)], *joint.weights.shape, len(numerators), len(cells)]
    numbers = [UNIT, *bound.as_integer_ratio(), *joint.weights.ravel(), *np.ravel(list(cells)), *numerators.ravel()]
    return files.to_text(made), " ".join([*map(str, head), *(f"{int(number):b}" for number in numbers)])


@pytest.mark.long
def test_the_checker_that_coq_proved_and_check_py_and_certify_agree_on_a_thousand_files(
    built, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(files, "promise_of", one_of_the_kinds)
    monkeypatch.setattr(files, "with_draw", lambda rng, made, whole: made)
    checker, rng = proofs.extracted(built[0]), np.random.default_rng(49)
    lines, verdicts, others = [], [], []
    while len(verdicts) < 1000:
        text, line = a_file(rng) or (None, None)
        if text is None:
            continue
        (tmp_path / "protocol.json").write_text(text, encoding="utf-8")
        others.append(check.main([str(tmp_path / "protocol.json")]) == 0)
        verdicts.append(files.audited(text))
        lines.append(line)
        capsys.readouterr()
    said = subprocess.run([checker], input="\n".join(lines), capture_output=True, text=True, check=True).stdout.split()
    assert [verdict == "1" for verdict in said] == verdicts == others
    assert 200 < sum(verdicts) < 800
