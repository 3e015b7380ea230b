"""Values of the secret can be grouped: the promise is about groups, in the fit, in the file and in the audit."""

import numpy as np
import pandas as pd
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import InvalidInput, InvalidTable

GROUPS = {"illness": {"rare": ["gout", "lupus"]}}


def people(n=4_000):
    rng = np.random.default_rng(0)
    town = rng.choice(["A", "B", "C"], n)
    chance = np.where(town[:, None] == "A", [0.6, 0.3, 0.08, 0.02], [0.7, 0.25, 0.01, 0.04])
    illness = [rng.choice(["well", "flu", "gout", "lupus"], p=p) for p in chance]
    return pd.DataFrame({"illness": illness, "town": town, "sex": rng.choice(["f", "m"], n)})


def test_a_group_of_the_secret_is_one_value_that_the_promise_is_about():
    table = people()
    joint = pf.Joint.from_table(table, "illness", groups=GROUPS)
    assert set(joint.secret_values) == {"well", "flu", "rare"}
    merged = table.assign(illness=table["illness"].replace({"gout": "rare", "lupus": "rare"}))
    beforehand = pf.Joint.from_table(merged, "illness")
    order = [joint.secret_values.index(value) for value in beforehand.secret_values]
    assert np.allclose(joint.p_s[order], beforehand.p_s)
    assert np.allclose(joint.p_s_given_x[order], beforehand.p_s_given_x)


def test_the_file_carries_the_groups_and_the_audit_of_the_table_reads_by_them(tmp_path, capsys):
    table, protocol = tmp_path / "t.csv", tmp_path / "p.json"
    people().to_csv(table, index=False)
    asked = ["--secret", "illness", "--epsilon", "0.1", "--set", "exact-fit", "--set", "at-least=1"]
    group = ["--set", "group=illness:rare=gout,lupus"]
    assert run(["fit", str(table), *asked, *group, "--time-limit", "5", "--json", "-o", str(protocol)]) == 0
    assert "which value of a group somebody has is not protected" in capsys.readouterr().out
    loaded = pf.Protocol.load(protocol)
    assert [group.label for group in loaded.secret_readings[0].groups] == ["rare"]
    assert run(["audit", str(protocol), "--table", str(table)]) == 0
    single = pf.Joint.from_table(table, "illness")  # gout is told far more than its group is
    assert not pf.certify(loaded, single)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("groups", "says"),
    [({"illness": {"flu": ["gout"]}}, "contradict"), ({"illness": {"rare": []}}, "groups.illness.rare should be")],
)
def test_groups_that_make_no_sense_are_refused(groups, says):
    with pytest.raises(InvalidInput, match=says):
        pf.Joint.from_table(people(200), "illness", groups=groups)


def test_the_most_frequent_values_of_a_secret_are_no_groups():
    with pytest.raises(InvalidTable, match="--set group"):
        pf.Joint.from_table(people(200), "illness", top={"illness": 2})
