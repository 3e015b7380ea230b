"""What a report repeats: the Spec that a protocol's file tells makes the same again, but for keys that it lists."""

import random

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.report.commands import steps
from privacyfunnel.spec import as_flags
from privacyfunnel.spec.of_protocol import (
    BEFORE,
    NOT_TOLD,
    NOT_TOLD_OF_CHANGES,
    SAID_OTHERWISE,
    not_told,
    spec_of,
)
from privacyfunnel.spec.spec import Spec

PROMISES = [
    {"epsilon": 0.5},
    {"notion": "ldp", "epsilon": 0.7},
    {"notion": "alip", "lower": 0.3, "upper": 0.5},
    {"notion": "perfect", "columns": ["town", "born"]},
    {"allow_secret_attribute": True, "columns": ["town", "ill"], "epsilon": 0.5},
    {"columns": ["town", "age"], "epsilon": 0.2},
    {"notion": "srlip", "known": ["town"], "epsilon": 0.5},
    {"notion": "belief", "epsilon": {"yes": 0.8}},
    {"epsilon": {"yes": 0.3, "no": 0.9}},
    {"secret": [["ill"], ["sex"]], "columns": ["town", "age", "born"], "epsilon": {"ill": 0.4, "sex": 0.6}},
    {"secret": [["ill", "sex"]], "columns": ["town", "age"], "epsilon": 0.8},
    {"secret": "age", "columns": ["sex", "town"], "bins": {"age": [18, 40, 60, 81]}, "ordered": True, "epsilon": 0.5},
    {"epsilon": 0.9, "objective": "faithful", "columns": ["town", "age"], "confidence": 0.9}
    | {"within": "nested", "chain": [["age", "town"]]},
]
MORE = [
    {"bins": {"age": [18, 40, 81]}},
    {"bins": {"age": 3}},
    {"bins": {"age": "each"}},
    {"top": {"town": 2}},
    {"dates": {"born": "year"}, "written": {"born": "dmy"}},
    {"written": {"born": "dmy"}},
    {"group": {"town": {"coast": ["Ash", "Birch"]}}},
    {"missing": ["?"]},
    {"keep_exact": ["sex"]},
    {"objective": "information"},
    {"objective": "information", "readers": "shares"},
    {"objective": "information", "readers": "pairs", "give_up": 0.05},
    {"weight": {"town": 2.0}},
    {"at_least": 5, "insist": True},
]
TOLD = {key for each in (*PROMISES, *MORE) for key in each} | {"table", "private", "exact_fit", "per_range", "delta"}
TOLD |= {"domain", "fill", "ranges", "never", "after"}
"""Those that the tests here ask for, and, from private, tests of their own: see below and tests/cli."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng, n, found = np.random.default_rng(1), 400, tmp_path_factory.mktemp("told")
    town = rng.integers(0, 4, n)
    day, month, year = rng.integers(1, 4, n), rng.integers(1, 3, n), 2001 + town % 2
    people = {
        "ill": np.where(rng.random(n) < 0.2 + 0.1 * town, "yes", "no"),
        "sex": rng.choice(["f", "m"], n),
        "town": np.array(["Ash", "Birch", "Cove", "?"])[town],
        "age": rng.choice([18, 25, 40, 66, 80], n),
        "born": [f"{day[i]:02}.{month[i]:02}.{year[i]}" for i in range(n)],
    }
    pd.DataFrame(people).to_csv(found / "people.csv", index=False)
    return found


def asked(seed, table):
    """A random Spec for the table: a promise, and what can be asked with it about its columns."""
    draw = random.Random(seed)  # noqa: S311 - of examples
    said = {"table": str(table), "secret": "ill", "columns": ["sex", "town", "born"], "time_limit": 1.0, "gap": 0.02}
    said |= {"exact_fit": True, "unit": "row"} | PROMISES[seed % len(PROMISES)]
    for more in draw.sample(MORE, len(MORE) // 2):
        about = {name for value in more.values() if isinstance(value, dict) for name in value}
        about |= {*more.get("keep_exact", ())}
        if about <= set(said["columns"]):
            try:
                said = Spec.model_validate(more | said).said()
            except ValidationError:
                continue
    return Spec.model_validate(said)


def fitted(spec, file, capsys):
    """The protocol, or None with the line that refuses it."""
    done = run(["fit", *as_flags.words(spec), "-o", str(file), "--json"])
    told = capsys.readouterr()
    assert done in (0, 2), told.err
    return (pf.Protocol.load(file), "") if done == 0 else (None, told.err)


@pytest.mark.parametrize("seed", range(len(PROMISES)))
def test_a_random_fit_is_repeated_by_what_its_file_tells(folder, tmp_path, capsys, seed):
    spec = asked(seed, folder / "people.csv")
    first, why = fitted(spec, tmp_path / "first.json", capsys)
    assert first is not None, why
    told = spec_of(first, str(spec.table))
    assert told is not None
    silent = {*not_told(first), *(["objective"] if spec.kept == "faithful" else [])}  # which is the usual one
    assert set(spec.said()) - set(told.said()) <= silent
    rest = {name: getattr(spec, name) for name in not_told(first)}
    again = Spec.model_validate({**told.said(), **{name: value for name, value in rest.items() if value is not None}})
    second, why = fitted(again, tmp_path / "second.json", capsys)
    assert second is not None, why
    assert spec_of(second, str(spec.table)) == told
    assert second.columns == first.columns
    assert second.notion == first.notion
    assert max(first.utility, second.utility) <= min(first.upper_bound, second.upper_bound) + 1e-9  # of the same search


def test_every_key_is_repeated_or_is_said_not_to_be():
    """A new key has to be told by the file, or by the report to be missing."""
    lists = [TOLD, set(NOT_TOLD), set(NOT_TOLD_OF_CHANGES), set(SAID_OTHERWISE)]
    assert set().union(*lists) == set(Spec.model_fields)
    assert sum(map(len, lists)) == len(Spec.model_fields)
    assert set(SAID_OTHERWISE.values()) <= TOLD


def test_a_report_says_which_options_it_cannot_repeat(folder):
    joint = pf.Joint.from_table(folder / "people.csv", "ill", ["sex", "town"], private=1.0)
    first = pf.optimise(joint, pf.LIP(0.3), objective="faithful")
    second = pf.optimise(joint, pf.LIP(0.6), objective="faithful", after=first)
    assert not_told(first) == list(NOT_TOLD)
    assert steps(first, "people.csv").to_add == (
        "The protocol file does not record these options: --where, --set unit, --delimiter, --encoding, "
        "--set gap, --time-limit. If you used one of them, add it."
    )
    assert spec_of(first, "people.csv").after is None
    assert spec_of(second, "people.csv").after == BEFORE
    assert "--set was" in steps(second, "people.csv").to_add


def test_readers_that_no_option_names_are_asked_for_in_python(folder):
    joint = pf.Joint.from_table(folder / "people.csv", "ill", ["sex", "town"])
    protocol = pf.optimise(joint, pf.LIP(0.5), readers=["town"])
    assert spec_of(protocol, "people.csv") is None
    assert "readers=[('town',)], give_up=0.01)" in steps(protocol, "people.csv").python
