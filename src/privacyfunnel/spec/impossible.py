"""Impossible: what cannot be asked for, in a sentence that calls keys as they were written."""

from __future__ import annotations


class Impossible(ValueError):
    """Why it cannot be, and what to do; {at_least} stands for that key."""

    def __init__(self, words: str) -> None:
        self.words = words
        super().__init__(words)


def literally(words: object) -> str:
    """Words in which no key is named."""
    return str(words).replace("{", "{{").replace("}", "}}")
