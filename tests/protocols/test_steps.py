"""Steps: every table that says what is done by step has all of them, and nothing asks for a step's class."""

import ast
from pathlib import Path

import pytest

import privacyfunnel as pf
from privacyfunnel.cli.audited import MEASURED
from privacyfunnel.cli.sanitising import NEEDED
from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates import expected, read_release
from privacyfunnel.proof import certificate
from privacyfunnel.protocols import everything, file
from privacyfunnel.protocols.step import KINDS
from privacyfunnel.publishing import publish, readme
from privacyfunnel.report import account, counting, promised
from privacyfunnel.tables.by_step import IN_TASKS, SANITISERS
from wide_files import wide_protocol

SOURCE = Path(pf.__file__).parent
CLASSES = {"Block", "ByHistory", "ByModel", "Step", "FollowUp", "WideProtocol"}
TABLES = {
    "file": file.PLAIN,
    "everything published": everything.KINDS_OF,
    "proof": certificate.BY_STEP,
    "drawing": SANITISERS,
    "drawing in tasks": IN_TASKS,
    "estimates": read_release.READERS,
    "expected errors": expected.BY_STEP,
    "account": account.BY_STEP,
    "proof in a report": promised.PROOFS,
    "counting in a report": counting.PRIVATELY,
    "publishing": publish.CAN_BE_FITTED,
    "page of a folder": readme.BY_STEP,
    "audit": MEASURED,
    "sanitise": NEEDED,
}
JOINT = pf.Joint([[40, 30, 20, 5], [5, 20, 60, 10]], attributes=["town"])


@pytest.fixture(scope="module")
def protocols():
    first = pf.optimise(JOINT, pf.LIP(0.3))
    return {"channel": first, "by_history": pf.optimise(JOINT, pf.LIP(0.8), after=first), "by_model": wide_protocol()}


@pytest.mark.parametrize("name", TABLES)
def test_every_table_of_steps_has_all_of_them(name):
    assert set(TABLES[name]) == set(KINDS)


def asked_for(tree):
    """The names of classes that `isinstance` is asked about."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            yield from (name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name))


def test_nothing_asks_for_the_class_of_a_step():
    asking = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in SOURCE.rglob("*.py")
        for name in asked_for(ast.parse(path.read_text(encoding="utf-8")))
        if name in CLASSES
    ]
    assert asking == []
    assert set(asked_for(ast.parse("isinstance(one, Block | None)"))) >= {"Block"}  # which can be found


def test_a_step_is_itself_and_says_in_a_line_what_it_is_not(protocols):
    for kind, protocol in protocols.items():
        own = {"channel": "block"}.get(kind, kind)
        assert getattr(protocol, own) is protocol.step
        for other in {"block", "by_history", "by_model"} - {own}:
            with pytest.raises(InvalidInput) as refused:
                getattr(protocol, other)
            assert len(str(refused.value).splitlines()) == 1


def test_what_is_written_is_read_back_as_the_output_that_it_is(protocols):
    for protocol in protocols.values():
        step = protocol.step
        outputs = list(range(step.n_outputs))
        codes = step.written(outputs)
        if step.variants is None:
            assert step.read_back(codes).tolist() == outputs
        codes[0, 0] = -1
        assert step.read_back(codes)[0] == -1


def test_the_shares_of_outputs_and_of_values_are_distributions(protocols):
    for protocol in protocols.values():
        assert protocol.step.shares().sum() == pytest.approx(1)
        for column, shares in zip(protocol.columns, protocol.step.column_shares(), strict=True):
            assert len(shares) == len(column)
            assert shares.sum() == pytest.approx(1)


def test_a_model_is_proven_by_itself_and_on_no_other_counts(protocols):
    assert pf.certify(protocols["by_model"])
    with pytest.raises(pf.PrivacyFunnelError, match="certify\\(protocol\\), without a joint"):
        pf.certify(protocols["by_model"], JOINT)


def test_a_protocol_that_carries_counts_is_certified_without_others():
    table = {"s": ["a", "b", "b", "a"] * 500, "x": [0, 1, 1, 1] * 500}
    joint = pf.Joint.from_table(__import__("pyarrow").table(table), "s", private=1.0)
    protocol = pf.optimise(joint, pf.LIP(0.5))
    assert pf.certify(protocol).level == pf.certify(protocol, joint.before_gathering or joint).level
    with pytest.raises(pf.PrivacyFunnelError, match="carries no noisy counts"):
        pf.certify(pf.optimise(JOINT, pf.LIP(0.3)))
