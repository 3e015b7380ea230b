"""An outsider compares what fits of two tables say for machines: what noise does not move is the same for both.

Whatever is exact and stands outside of `steward_only` would be a number, or a word, that is the same in all fits of one
table and another one in all fits of the other, in which every secret and every value of a column is exchanged.
"""

import json

import pytest

from attacked.outsider import funnel, population, write

NAMES = ["a", "b", "c"]
OTHER = {"ill": "well", "well": "ill"}
FITS = 3
ASKED = {
    "by default": ["--columns", "a,b"],
    "information": ["--columns", "a,b", "--set", "objective=information"],
    "people who know a column": ["--columns", "a,b", "--notion", "srlip", "--known", "1"],
    "a wish": ["--columns", "a,b", "--set", "keep=0.8"],
    "columns chosen": ["--columns", "auto", "--set", "coarsen=auto"],
}


def declared(path):
    columns = [{"name": "s", "kind": "text", "values": ["ill", "well"]}]
    for name, n in zip(NAMES, (4, 4, 3), strict=True):
        columns.append({"name": name, "kind": "text", "values": [f"{name}{i}" for i in range(n)]})
    path.write_text(json.dumps({"schema": "privacyfunnel-domain/1", "columns": columns}), encoding="utf-8")
    return path


def leaves(found, where=""):
    """{place: what stands there} of everything that is not the steward's."""
    if isinstance(found, dict):
        parts = [leaves(value, f"{where}/{key}") for key, value in found.items() if key != "steward_only"]
    elif isinstance(found, list):
        parts = [leaves(value, f"{where}/{i}") for i, value in enumerate(found)]
    else:
        return {where: found}
    return {place: leaf for part in parts for place, leaf in part.items()}


def same_in_all(told):
    """What all of them say alike."""
    return {place: leaf for place, leaf in told[0].items() if all(one.get(place, told) == leaf for one in told)}


@pytest.mark.parametrize("kind", ASKED)
def test_what_does_not_vary_with_noise_does_not_vary_with_the_table(kind, tmp_path, capsys):
    rows, domain = population(11, 3000), declared(tmp_path / "domain.json")
    others = [(i, f"a{3 - int(a[1])}", f"b{3 - int(b[1])}", f"c{2 - int(c[1])}", OTHER[s]) for i, a, b, c, s in rows]
    found = []
    for people in (rows, others):
        table, told = write(tmp_path / "people.csv", ["id", *NAMES, "s"], people), []
        for _ in range(FITS):
            own = [] if kind == "a wish" else ["--epsilon", "0.5"]
            asked = ["fit", table, "--domain", domain, "--secret", "s", *own, "--set", "insist", *ASKED[kind]]
            capsys.readouterr()
            assert funnel(*asked, "-o", tmp_path / "p.json", "--force", "--json") == 0
            told.append(leaves(json.loads(capsys.readouterr().out)))
        found.append(same_in_all(told))
    first, second = found
    assert first
    assert {place for place in first.keys() & second.keys() if first[place] != second[place]} == set()
