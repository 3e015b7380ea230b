"""An outsider makes up tables of mixed kinds with odd names and values: rows are drawn from the columns of the file and
have the level that `audit` says; the folder is published, and the command in its README answers.
"""

import json
from datetime import date, timedelta

import numpy as np
import pytest

from attacked.outsider import (
    CHECK,
    columns_of,
    copies,
    distribution,
    domain,
    drawn_as,
    funnel,
    in_parts,
    law_of,
    level,
    read,
    write,
)

PEOPLE = 1500
COPIES = 300
OPEN = 1e308
"""An edge this far out is none."""
SAME = 1e-6
WIDE = 0.2
"""An interval that is no answer."""
ODD = ["a", " a", "A", "01", "1", "other", "x,y", 'q"t', "<b>", "=1+1", "line\nbreak", "é", ""]
SAID = ["--title", "T", "--licence", "CC0-1.0", "--publisher", "P", "--contact", "a@example.org"]


def some(rng, values, ill):
    """Entries that go with the illness, some of them rare."""
    p = np.maximum(rng.dirichlet(np.ones(len(values)), 2), 0.003)
    return [values[rng.choice(len(values), p=own / own.sum())] for own in p[ill.astype(int)]]


def dates(rng, ill):
    return [(date(2019, 1, 1) + timedelta(days=int(d))).isoformat() for d in rng.integers(0, 1300, PEOPLE) + 300 * ill]


KINDS = {
    "texts": lambda rng, ill: some(rng, [str(value) for value in rng.choice(ODD, 4, replace=False)], ill),
    "whole numbers": lambda rng, ill: some(rng, ["-3", "0", "7", str(2**40), ""], ill),
    "numbers": lambda rng, ill: some(rng, ["0.1", "1e6", "-2.25"], ill),
    "truths": lambda rng, ill: some(rng, ["true", "false", ""], ill),
    "dates": dates,
    "ranges": lambda rng, ill: [str(n) for n in rng.integers(0, 120, PEOPLE) + 15 * ill],
    "commas": lambda rng, ill: [f"{x:.1f}".replace(".", ",") for x in rng.normal(20, 5, PEOPLE) + 3 * ill],
    "days first": lambda rng, ill: [".".join(day.split("-")[::-1]) for day in dates(rng, ill)],
}
TABLES = {
    "texts and dates": {'na,me"x': "texts", "history": "dates"},
    "whole numbers and truths": {"variant": "whole numbers", "count(*)": "truths"},
    "texts and ranges": {"select": "texts", "Größe": "ranges"},
    "numbers and texts": {"a.b": "numbers", "=x": "texts"},
    "as people write them": {"kilos": "commas", "since": "days first"},
}


def entry(column, code):
    """Something that stands in a table where a column has this value."""
    label = column["labels"][code]
    if column["kind"] == "bins":
        low, high = column["edges"][code : code + 2]
        number = low if high >= OPEN else high - 1 if low <= -OPEN else (low + high) / 2
        return str(number).replace(".", ",") if column.get("written") == "comma" else number
    if column["kind"] == "year":
        return f"15.06.{label}" if column.get("written") == "dmy" else f"{label}-06-15"
    return said(label)


def said(label):
    return "" if label is None else str(label).lower() if isinstance(label, bool) else str(label)


def value(text):
    """As which value an entry of a released file is read: numbers may be written in several ways."""
    try:
        return float(text) if text == text.strip() and (text[:1] != "0" or not text[1:].isdigit()) else text
    except ValueError:
        return text


def in_words(columns, codes):
    return tuple(value(said(column["labels"][code])) for column, code in zip(columns, codes, strict=True))


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_mixed_kinds_are_drawn_as_their_file_says(name, tmp_path, capsys, noise_with_seed):
    rng, made = np.random.default_rng(len(name)), TABLES[name]
    ill = rng.random(PEOPLE) < 0.3
    entries = [KINDS[kind](rng, ill) for kind in made.values()]
    table = write(tmp_path / "people.csv", [*made, "s"], zip(*entries, np.where(ill, "ill", "well"), strict=True))
    path = tmp_path / "p.json"
    with noise_with_seed(2):
        asked = ["fit", table, "--secret", "s", "--epsilon", "0.5", "--set", "insist", "-o", path, "--json"]
        assert funnel(*asked) == 0
    content = json.loads(path.read_text(encoding="utf-8"))
    (block,), columns, combinations = content["chain"], columns_of(content), domain(content)
    assert {column["name"] for column in columns} == set(made)
    names = [column["name"] for column in columns]
    rows = [tuple(entry(*one) for one in zip(columns, x, strict=True)) for x in combinations]
    again = copies(tmp_path / "copies.csv", names, rows, COPIES)
    drawn = ["--keep-order", "--seed", "1", "-o", tmp_path / "drawn.csv", "--json"]
    assert funnel("sanitise", again, "--protocol", path, *drawn) == 0
    released = [{name: value(text) for name, text in row.items()} for row in read(tmp_path / "drawn.csv")]
    written = [in_words(columns, block["values"][x]) for x in block["labels"]]
    laws = [law_of(part, written) for part in block["channel"]]
    own = {tuple(x): i for i, x in enumerate(block["values"])}
    parts = in_parts(released, names, COPIES)
    by = [drawn_as(part, laws, own.get(x)) for x, part in zip(combinations, parts, strict=True)]
    P, Q = distribution(content), [dict(zip(part[::2], part[1::2], strict=True)) for part in block["channel"]]
    outcomes = [
        [sum(p * Q[i].get(y, 0) for p, i in zip(row, by, strict=True)) for row in P] for y in range(len(written))
    ]
    capsys.readouterr()
    assert funnel("audit", path, "--json") == 0
    told = json.loads(capsys.readouterr().out)["certificate"]["level"]
    assert level([one for one in outcomes if sum(one)], [sum(row) for row in P]) == pytest.approx(told, abs=SAME)
    rows, folder = tmp_path / "open.csv", tmp_path / "folder"
    assert funnel("sanitise", table, "--protocol", path, "-o", rows, "--json") == 0
    assert funnel("publish", rows, "--protocol", path, *SAID, "-o", folder, "--json") == 0
    assert CHECK["main"]([folder / "protocol.json"]) == 0
    capsys.readouterr()
    assert funnel("estimate", folder / "table.csv", "--protocol", folder / "protocol.json", "--json") == 0
    answers = [one for of in json.loads(capsys.readouterr().out)["tables"] for one in of["estimates"]]
    assert {len(one["values"][0]) for one in answers} == {1}
    assert all(one["low"] is not None and one["high"] - one["low"] < WIDE for one in answers)
