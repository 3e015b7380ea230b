"""The commands that make a protocol again."""

from dataclasses import replace

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.protocols.adaptive_blocks import adaptive_blocks, in_words
from privacyfunnel.report.commands import steps

pytestmark = pytest.mark.usefixtures("compiled_loops")


@pytest.fixture(scope="module")
def adaptive():
    joint = pf.Joint(np.arange(1, 25).reshape(2, 2, 3, 2) ** 2, attributes=["age", "town", "job"])
    return pf.compose(joint, pf.SRLIP(0.2), [["age", "job"], ["town"]], "adaptive", time_limit=5)


def test_an_adaptive_protocol_is_made_again_by_its_own_method_and_blocks(adaptive, tmp_path):
    adaptive.save(tmp_path / "p.json")
    for protocol in (adaptive, pf.Protocol.load(tmp_path / "p.json")):
        found = steps(protocol, "people.csv")
        assert "pf.compose(joint, pf.SRLIP(" in found.python
        assert "blocks=[['age', 'job'], ['town']], method='adaptive')" in found.python
        assert "--blocks age+job,town --method adaptive" in found.fit


def test_words_that_could_mean_other_blocks_are_not_read_as_blocks(adaptive):
    assert adaptive_blocks(adaptive) == [["age", "job"], ["town"]]
    assert adaptive_blocks(replace(adaptive, how=in_words([["age | x", "job"], ["town"]]))) == []
    assert adaptive_blocks(replace(adaptive, how="column generation")) == []
