"""What others rely on: the public names; and what only one place may name."""

from pathlib import Path

import pytest

import privacyfunnel as pf

SOURCE = Path(pf.__file__).parent


def naming(*words: str) -> set[str]:
    """The files in which one of the words stands."""
    texts = {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    return {name for name, text in texts.items() if any(word in text for word in words)}


RELIED_ON = [
    "Joint",
    "LIP",
    "LDP",
    "ALIP",
    "PML",
    "PerfectPrivacy",
    "SRLIP",
    "SRLDP",
    "Belief",
    "Promises",
    "robust",
    "optimise",
    "certify",
    "tradeoff",
    "Protocol",
    "estimate",
    "regress",
    "attack",
    "expected_errors",
    "PrivacyFunnel",
    "PrivacyFunnelError",
]
"""By acceptance checks and documentation."""
MOST_NAMES = 40
"""To import: what functions return is reached through them, and has no name of its own here."""


def test_no_more_is_public_than_people_import_and_all_that_they_rely_on_is():
    assert len(pf.__all__) <= MOST_NAMES
    assert set(RELIED_ON) <= set(pf.__all__)
    assert callable(pf.paper.product)


def test_public_names_are_all_there():
    assert all(hasattr(pf, name) for name in pf.__all__)
    assert set(pf._HOME) == set(pf.__all__)
    with pytest.raises(AttributeError):
        pf.no_such_name  # noqa: B018 - asking is what fails


def test_only_one_module_names_the_solver():
    assert naming("highspy") == {"numeric/lp.py"}


def test_no_notion_is_asked_for_by_name_outside_of_notions():
    assert naming('notion == "', "isinstance(notion, L") <= {"promises/notions.py"}
