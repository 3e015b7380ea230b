"""Faithful protocols: what they say of themselves survives the file, and the certificate sees the distribution."""

import json

import pytest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidProtocol
from privacyfunnel.protocols import file

JOINT = pf.Joint([[300, 100, 60, 40], [100, 500, 20, 80]], attributes=["town"])


def test_a_faithful_protocol_releases_values_with_the_distribution_of_the_original():
    protocol = pf.optimise(JOINT, pf.LIP(0.3), objective="faithful")
    assert protocol.objective == "faithful"
    assert protocol.channel @ JOINT.p_x == pytest.approx(JOINT.p_x, abs=2**-30)
    certificate = pf.certify(protocol, JOINT)
    assert certificate
    assert certificate.marginal_error <= 2**-30
    assert 0 < protocol.fidelity <= protocol.fidelity_bound <= 1
    assert protocol.fidelity_bound - protocol.fidelity <= 1e-3


def test_the_certificate_sees_where_rows_cannot_be_counted():
    protocol = pf.optimise(JOINT, pf.LIP(0.3), objective="faithful")
    other = pf.Joint([[100, 300, 60, 40], [100, 500, 20, 80]], attributes=["town"])
    assert pf.certify(protocol, other).marginal_error > 0.01
    assert pf.certify(pf.optimise(JOINT, pf.LIP(0.3)), JOINT).marginal_error is None


def test_the_file_says_what_a_faithful_release_leaves_as_it_was(tmp_path):
    protocol = pf.optimise(JOINT, pf.LIP(0.3), objective="faithful", weights={"town": 2.0})
    protocol.save(tmp_path / "protocol.json")
    loaded = pf.Protocol.load(tmp_path / "protocol.json")
    assert loaded.objective == "faithful"
    assert loaded.people == 1200
    assert loaded.likeness.weights == (("town", 2.0),)
    assert loaded.fidelity <= protocol.fidelity <= protocol.fidelity_bound <= loaded.fidelity_bound
    assert file.to_text(loaded) == file.to_text(protocol)


def test_labels_of_a_faithful_protocol_cannot_be_changed():
    content = json.loads(file.to_text(pf.optimise(JOINT, pf.LIP(0.3), objective="faithful")))
    content.pop("digest")
    content["blocks"][0]["labels"] = [1, 0, 2, 3]
    with pytest.raises(InvalidProtocol, match="values themselves"):
        file.from_text(file._write({**content, "digest": file._digest(content)}))


def test_what_makes_no_sense_is_refused():
    with pytest.raises(InvalidInput, match="objective"):
        pf.optimise(JOINT, pf.LIP(0.3), objective="beauty")
    with pytest.raises(InvalidInput, match="faithful"):
        pf.optimise(JOINT, pf.LIP(0.3), weights={"town": 2})
    with pytest.raises(InvalidInput, match="none of the attributes"):
        pf.optimise(JOINT, pf.LIP(0.3), objective="faithful", weights={"city": 2})
