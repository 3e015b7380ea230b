"""Models of small tables, which a fit estimates combination by combination: tests of models need no large ones."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def small_models(wanted: bool = True) -> Iterator[None]:
    """Private fits make a model of every table, however few combinations of values it has."""
    with pytest.MonkeyPatch.context() as patch:
        if wanted:
            patch.setattr("privacyfunnel.spec.counting.MOST_LISTED", 0)
        yield
