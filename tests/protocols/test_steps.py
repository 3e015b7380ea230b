"""Steps: every table that says what is done by step has all of them, and nothing asks for a step's class."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput
from privacyfunnel.protocols.step import KINDS
from wide_files import wide_protocol

SOURCE = Path(pf.__file__).parent
CLASSES = {"Block", "ByHistory", "ByModel", "Step", "FollowUp", "WideProtocol"}
JOINT = pf.Joint([[40, 30, 20, 5], [5, 20, 60, 10]], attributes=["town"])


@pytest.fixture(scope="module")
def protocols():
    first = pf.optimise(JOINT, pf.LIP(0.3))
    return {"channel": first, "by_history": pf.optimise(JOINT, pf.LIP(0.8), after=first), "by_model": wide_protocol()}


def tables():
    """Every table of the package that says what is done by step: its module and its name."""
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "protocols.step import" in text:
            module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
            for node in ast.parse(text).body:
                if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation).startswith("dict[Kind,"):
                    yield module, ast.unparse(node.target)


@pytest.mark.parametrize(("module", "name"), [*tables()])
def test_every_table_of_steps_has_all_of_them(module, name):
    assert set(getattr(import_module(module), name)) == set(KINDS)


def test_the_tables_of_steps_are_found():
    assert {("privacyfunnel.tables.by_step", "SANITISERS"), ("privacyfunnel.proof.certificate", "ALONE")} <= {*tables()}


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


OWN_FILES = ("protocols/file.py", "publishing/check.py")
"""What reads a file, where a step is a name yet."""


def compared(tree):
    """The kinds of steps that are compared with something."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            found = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
            named = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
            yield from (value for value in found if value in KINDS and named & {"kind", "step"})


def test_nothing_branches_on_the_kind_of_a_step():
    branches = [
        f"{path.relative_to(SOURCE)}: {kind}"
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).as_posix() not in OWN_FILES
        for kind in compared(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert branches == []
    assert list(compared(ast.parse('protocol.step.kind == "channel"'))) == ["channel"]  # which can be found


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
