"""Spec: everything that a fit can be asked for. One field is one option, recipe key, control and keyword.

A field that is None was not said; what follows then is said by the properties. To add an option, add a field to one of
the classes that Spec is made of: how it is typed, read, shown and documented follows from its type and its Key. What
cannot be combined stands in rules.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import model_validator

from privacyfunnel.spec.of_fit import OfFit

if TYPE_CHECKING:
    from collections.abc import Callable

    from privacyfunnel.promises.notion import Notion


class Spec(OfFit):
    """What is asked for, if that can be."""

    @model_validator(mode="after")
    def _possible(self) -> Spec:
        from privacyfunnel.spec.rules import check

        check(self)
        return self

    @property
    def promised(self) -> bool:
        """Whether it says how far beliefs may change, or what is to be kept."""
        from privacyfunnel.spec.promising import is_promised

        return is_promised(self)

    def promise(self) -> Notion | Callable[[float], Notion]:
        """The promise; with keep or error those among which the smallest ε is sought."""
        from privacyfunnel.spec.promising import promise_of

        return promise_of(self)
