"""An outsider counts what is drawn: for every value and history it is a column of the file, rare combinations too, and
what comes of all that has the level that `audit` says, computed from the noisy counts in the file.
"""

import json
from fractions import Fraction

import pytest

from attacked.outsider import (
    columns_of,
    copies,
    distribution,
    domain,
    drawn_as,
    funnel,
    in_parts,
    in_words,
    law_of,
    level,
    population,
    read,
    write,
)

NAMES = ["a", "b", "c"]
SEED = ["--seed", "1"]
SAME = 1e-6
"""Nats: levels that are rounded up, and that are printed with nine digits."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outsider")
    write(folder / "people.csv", ["id", *NAMES, "s"], population(3, 4000))
    return folder


def fitted(folder, name, *options, epsilon=0.5):
    """The path of a protocol and what is in it."""
    path, own = folder / f"{name}.json", () if epsilon is None else ("--epsilon", epsilon)
    asked = ["fit", folder / "people.csv", "--secret", "s", *own, *options, "-o", path, "--force", "--json"]
    assert funnel(*asked) == 0
    return path, json.loads(path.read_text(encoding="utf-8"))


def audited(path, capsys):
    """The level of what `audit` says is kept."""
    capsys.readouterr()
    assert funnel("audit", path, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["certificate"]["holds"]
    return found["certificate"]["level"]


def outputs_of(block):
    """What each output is written as, with its number where rows with the same values are told apart."""
    values = [in_words(block["columns"], block["values"][x]) for x in block["labels"]]
    variants = block["variants"]
    return values if variants is None else [(*v, str(i)) for v, i in zip(values, variants, strict=True)]


def readings(folder, path, content, k):
    """The column by which each combination is drawn, as rows show it; all listed ones have their own."""
    (block,), columns = content["chain"], columns_of(content)
    names, combinations = [column["name"] for column in columns], domain(content)
    table = copies(folder / "copies.csv", names, [in_words(columns, x) for x in combinations], k)
    assert (
        funnel("sanitise", table, "--protocol", path, "-o", folder / "drawn.csv", "--keep-order", "--force", *SEED) == 0
    )
    rows = read(folder / "drawn.csv")
    written = [*names, "variant"] if "variant" in rows[0] else names
    laws = [law_of(part, outputs_of(block)) for part in block["channel"]]
    own = {tuple(value): i for i, value in enumerate(block["values"])}
    return {
        x: drawn_as(draws, laws, own.get(x)) for x, draws in zip(combinations, in_parts(rows, written, k), strict=True)
    }


KINDS = {
    "by default": [],
    "information": ["--set", "objective=information", "--columns", "a,b"],
    "for readers": ["--set", "objective=information", "--set", "readers=shares"],
    "an exact column": ["--keep-exact", "c", "--epsilon", "1.5"],
    "a high threshold": ["--columns", "a,b", "--set", "at-least=60", "--set", "insist"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_drawn_from_the_columns_of_the_file_and_have_the_level_of_the_audit(folder, kind, capsys):
    path, content = fitted(folder, "kind", "--columns", "a,b,c", *KINDS[kind], "--time-limit", "10")
    (block,), P = content["chain"], distribution(content)
    by = readings(folder, path, content, 400)
    assert len(block["values"]) <= len(by)
    columns = [dict(zip(part[::2], part[1::2], strict=True)) for part in block["channel"]]
    outcomes = [
        [sum(p * columns[by[x]].get(y, 0) for p, x in zip(row, by, strict=True)) for row in P]
        for y in range(block["outputs"])
    ]
    assert level(outcomes, [sum(row) for row in P]) == pytest.approx(audited(path, capsys), abs=SAME)


def followed_up(folder, *how):
    """A first release and a follow-up of all that it can have released, of finer columns."""
    first, content = fitted(folder, "first", "--columns", "a,b", epsilon=0.3)
    again = ["--columns", "a,b,c", "--set", f"after={first}", "--set", "insist", *how]
    return first, content, *fitted(folder, "second", *again, epsilon=3)


def pairs_drawn(folder, first, before, second, content, k):
    """For every (x, h) that can occur: the column by which it is drawn, and P(h|x)."""
    (block,), (step,), columns = before["chain"], content["chain"], columns_of(content)
    by, names = readings(folder, first, before, 400), [column["name"] for column in columns]
    earlier = [dict(zip(part[::2], part[1::2], strict=True)) for part in block["channel"]]
    histories = [h for (h,) in step["histories"]]
    reached = {(x, h): earlier[by[x[:2]]].get(h, 0) for h in histories for x in domain(content)}
    pairs = [pair for pair, units in reached.items() if units]
    copies(folder / "now.csv", names, [in_words(columns, x) for x, _ in pairs], k)
    old = [in_words(block["columns"], block["values"][block["labels"][h]]) for _, h in pairs]
    copies(folder / "kept.csv", names[:2], old, k)
    given = [
        "--released",
        folder / "kept.csv",
        "--person",
        "id",
        "--keep-order",
        "--force",
        *SEED,
        "-o",
        folder / "drawn.csv",
    ]
    assert funnel("sanitise", folder / "now.csv", "--protocol", second, *given) == 0
    written = [in_words(columns, value) for value in step["values"]]
    parts, starts = [law_of(part, written) for part in step["channel"]], [0]
    for values in step["inputs"]:
        starts.append(starts[-1] + len(values))
    found = {}
    for pair, draws in zip(pairs, in_parts(read(folder / "drawn.csv"), names, k), strict=True):
        i = histories.index(pair[1])
        laws, listed = parts[starts[i] : starts[i + 1]], [tuple(step["values"][x]) for x in step["inputs"][i]]
        number = drawn_as(draws, laws, listed.index(pair[0]) if pair[0] in listed else None)
        found[pair] = laws[number], Fraction(reached[pair], 2**32)
    return found


def level_of(found, content):
    P, outcomes, combinations = distribution(content), {}, domain(content)
    weight = {x: [row[i] for row in P] for i, x in enumerate(combinations)}
    for (x, h), (law, p) in found.items():
        for y, q in law.items():
            own = outcomes.setdefault((h, y), [Fraction(0)] * len(P))
            outcomes[h, y] = [one + p * q * w for one, w in zip(own, weight[x], strict=True)]
    return level(outcomes.values(), [sum(row) for row in P])


def test_follow_ups_are_drawn_from_the_columns_of_every_history_and_have_the_level_of_the_audit(folder, capsys):
    first, before, second, content = followed_up(folder)
    found = pairs_drawn(folder, first, before, second, content, 120)
    assert level_of(found, content) == pytest.approx(audited(second, capsys), abs=SAME)


@pytest.mark.long
def test_draws_with_a_key_follow_both_columns_for_old_and_for_new_people(folder, capsys):
    first, before, second, content = followed_up(folder)
    found = pairs_drawn(folder, first, before, second, content, 400)
    assert level_of(found, content) == pytest.approx(audited(second, capsys), abs=SAME)
    columns, k = columns_of(content), 1000
    names, combinations = [column["name"] for column in columns], domain(content)
    (block,) = before["chain"]
    everybody = copies(folder / "all.csv", names, [in_words(columns, x) for x in combinations], k)
    lines = everybody.read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "some.csv").write_text("".join([lines[0], *lines[1::2]]), encoding="utf-8")
    keyed = ["--remember", folder / "people.key", "--person", "id", "--keep-order", "--force"]
    assert funnel("sanitise", folder / "some.csv", "--protocol", first, *keyed, "-o", folder / "one.csv") == 0
    assert funnel("sanitise", everybody, "--protocol", second, *keyed, "-o", folder / "two.csv") == 0
    one = in_parts(read(folder / "one.csv"), names[:2], k // 2)
    two = in_parts(read(folder / "two.csv"), names, k)
    for x, old, new in zip(combinations, one, two, strict=True):
        both = {}
        for (h,) in content["chain"][0]["histories"]:
            law, p = found.get((x, h), ({}, 0))
            was = in_words(block["columns"], block["values"][block["labels"][h]])
            both |= {(was, y): p * q for y, q in law.items()}
        fresh = {}
        for (_, y), q in both.items():
            fresh[y] = fresh.get(y, 0) + q
        drawn_as([*zip(old, new[::2], strict=True)], [both])
        drawn_as(new[1::2], [fresh])
