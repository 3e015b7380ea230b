"""Shown: what notebooks ask a value for."""

from __future__ import annotations

from abc import ABC, abstractmethod

from privacyfunnel.showing.html import html_of
from privacyfunnel.showing.sheet import Sheet


class Shown(ABC):
    """A value that notebooks show as a sheet."""

    @abstractmethod
    def sheet(self) -> Sheet:
        """What is shown of it."""

    def _repr_html_(self) -> str:
        return html_of(self.sheet())
