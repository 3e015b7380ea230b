"""Who knows one column beforehand: the quick answer is that of the exact attack."""

import math

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.attacks import one_column as module
from privacyfunnel.attacks.one_column import OneColumn, one_column
from privacyfunnel.promises.limits import Limits
from privacyfunnel.promises.views import View


def joint(seed=0):
    return pf.Joint(np.random.default_rng(seed).integers(1, 60, (3, 3, 2, 4)))


@pytest.mark.parametrize("notion", [pf.LIP(0.4), pf.PML(0.4), pf.ALIP(0.3, 0.5)])
@pytest.mark.parametrize("objective", ["information", "faithful"])
def test_the_worst_column_is_that_of_all_views(notion, objective):
    table = joint()
    protocol = pf.optimise(table, notion, objective=objective, time_limit=5)
    found = one_column(protocol, table)
    assert found.level == pytest.approx(
        max(_as_known(notion, table, protocol, name) for name in table.attributes), rel=1e-6
    )


def test_the_level_is_that_of_the_exact_attack():
    table = joint()
    protocol = pf.optimise(table, pf.LIP(0.4))
    exact = {a.known: a.level for a in pf.attack(table, protocol, protocol_alone=False).attackers if len(a.known) == 1}
    found = one_column(protocol, table)
    assert found.level == pytest.approx(max(exact.values()), rel=1e-6)
    assert exact[found.column,] == max(exact.values())


def _as_known(notion, table, protocol, name):
    """The level by the dense way: every cell of the column by itself."""
    view = View.of((table.attributes.index(name),), table)
    return notion.level_of(Limits.reached(table, protocol.channel_on(table), [view]))


@pytest.mark.long
def test_promises_about_side_channels_and_single_columns_need_no_line():
    table = joint()
    assert one_column(pf.optimise(table, pf.SRLIP(1.0, known=1), time_limit=5), table) is None
    alone = pf.Joint([[40, 10], [10, 40]])
    assert one_column(pf.optimise(alone, pf.LIP(0.3)), alone) is None


def test_the_remedy_is_in_the_words():
    words = OneColumn("sex", math.log(26), 0.5, "srlip").words()
    assert words.startswith("Knowing just sex beforehand lifts the factor from ×1.65 to ×26.0")
    assert "--notion srlip --known sex" in words
    assert "rows tell less then, often much less" in words
    assert "may rule out a value of the secret" in OneColumn("sex", math.inf, 0.5, "srlip").words()


def test_what_is_too_much_work_is_said(monkeypatch):
    table = joint()
    protocol = pf.optimise(table, pf.LIP(0.4), time_limit=5)
    monkeypatch.setattr(module, "MOST_WORK", 10)
    found = one_column(protocol, table)
    assert found.column is None
    assert "too much to compute" in found.words()
