"""An outsider draws rows with filled columns: what is kept is drawn as the file says, and what is filled follows from
what is released of the row, whatever is true of the person; what was published is checked, and read back.
"""

import json
from collections import Counter
from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from attacked.outsider import BY_CHANCE, CHECK, EXPECTED, columns_of, drawn_as, funnel, law_of, read, write
from attacked.test_mixed_tables import KINDS, PEOPLE, SAID, said, value

COPIES = 12
COMMON = 8
"""Values of a filled column that are told apart; all others are one."""
TABLES = {
    "labels": (["truths", "texts"], ["whole numbers", "numbers"]),
    "numbers and days": (["commas", "days first"], ["ranges", "truths"]),
    "dates": (["dates", "ranges"], ["days first", "texts"]),
    "filled as people write them": (["texts", "truths"], ["commas", "days first"]),
}
"""The kinds of columns that are kept, and of those that are filled."""


def made(folder, kinds, seed):
    """A table, and its rows once more, many times each, with the entries of the other half in all filled columns."""
    rng = np.random.default_rng(seed)
    ill = rng.random(PEOPLE) < 0.3
    kept, filled = ([KINDS[kind](rng, ill) for kind in own] for own in kinds)
    names = [f"kept {i}" for i in range(len(kept))], [f"filled {i}" for i in range(len(filled))]
    secrets = np.where(ill, "ill", "well")
    write(folder / "people.csv", [*names[0], *names[1], "s"], zip(*kept, *filled, secrets, strict=True))
    order = np.argsort(ill, kind="stable")[::-1]
    turned = [[column[i] for i in order] for column in filled]
    rows = [row for own in (filled, turned) for row in zip(*kept, *own, strict=True) for _ in range(COPIES)]
    return write(folder / "copies.csv", [*names[0], *names[1]], rows), *names


def as_we_write(column, text):
    """An entry of the table as the file says that it is to be read."""
    if column.get("written") == "comma":
        return text.replace(",", ".")
    return "-".join(reversed(text.split("."))) if column.get("written") == "dmy" else text


@cache
def code_of(labels, kind, edges, text):
    """The number of the value that an entry is read as."""
    if kind == "bins" and text:
        return min(int(np.searchsorted(edges, float(text), side="right")) - 1, len(edges) - 2)
    if kind in ("year", "month"):
        text = text[: len(labels[0])]
    found = [value(said(label)) for label in labels]
    return found.index(value(text)) if value(text) in found else labels.index("other")


def code(column, text):
    return code_of(tuple(column["labels"]), column["kind"], tuple(column["edges"]), text)


def common(texts):
    often = {text: k for k, (text, _) in enumerate(Counter(texts).most_common(COMMON))}
    return np.array([often.get(text, COMMON) for text in texts])


def same_law(one, other):
    """How likely two samples are at least as different, if they have one law."""
    counts = np.stack([np.bincount(values, minlength=COMMON + 1) for values in (one, other)])
    counts = counts[:, counts.min(axis=0) >= EXPECTED]
    return chi2_contingency(counts).pvalue if counts.shape[1] > 1 else 1.0


@pytest.mark.parametrize("name", TABLES)
def test_filled_columns_follow_from_what_is_released_and_what_is_kept_has_its_law(name, tmp_path):
    table, kept, filled = made(tmp_path, TABLES[name], len(name))
    path, rows, folder = tmp_path / "p.json", tmp_path / "open.csv", tmp_path / "folder"
    asked = ["--secret", "s", "--epsilon", "0.5", "--private", "4", "--columns", ",".join(kept), "--set", "insist"]
    fit = ["fit", tmp_path / "people.csv", *asked, "--set", f"fill={','.join(filled)}", "-o", path, "--json"]
    assert funnel(*fit, "--time-limit", "5") == 0
    draw = ["--protocol", path, "--seed", "3", "--keep-order", "--json"]
    assert funnel("sanitise", table, *draw, "-o", tmp_path / "drawn.csv") == 0
    content, drawn = json.loads(path.read_text(encoding="utf-8")), read(tmp_path / "drawn.csv")
    (block, _), columns = content["chain"], columns_of(content)
    laws = [law_of(part, [tuple(block["values"][x]) for x in block["labels"]]) for part in block["channel"]]
    own = {tuple(x): i for i, x in enumerate(block["values"])}
    of = {}
    for before, after in zip(read(table), drawn, strict=True):
        x = tuple(code(one, as_we_write(one, before[one["name"]])) for one in columns)
        of.setdefault(x, []).append(tuple(code(one, after[one["name"]]) for one in columns))
    for x, draws in of.items():
        drawn_as(draws, laws, own.get(x))
    half, told = len(drawn) // 2, common([tuple(row[one] for one in kept) for row in drawn])
    for one in filled:
        values = common([row[one] for row in drawn])
        for group in range(COMMON):
            first, second = values[:half][told[:half] == group], values[half:][told[half:] == group]
            assert same_law(first, second) > BY_CHANCE
        assert set(values) - {0}
    assert funnel("sanitise", tmp_path / "people.csv", "--protocol", path, "-o", rows, "--json") == 0
    assert funnel("publish", rows, "--protocol", path, *SAID, "-o", folder, "--json") == 0
    assert CHECK["main"]([folder / "protocol.json"]) == 0
    assert funnel("estimate", folder / "table.csv", "--protocol", folder / "protocol.json", "--json") == 0
