"""What is drawn is what is proven: for everybody who can come, the column that draws is the certified one.

Protocols are those of the command line, with its defaults: noise on the counts, and rare combinations read as others.
"""

import json
import re
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, reduce
from math import inf
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import privacyfunnel as pf
from drawn_law import columns_of, law, law_of_plan, level, plausibility, rows_with
from privacyfunnel.cli.app import run
from privacyfunnel.proof.certificate import entries_of
from privacyfunnel.proof.histories import entries_together
from privacyfunnel.proof.public import published_joint
from privacyfunnel.proof.together import certify_together
from privacyfunnel.protocols.file import load
from privacyfunnel.tables.auditing import audited_joint
from privacyfunnel.tables.changes import as_it_was
from privacyfunnel.tables.reading_back import outputs_of_rows
from privacyfunnel.tables.sources import open_source
from small_models import small_models

ROWS = 4000
ABSURD = 1e-9
"""Rows as far from their law as these are drawn once in so many releases; keys and words are new in each run."""
FIRST, SECOND = "--columns town,job --epsilon 0.3", "--columns town,job,sex --epsilon 1.5"
EXACT = "--set exact-fit --set at-least=10"
KINDS = {
    "rows to be counted": [FIRST],
    "the most information": [f"{FIRST} --set objective=information"],
    "exact counts": [f"{FIRST} {EXACT}"],
    "counts above a threshold": [f"{FIRST} --set delta=1e-9 --set insist"],
    "an exact column": ["--columns sex,job --keep-exact sex --epsilon 0.7"],
    "two promises": ["--columns town,job --secret smoker --epsilon ill=0.5,smoker=0.7"],
    "side channels": ["--columns town,job --notion srlip --known 1 --epsilon 0.7"],
    "a population": ["--columns town,sex --confidence 0.95 --epsilon 0.9"],
    "ranges, groups and others": [
        "--columns town,job,age --set group=town:north=Dune,Elm --set top=job=2 --set bins=age=18,50,90 "
        "--set missing=? --epsilon 0.5"
    ],
    "a model": ["--columns town,job,sex --epsilon 0.5"],
    "a model with groups": ["--columns town,job,sex --epsilon 0.5 --time-limit 0"],
    "a follow-up": [FIRST, SECOND],
    "a follow-up with a key": [FIRST, SECOND],
    "a follow-up of information": [f"{FIRST} --set objective=information", f"{SECOND} --set objective=information"],
    "a follow-up of exact counts": [f"{FIRST} {EXACT}", f"{SECOND} {EXACT}"],
    "a follow-up to an exact column": ["--columns sex,job --keep-exact sex --epsilon 0.7", SECOND],
    "finer ranges": [
        f"--columns age --set bins=age=18,50,90 --epsilon 0.3 {EXACT}",
        f"--columns age,town --set bins=age=18,30,50,70,90 --epsilon 0.8 {EXACT}",
    ],
    "a third release with a key": [
        f"--columns town --epsilon 0.2 {EXACT}",
        f"--columns town,job --epsilon 0.4 {EXACT}",
        f"--columns town,job,sex --epsilon 0.7 {EXACT}",
    ],
    "people who changed": ["--columns town --epsilon 0.3", "--columns town --epsilon 2"],
    "people who changed, with a key": [
        f"--columns town,job --epsilon 0.2 {EXACT}",
        f"--columns town,job --epsilon 1.2 {EXACT}",
    ],
    "people who changed, all drawn": [
        f"--columns town --epsilon 0.3 {EXACT}",
        f"--columns town --epsilon 1 --set unchanged=draw {EXACT}",
    ],
    "people who changed twice, with a key": [
        f"--columns town --epsilon 0.2 {EXACT}",
        f"--columns town --epsilon 0.6 {EXACT}",
        f"--columns town --epsilon 1.2 {EXACT}",
    ],
}
"""The options of one fit after the other: each follows the one before."""


def people(seed=0):
    """A table with combinations of values that a few people have, which go with the secret."""
    rng = np.random.default_rng(seed)
    town, job = rng.choice(5, ROWS, p=[0.42, 0.3, 0.2, 0.06, 0.02]), rng.choice(4, ROWS, p=[0.45, 0.35, 0.17, 0.03])
    age = rng.integers(18, 90, ROWS)
    ill = rng.random(ROWS) < 0.1 + 0.25 * (town == 0) + 0.5 * (job == 3) + 0.2 * (age > 60)
    jobs = np.array(["baker", "clerk", "nurse", "smith"])[job]
    return pd.DataFrame({
        "id": rng.permutation(ROWS) + 1000,
        "town": np.array(["Ash", "Birch", "Cole", "Dune", "Elm"])[town],
        "job": np.where(rng.random(ROWS) < 0.03, "?", jobs),
        "age": age,
        "sex": rng.choice(["f", "m"], ROWS),
        "ill": np.where(ill, "yes", "no"),
        "smoker": np.where(rng.random(ROWS) < 0.2 + 0.3 * (job == 1), "yes", "no"),
    })  # fmt: skip


def a_year_later(table, newcomers, seed):
    """The ill move more often, some to a town that nobody lived in; some people are new, and some are gone."""
    rng = np.random.default_rng(seed)
    moves = rng.random(len(table)) < np.where(table.ill == "yes", 0.2, 0.05)
    towns = rng.choice(["Ash", "Birch", "Cole", "Fern"], len(table), p=[0.4, 0.4, 0.15, 0.05])
    later = table.assign(town=np.where(moves, towns, table.town)).iloc[100:]
    new = later[later.town != "Fern"].iloc[:newcomers].assign(id=lambda rows: rows.id + 10_000 * seed)
    return pd.concat([later, new]).sample(frac=1, random_state=seed)


def funnel(*arguments):
    return run([str(argument) for argument in arguments])


@dataclass(frozen=True)
class Made:
    """What the command line made of a kind: tables, protocols and released rows, one for each release."""

    kind: str
    folder: Path

    @property
    def changes(self):
        return "changed" in self.kind

    def tables(self, release):
        """The table of a release, and what people were before."""
        if not self.changes:
            return self.folder / "0.csv", []
        return self.folder / f"{release}.csv", [self.folder / f"{i}.csv" for i in range(release)]

    def path(self, release, end):
        return self.folder / f"{release}{end}"

    def make(self):
        """Fit and release, one after the other."""
        people().to_csv(self.path(0, ".csv"), index=False)
        for i, options in enumerate(KINDS[self.kind]):
            if i and self.changes:
                now = a_year_later(pd.read_csv(self.path(i - 1, ".csv")), 60 * ("key" in self.kind), i)
                now.to_csv(self.path(i, ".csv"), index=False)
            table, was = self.tables(i)
            before = [part for one in was for part in ("--was", one)]
            kept = [part for k in range(i) for part in ("--released", self.path(k, ".parquet"))]
            after = ["--set", f"after={self.path(i - 1, '.json')}"] if i else []
            past = ["--set", f"was={','.join(map(str, was))}", "--set", "person=id"] if was else []
            person, protocol = ["--person", "id"], self.path(i, ".json")
            asked = ["--secret", "ill", *options.split(), *after, *past]
            with small_models("model" in self.kind):
                assert funnel("fit", table, *asked, "-o", protocol, "--json") == 0
            with_key = ["--remember", self.folder / "people.key"]
            held = with_key if "key" in self.kind else ["--internal", self.path(i, ".parquet"), *kept]
            known = [] if "model" in self.kind else [*before, *person, *held]
            out = ["--keep-order", "-o", self.path(i, "-open.csv")]
            assert funnel("sanitise", table, "--protocol", protocol, *known, *out, "--json") == 0
        return self

    @property
    def releases(self):
        return len(KINDS[self.kind])

    @cached_property
    def protocols(self):
        paths = [self.path(i, ".json") for i in range(self.releases)]
        return [load(path) for path in paths]

    @property
    def protocol(self):
        return self.protocols[-1]

    @cached_property
    def source(self):
        table, was = self.tables(self.releases - 1)
        source = open_source(table)
        return as_it_was(source, was, self.protocol, "id", None, "utf-8")[0] if was else source

    @cached_property
    def joints(self):
        """The people whom the promise is about, and those of the table."""
        own = [audited_joint(self.protocol, self.source)]
        if self.protocol.noise is None:
            return own
        published = published_joint(self.protocol)
        return [published.before_gathering or published, *own]

    def audit(self, capsys):
        """What the command line says of the published counts, if there are any, and of the table."""
        table, was = self.tables(self.releases - 1)
        before = [part for one in was for part in ("--was", one)] + (["--person", "id"] if was else [])
        capsys.readouterr()
        assert funnel("audit", self.path(self.releases - 1, ".json"), "--table", table, *before, "--json") == 0
        found = json.loads(capsys.readouterr().out)
        return [found] if self.protocol.noise is None else [found, found["steward_only"]]

    def law(self):
        """As which row of the law each row of the table is drawn; and the law, by what is certified for a model."""
        if self.protocol.step.kind == "by_model":
            rows = read(open_source(self.path(0, ".csv")), self.protocol.columns)
            return self.cells(rows), law_of_plan(self.protocol.by_model.plan)
        joint = self.joints[-1]
        rows = read(self.source, joint.columns)
        x = places(joint, rows)
        first = {own: i for i, own in reversed(list(enumerate(x)))}
        return x, law(self.protocol, rows.take(pa.array([first[own] for own in range(joint.n_x)])))

    def cells(self, rows):
        """The number of the combination that each row has in a model."""
        codes = [column.encode(rows.column(column.name)) for column in self.protocol.columns]
        return np.ravel_multi_index(codes, [len(column) for column in self.protocol.columns]).tolist()

    def outputs(self, release):
        """The outputs that each row of a release stands for, and the identifiers of the rows."""
        table, _ = self.tables(release)
        ids, protocol, path = pd.read_csv(table).id.tolist(), self.protocols[release], self.path(release, "-open.csv")
        if protocol.step.kind == "by_model":
            return ids, np.array(self.cells(read(open_source(path), protocol.columns)))[:, None]
        return ids, outputs_of_rows(protocol, path)[:, None]


@pytest.fixture(scope="module")
def made(tmp_path_factory, noise_with_seed):
    """Each kind, made once."""
    found = {}

    def of(kind):
        if kind not in found:
            with noise_with_seed(zlib.crc32(kind.encode())):
                found[kind] = Made(kind, tmp_path_factory.mktemp("kind")).make()
        return found[kind]

    return of


def read(source, columns):
    """All rows of a table, each column as one array of plain values."""
    table = pa.Table.from_batches(list(source.batches([column.name for column in columns])))
    arrays = [array.combine_chunks() for array in table.columns]
    plain = [array.dictionary_decode() if pa.types.is_dictionary(array.type) else array for array in arrays]
    return pa.RecordBatch.from_arrays(plain, names=table.schema.names)


def places(joint, rows):
    """The number of the value of X of each row."""
    known = {tuple(codes): x for x, codes in enumerate(joint.codes.tolist())}
    codes = [column.encode(rows.column(column.name)).tolist() for column in joint.columns]
    return [known[own] for own in zip(*codes, strict=True)]


def certified(protocol, joint):
    """How often each row of the channel occurs whose outputs were checked."""
    entries = entries_together(protocol, joint)[0] if protocol.before is not None else entries_of(protocol, joint)
    found = {}
    for y, x, units in zip(entries.outputs.tolist(), entries.inputs.tolist(), entries.numerators, strict=True):
        found.setdefault(y, np.zeros(joint.n_x, dtype=object))[x] += int(units)
    return Counter(tuple(row.tolist()) for row in found.values())


def product(one, other):
    """The law of two releases that are drawn independently."""
    return {(*a, *b): row * column for a, row in one.items() for b, column in other.items() if (row * column).any()}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "model" not in kind])
def test_everybody_who_can_come_is_drawn_from_the_certified_column(made, capsys, kind):
    """Of the published counts and of the table: every value with every history, those that are read as others, too."""
    kind = made(kind)
    protocol, audits = kind.protocol, kind.audit(capsys)
    for joint, audit in zip(kind.joints, audits, strict=True):
        drawn = law(protocol, rows_with(joint.columns, joint.codes))
        assert columns_of(drawn) == certified(protocol, joint)
        if type(protocol.notion) is pf.LIP:
            told = audit["certificate"]["level"]  # infinity is no number of JSON's
            assert level(drawn, joint.weights) == pytest.approx(inf if told is None else told, abs=1e-9)
    assert audits[0]["certificate"]["holds"]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_were_drawn_have_the_certified_law_and_no_other(made, kind):
    kind, rng = made(kind), np.random.default_rng(99)  # other numbers than the tables are made of
    x, found = kind.law()
    ids, newest = kind.outputs(kind.releases - 1)
    before = [dict(zip(*kind.outputs(i), strict=True)) for i in range(kind.releases - 1)]
    told = [tuple(y for one in before for y in one.get(who, [None] * len(one[ids[-1]]))) for who in ids]
    assert plausibility(found, x, told, newest[:, 0].tolist(), rng) > ABSURD
    assert plausibility(found, x, told, newest[::-1, 0].tolist(), rng) < ABSURD


def test_releases_together_are_certified_as_they_are_drawn(made):
    kinds = [made(kind) for kind in ("rows to be counted", "the most information", "a follow-up", "exact counts")]
    (counted, told, followed, exact), joint = (kind.protocol for kind in kinds), kinds[2].joints[-1]
    rows = rows_with(joint.columns, joint.codes)
    for protocols in ([counted, told], [exact, counted], [followed], [followed, exact]):
        drawn = reduce(product, (law(protocol, rows) for protocol in protocols))
        assert certify_together(protocols, joint, pf.LIP(9.0)).level == pytest.approx(level(drawn, joint.weights))


def test_there_is_one_function_that_says_as_what_a_combination_is_read():
    """Whoever asks for the nearest value asks `read_as`, which looks first whether a combination is listed itself."""
    sources = {path: path.read_text(encoding="utf-8") for path in Path(pf.__file__).parent.rglob("*.py")}
    asking = {path.stem for path, text in sources.items() if re.search(r"\bread_as\b\(", text)}
    assert asking == {"nearest", "block", "by_history", "follow_up", "noise"}
    assert [path.stem for path, text in sources.items() if re.search(r"import .*\bnearest\b(?!\.)", text)] == [
        "first_program"
    ]
