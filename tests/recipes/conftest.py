"""What pages say is read here; their pictures are drawn where that is the claim."""

import pytest


@pytest.fixture(autouse=True)
def _sketched(sketched: None) -> None:
    pass
