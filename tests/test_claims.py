"""docs/claims.toml: every promise-like sentence in public has an entry, stands where that says, and is supported."""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from math import exp
from pathlib import Path

import pytest
from tools import proofs

from claimed import README, pages, sentences, text_of
from golden.cases import Chain
from golden.running import run_all
from golden.tables import make_people

ROOT = Path(__file__).resolve().parents[1]
REGISTER = tomllib.loads((ROOT / "docs" / "claims.toml").read_text(encoding="utf-8"))
WORDS = re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in REGISTER["words"]), re.IGNORECASE)
WORD_OF = {"the steward's word", "the publisher's word"}


def pattern(template: str) -> re.Pattern[str]:
    """… stands for any words, or none."""
    return re.compile(re.escape(template).replace("…", ".*?"))


@dataclass(frozen=True)
class Line:
    """A sentence that is claimed, and a place where it stands."""

    idea: str
    says: str
    chain: str
    page: str

    def is_said(self, found: list[str]) -> bool:
        return any(pattern(self.says).fullmatch(sentence) for sentence in found)


def lines() -> Iterator[Line]:
    for claim in REGISTER["claim"]:
        for where, says in claim["says"]:
            for place in where.split("; "):
                chain, _, names = place.partition(": ")
                for page in names.split(", "):
                    yield Line(claim["idea"], says, chain, page)


LINES = list(lines())
KNOWN = [*REGISTER["mentions"], *dict.fromkeys(line.says for line in LINES)]
CHAINS = list(dict.fromkeys(line.chain for line in LINES if line.chain != "README"))
ALWAYS = "published"
"""The chain whose pages every run reads; the others are for long runs."""


def missing(found: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Promise-like sentences of pages that no claim has."""
    known = [pattern(one) for one in KNOWN]
    return [
        (page, sentence)
        for page, said in found.items()
        for sentence in dict.fromkeys(said)
        if WORDS.search(sentence) and not any(one.fullmatch(sentence) for one in known)
    ]


def not_said(chain: str, found: dict[str, list[str]]) -> list[tuple[str, str]]:
    """What is claimed of pages of the chain, and does not stand there."""
    return [
        (line.page, line.says) for line in LINES if line.chain == chain and not line.is_said(found.get(line.page, []))
    ]


def test_every_promise_of_the_readme_is_registered_and_the_other_way_round():
    said = {"": list(sentences(text_of(ROOT / README)))}
    assert missing(said) == []
    assert not_said("README", said) == []


@pytest.mark.parametrize(
    "chain", [pytest.param(chain, marks=[] if chain == ALWAYS else [pytest.mark.long]) for chain in CHAINS]
)
def test_every_promise_that_commands_and_pages_make_is_registered_and_the_other_way_round(
    chain, tmp_path, noise_with_seed, sketched
):
    found = pages(chain, tmp_path, noise_with_seed)
    assert missing(found) == []
    assert not_said(chain, found) == []


def test_the_figures_of_the_readme_are_those_of_the_demo():
    told = json.loads((ROOT / "tests" / "golden" / "demo.json").read_text(encoding="utf-8"))["demo"]["told"]
    text = " ".join((ROOT / README).read_text(encoding="utf-8").split())

    def figure(pattern: str) -> float:
        (number,) = re.findall(pattern, text)
        return float(number.replace(",", ""))

    assert figure(r"picture is of ([\d,]+) made-up people") == told["people"]
    assert figure(r"made-up people, with the factor ([\d.]+\d)") == pytest.approx(
        exp(told["notion/epsilon"]), abs=0.005
    )
    assert figure(r"In their release (\d+)% of all cells") == round(100 * told["readers/likeness/cells_unchanged"])
    assert figure(r"within ([\d.]+) percentage points") == pytest.approx(100 * told["readers/typical_error"], abs=0.005)
    assert figure(r"most changed column, within ([\d.]+\d)") == pytest.approx(
        100 * told["readers/worst_error"], abs=0.005
    )
    before = 1 - told["blind_guess"]
    beliefs = f"{before:.0%} for somebody who sees nothing"
    assert beliefs in text
    after = [before * told[f"released/{lift}_lift"] for lift in ("smallest", "largest")]
    assert f"{after[0]:.0%} to {after[1]:.0%} with the released row" in text


def test_the_first_example_is_kept_for_the_people_of_its_table(tmp_path, noise_with_seed):
    """Its columns are few enough for 20,000 people and the usual noise: no other command may come first."""
    pages_with_it = [ROOT / README, ROOT / "docs" / "index.md", ROOT / "docs" / "faithful.md"]
    first = {re.search(r"^funnel fit .*$", page.read_text(encoding="utf-8"), re.MULTILINE)[0] for page in pages_with_it}
    (line,) = first
    make_people(tmp_path)
    chain = Chain("people", {"fit": line.removeprefix("funnel ").replace("demo/", "")})
    ((_, code, said),) = run_all(chain, tmp_path, noise_with_seed, "--json")
    assert code == 0
    assert json.loads(said)["aim"]["holds"]


def test_every_support_is_there():
    theorems = {f"{file}.{name}" for file, name in proofs.theorems() if not name.startswith("Lemma")}
    for claim in REGISTER["claim"]:
        assert claim["by"], claim["idea"]
        for support in claim["by"]:
            assert is_there(support, theorems), (claim["idea"], support)


def is_there(support: str, theorems: set[str]) -> bool:
    if support in WORD_OF:
        return True
    kind, _, name = support.partition(" ")
    if kind == "theorem":
        return name in theorems
    if kind == "test":
        path, _, test = name.partition("::")
        file = ROOT / "tests" / path
        return (
            file.exists() and re.search(rf"^def {test}\(", file.read_text(encoding="utf-8"), re.MULTILINE) is not None
        )
    folder, ending = {"record": ("benchmarks/results", "json"), "page": ("docs", "md")}[kind]
    return (ROOT / folder / f"{name}.{ending}").exists()


def test_every_claim_is_one_idea_and_said_somewhere():
    ideas = [claim["idea"] for claim in REGISTER["claim"]]
    assert len(ideas) == len(set(ideas)) > 20
    assert all(line.says for line in LINES)
    assert not set(REGISTER["mentions"]) & {line.says for line in LINES}


def test_a_promise_that_nobody_registered_and_a_claim_that_is_not_said_are_noticed():
    said = {"fit": ["No row ever tells a secret, guaranteed.", "Written: protocol.json."]}
    assert missing(said) == [("fit", "No row ever tells a secret, guaranteed.")]
    assert len(not_said(ALWAYS, {})) == len([line for line in LINES if line.chain == ALWAYS])


def test_a_support_that_is_not_there_is_noticed():
    for support in (
        "theorem certificate.certificate_of_everything",
        "test test_claims.py::test_nothing",
        "test nowhere.py::test_a",
        "record nowhere",
        "page nowhere",
    ):
        assert not is_there(support, {"certificate.certificate_LIP"})
