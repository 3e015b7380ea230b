"""What others rely on: the public names; and what only one place may name."""

from pathlib import Path

import pytest

import privacyfunnel as pf

SOURCE = Path(pf.__file__).parent


def naming(*words: str) -> set[str]:
    """The files in which one of the words stands."""
    texts = {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    return {name for name, text in texts.items() if any(word in text for word in words)}


def test_public_names_are_all_there():
    assert all(hasattr(pf, name) for name in pf.__all__)
    assert set(pf._HOME) == set(pf.__all__)
    with pytest.raises(AttributeError):
        pf.no_such_name  # noqa: B018 - asking is what fails


def test_only_one_module_names_the_solver():
    assert naming("highspy") == {"numeric/lp.py"}


def test_no_notion_is_asked_for_by_name_outside_of_notions():
    assert naming('notion == "', "isinstance(notion, L") <= {"promises/notions.py"}
