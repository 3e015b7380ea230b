"""Whatever a private fit decides follows from noisy counts: the same noisy counts of another table end the same way.

What every mechanism draws for one table is recorded, and drawn again for others with as many people: one record
differs, so that a declared value of the secret and a combination of values occur no more; all secrets are exchanged;
everybody is alike. Exit code, file, refusal and `--json`, but for what is the steward's, must be the same to the byte.
"""

import ast
import dataclasses
import json
import sys
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import command, run
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import threshold_for
from privacyfunnel.protocols.file import to_text
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.for_steward import ForSteward
from spark_parts import spark

MECHANISMS = {
    "tables.private_counts.noised": "noised",
    "tables.private_counts.noise_above": "noised_above",
    "tables.wide.marginals.noised_in_part": "noised_in_part",
    "tables.wide.choosing.noised_in_part": "noised_in_part",
    "tables.wide.all_pairs.gaussian_noised": "gaussian_noised",
    "advice.choosing.noisy_largest": "noisy_largest",
    "model.fitting.gaussian_noised": "gaussian_noised",
    "model.fitting.noisy_largest": "noisy_largest",
}
"""Everything that draws noise, and what it draws with. `noised_above` itself does not know which cells it is handed."""
DOMAIN = {
    "state": ["ill", "rare", "well"],
    "other": ["no", "yes"],
    "town": ["a", "b", "c"],
    "age": [0, 30, 50, 70, 100],
    "job": [1, 2],
    "room": [1, 2, 3],
    "car": ["no", "yes"],
    "pet": ["cat", "dog", "none"],
}
BINS = ("age",)
NUMBERS = ("job", "room")
PEOPLE = 400
SECRETS = {"ill": "well", "well": "rare", "rare": "ill", "yes": "no", "no": "yes"}
"""Which secret is exchanged for which."""
LOST, FLIPPED, ALIKE = "one record differs", "all secrets differ", "everybody is alike"
WATCHED = ("privacyfunnel.cli.fitting", "privacyfunnel.cli.searching")
"""Where exact counts come by, and are to be gone."""
OTHERS = (LOST, FLIPPED, ALIKE)
MOVED = "one record differs, and no value is lost"
ODD = "one record has a number and a text that no other has"
AS_READ = (MOVED, FLIPPED)
"""Where no domain is declared, values are read from the table: these have the same."""


def domain(path, *copies):
    columns = []
    for name in (*DOMAIN, *copies):
        values = DOMAIN[name.removesuffix(" now")]
        kind = "bins" if name.startswith(BINS) else "integer" if name.startswith(NUMBERS) else "text"
        columns.append({"name": name, "kind": kind, "edges" if kind == "bins" else "values": values})
    path.write_text(json.dumps({"schema": "privacyfunnel-domain/1", "columns": columns}), encoding="utf-8")
    return str(path)


def rough(path):
    """A domain that says little: of one column a value and all others, of another ranges."""
    text = path.with_name("domain.json").read_text(encoding="utf-8")
    columns = json.loads(text)["columns"]
    columns[-1] |= {"values": ["cat"], "outside": "other"}
    path.write_text(json.dumps({"schema": "privacyfunnel-domain/1", "columns": columns}), encoding="utf-8")


def write(path, rows):
    days = [f"20{20 + i % 3}-01-05" for i in range(len(rows))]
    lines = [",".join(map(str, (i, *row, day))) for i, (row, day) in enumerate(zip(rows, days, strict=True))]
    lines.insert(0, ",".join(["id", *DOMAIN, "day"]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def records():
    """Somebody is the only one whose state is rare, and the only one of their town and age."""
    rng = np.random.default_rng(5)
    rows = [["rare", "yes", "c", 80, 1, 3, "no", "dog"]]
    for _ in range(PEOPLE - 1):
        town, age = rng.choice(["a", "b", "c"], p=[0.5, 0.35, 0.15]), int(rng.choice([20, 40, 60, 80]))
        ill = rng.random() < 0.2 + 0.3 * (town == "b") + 0.1 * (age > 50)
        town = "a" if (town, age) == ("c", 80) else town
        rest = [int(rng.integers(1, 3)), int(rng.integers(1, 4)), rng.choice(["no", "yes"]), rng.choice(["cat", "dog"])]
        rows.append(["ill" if ill else "well", rng.choice(["no", "yes"]), town, age, *rest])
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory, noise_with_seed):
    """The table, the others, and what was released before of the first."""
    folder, rows = tmp_path_factory.mktemp("replayed"), records()
    write(folder / "people.csv", rows)
    write(folder / f"{LOST}.csv", [["well", "yes", "a", 20, 1, 3, "no", "dog"], *rows[1:]])
    write(folder / f"{MOVED}.csv", [rows[0], ["well", "no", "b", 40, 2, 1, "no", "cat"], *rows[2:]])
    write(folder / f"{FLIPPED}.csv", [[*map(SECRETS.get, row[:2]), *row[2:]] for row in rows])
    write(folder / f"{ALIKE}.csv", [["well", "no", "b", 40, 2, 1, "no", "cat"]] * PEOPLE)
    write(folder / f"{ODD}.csv", [[*rows[0][:3], 80.25, *rows[0][4:-1], "iguana"], *rows[1:]])
    domain(folder / "domain.json"), domain(folder / "both.json", "town now", "age now")
    rough(folder / "rough.json")
    was = [[*row[:2], "b" if i % 7 == 0 else row[2], *row[3:]] for i, row in enumerate(rows[:-20])]
    write(folder / "was.csv", was)
    kept = ["--internal", str(folder / "kept.parquet"), "--person", "id", "-o", str(folder / "open.csv")]
    given = ["--domain", str(folder / "domain.json"), *ASKED, *COLUMNS]
    with noise_with_seed(1):
        for table, name in (("people", "first"), ("was", "then")):
            found = folder / f"{name}.json"
            assert run(["fit", str(folder / f"{table}.csv"), *given, "-o", str(found), "--json"]) == 0
    assert run(["sanitise", str(folder / "people.csv"), "--protocol", str(folder / "first.json"), *kept, "--json"]) == 0
    return folder


ASKED = ["--secret", "state", "--epsilon", "0.5", "--private", "8"]
COLUMNS = ["--columns", "town,age"]


def large_only(rng, counts, epsilon, delta):
    """Stands in for OpenDP's, which takes no seed."""
    noisy = counts + np.rint(rng.laplace(0, 2 / epsilon, len(counts))).astype(np.int64)
    return np.where(noisy >= threshold_for(epsilon, delta), noisy, 0)


class Replay:
    """What mechanisms draw for a first table, which they draw again for others."""

    def __init__(self, monkeypatch):
        self.drawn, self.place = [], None
        large = partial(large_only, np.random.default_rng(3))
        monkeypatch.setattr("privacyfunnel.tables.private_counts.noised_above", large)
        for name in MECHANISMS:
            module, _, function = name.rpartition(".")
            there = import_module(f"privacyfunnel.{module}")
            monkeypatch.setattr(there, function, partial(self._draw, name, getattr(there, function)))

    def again(self):
        """From here on it is the noise of the first table."""
        self.place = 0

    def _draw(self, name, mechanism, *given, **said):
        found = mechanism(*given, **said)
        if self.place is None:
            self.drawn.append((name, found))
            return found
        drawn_by, noisy = self.drawn[self.place]
        self.place += 1
        assert drawn_by == name
        if dataclasses.is_dataclass(noisy):  # all else that is said of the counts is said of these
            return dataclasses.replace(found, counts=noisy.counts, codes=noisy.codes)
        return noisy.copy() if isinstance(noisy, np.ndarray) else noisy


def without_the_stewards(text):
    """What a fit said to machines, without what is the steward's, and what the clock said."""
    said = json.loads(text) if text else {}
    return {
        key: value for key, value in said.items() if key not in ("steward_only", "search", "seconds", "other_noise")
    }


def ended(table, options, output, capsys, how=("--json",)):
    """How a fit ends, for anybody."""
    output.unlink(missing_ok=True)
    capsys.readouterr()
    code = run(["fit", str(table), *options, "-o", str(output), *how])
    said = capsys.readouterr()
    told = without_the_stewards(said.out.replace(str(table), "TABLE")) if how else None
    return code, said.err, told, output.read_bytes() if output.exists() else None


def asked_of(folder, options, monkeypatch):
    """What is typed; models are fitted of these small tables if that is asked for."""
    if MODEL in options:
        monkeypatch.setattr("privacyfunnel.spec.counting.MOST_LISTED", 0)
    return [option.replace("FOLDER", str(folder)) for option in options if option != MODEL]


def check(folder, options, tmp_path, monkeypatch, capsys, tables=OTHERS, how=("--json",)):
    """The same noise, whatever the table: the same end. Returns the first one's."""
    options = asked_of(folder, options, monkeypatch)
    replay = Replay(monkeypatch)
    first = ended(folder / "people.csv", options, tmp_path / "p.json", capsys, how)
    drawn = len(replay.drawn)
    for table in tables:
        replay.again()
        other = ended(folder / f"{table}.csv", options, tmp_path / "p.json", capsys, how)
        for one, same in zip(first, other, strict=True):
            assert one == same, table
        assert replay.place == drawn, table
    return first


BASE = ["--domain", "FOLDER/domain.json", "--private", "8"]
PLAIN = [*BASE, "--secret", "state", *COLUMNS]
DECLARED = [*PLAIN, "--epsilon", "0.5"]
INFORMED = [*DECLARED, "--set", "objective=information"]
KNOWN = [*DECLARED, "--notion", "srlip"]
CHOSEN = [*DECLARED, "--columns", "auto"]
MODEL = "A MODEL"
"""Of small tables."""
WIDE = [MODEL, *DECLARED, "--columns", "town,age,job", "--private", "50"]
EVERY = [*DECLARED, "--columns", "other,town,age,job,room,car,pet"]
ALL = [*EVERY, "--set", "at-least=10"]
AFTER = [
    *DECLARED,
    "--columns",
    "town,age,job",
    "--epsilon",
    "2",
    "--set",
    "after=FOLDER/first.json",
    "--set",
    "insist",
]
BOTH = [
    "--domain",
    "FOLDER/both.json",
    "--private",
    "8",
    "--secret",
    "state",
    *COLUMNS,
    "--epsilon",
    "1",
    "--set",
    "insist",
]
CHANGED = [*BOTH, "--set", "after=FOLDER/then.json", "--set", "was=FOLDER/was.csv", "--set", "person=id"]
READ = ["--private", "8", "--secret", "state", "--columns", "town,age,day", "--epsilon", "0.5", "--set", "at-least=1"]
READ += [
    "--set",
    "unit=row",
    "--set",
    "written=age=point",
    "--set",
    "bins=age=0,50,100",
    "--set",
    "top=town=2",
    "--set",
    "dates=day=year",
    "--set",
    "missing=NA",
]
KEPT = {
    "plain": DECLARED,
    "every combination": [
        *DECLARED,
        "--set",
        "at-least=1",
        "--set",
        "gap=0.01",
        "--time-limit",
        "100",
        "--set",
        "weight=town=2",
    ],
    "large counts only": [*DECLARED, "--set", "delta=1e-6"],
    "somebody insists": [*DECLARED, "--private", "0.5", "--set", "insist"],
    "ldp": [*DECLARED, "--notion", "ldp"],
    "two bounds": [*PLAIN, "--notion", "alip", "--set", "lower=0.5", "--set", "upper=1"],
    "pml": [*DECLARED, "--notion", "pml"],
    "perfect": [*PLAIN, "--notion", "perfect"],
    "levels for values": [*PLAIN, "--epsilon", "ill=0.3,rare=0.8,well=1"],
    "limits on belief": [*PLAIN, "--notion", "belief", "--epsilon", "ill=0.6"],
    "an order": [
        *BASE,
        "--secret",
        "age",
        "--columns",
        "town",
        "--epsilon",
        "1",
        "--set",
        "ordered",
        "--set",
        "per-range=1",
    ],
    "a share": [*PLAIN, "--set", "keep=0.8"],
    "errors": [*PLAIN, "--set", "error=town=0.05"],
    "information": INFORMED,
    "readers": [*INFORMED, "--set", "readers=shares", "--set", "give-up=0.02"],
    "two secrets": [*DECLARED, "--secret", "other", "--epsilon", "state=0.3,other=0.6"],
    "two columns that are one secret": [*BASE, "--secret", "state,other", *COLUMNS, "--epsilon", "0.5"],
    "exact columns": [*DECLARED, "--keep-exact", "age", "--epsilon", "2"],
    "side channels": [*KNOWN, "--columns", "town,job", "--known", "1"],
    "named side channels": [*KNOWN, "--columns", "town,job", "--known", "town"],
    "groups": [*DECLARED, "--set", "group=town:inland=a,b"],
    "filled columns": [*DECLARED, "--set", "fill=rest", "--private", "16"],
    "filled columns, and ranges": [*DECLARED, "--set", "fill=job,car", "--private", "16", "--set", "ranges"],
    "filled columns, some rows never": [
        *DECLARED,
        "--set",
        "fill=car",
        "--private",
        "16",
        "--set",
        "never=town = 'c' and car = 'yes'",
    ],
    "some rows": [*DECLARED, "--where", "id >= 0", "--set", "delimiter=,", "--set", "encoding=utf-8"],
    "columns chosen": [*CHOSEN, "--leave-out", "other,car,pet", "--set", "coarsen=auto"],
    "columns that nobody names": [
        *BASE,
        "--secret",
        "state",
        "--epsilon",
        "0.5",
        "--leave-out",
        "other,job,room,car,pet",
    ],
    "ranges merged": [*DECLARED, "--columns", "town,age", "--set", "coarsen=auto"],
    "a model": WIDE,
    "a model, Laplace noise": [*WIDE, "--set", "delta=0"],
    "a model, little δ₀": [
        MODEL,
        *BASE,
        "--secret",
        "other",
        *COLUMNS,
        "--epsilon",
        "0.5",
        "--set",
        "delta=1e-9",
    ],
    "a model of columns that are chosen": [*WIDE, "--columns", "auto", "--leave-out", "room,car,pet"],
    "a model of one column": [*WIDE, "--columns", "age"],
    "a follow-up": AFTER,
    "a follow-up of what was released": [*AFTER, "--set", "released=FOLDER/kept.parquet", "--set", "person=id"],
    "people who changed": CHANGED,
    "people who keep their row": [*CHANGED, "--set", "unchanged=keep", "--set", "cover=2"],
    "too fine": [*EVERY, "--private", "50", "--set", "at-least=2", "--set", "insist"],
    "on with it": ["--set", "improve=FOLDER/first.json"],
    "as the table has it": READ,
}
"""Fits by what is asked for, all but the last with a declared domain."""
REFUSED = {
    "a ruined table": [*DECLARED, "--set", "at-least=60"],
    "too fine": ALL,
    "a secret that does not show": [*DECLARED, "--private", "0.01"],
    "few large counts": [*DECLARED, "--set", "delta=1e-9", "--private", "0.7"],
    "no large counts": [*DECLARED, "--set", "delta=1e-9", "--private", "0.1"],
    "exact columns that say too much": [*DECLARED, "--keep-exact", "town"],
    "a follow-up that ruins a table": [*AFTER[:-2], "--private", "0.5", "--set", "at-least=40"],
    "a model in noise": [*WIDE, "--private", "0.01"],
}
"""Fits that end in a refusal, by noise or as the promise is."""
ELSEWHERE = {
    "table", "output", "force", "json", "recipe",  # of every fit
    "exact_fit", "allow_secret_attribute",  # without noise
    "engine", "master",  # only who counts: fits on Spark are below
}  # fmt: skip
"""Options that these fits do not have."""
LONG = {
    "a population": [*INFORMED, "--confidence", "0.95", "--set", "within=nested", "--set", "chain=town,age"],
    "ranges sought": [*KNOWN, "--set", "coarsen=search", "--time-limit", "100"],
}


@pytest.mark.parametrize("options", KEPT.values(), ids=KEPT)
def test_the_same_noisy_counts_end_in_the_same_file(folder, options, tmp_path, monkeypatch, capsys):
    if MODEL in options and "auto" in options:
        monkeypatch.setattr("privacyfunnel.tables.wide.choosing.MOST_COMBINATIONS", 20)
    tables = OTHERS if {"--domain", "improve=FOLDER/first.json"} & {*options} else AS_READ
    code, _, told, file = check(folder, options, tmp_path, monkeypatch, capsys, tables)
    assert code == 0
    assert told
    assert file


@pytest.mark.parametrize(("kept", "filled"), [("town", "age,pet"), ("age,pet", "town")])
def test_a_declared_domain_is_all_that_is_told_of_values_that_are_filled(
    folder, kept, filled, tmp_path, monkeypatch, capsys
):
    """Of how many digits a number has, and of a text that counts as other, nothing is in the file."""
    asked = ["--domain", "FOLDER/rough.json", "--secret", "state", "--epsilon", "0.5", "--private", "8"]
    options = [*asked, "--columns", kept, "--set", f"fill={filled}"]
    code, _, _, file = check(folder, options, tmp_path, monkeypatch, capsys, (ODD,))
    assert code == 0
    assert file


def released(table, options, output, capsys):
    """How a release of a table that is called people.csv ends, for anybody: all that no row is in."""
    (output.parent / "people.csv").write_bytes(table.read_bytes())
    capsys.readouterr()
    code = run(["release", str(output.parent / "people.csv"), *options, "-o", str(output), "--force", "--json"])
    told = without_the_stewards(capsys.readouterr().out)
    told.pop("files", None)
    recipe = output.with_name(output.name + ".recipe.toml").read_bytes()
    return code, told, recipe, *((output / name).read_bytes() for name in ("protocol.json", "report.html"))


def test_the_same_noisy_counts_end_in_the_same_release(folder, tmp_path, monkeypatch, capsys):
    asked = ["--domain", str(folder / "domain.json"), "--secret", "state", "--private", "9"]
    options = [*asked, "--leave-out", "other,room,car"]
    replay = Replay(monkeypatch)
    first = released(folder / "people.csv", options, tmp_path / "folder", capsys)
    assert first[0] == 0
    replay.again()
    assert released(folder / f"{ALIKE}.csv", options, tmp_path / "folder", capsys) == first


@pytest.mark.parametrize("options", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("how", [("--json",), ()], ids=["for machines", "for people"])
def test_the_same_noisy_counts_end_in_the_same_refusal(folder, options, how, tmp_path, monkeypatch, capsys):
    code, said, _, file = check(folder, options, tmp_path, monkeypatch, capsys, how=how)
    assert code == 2
    assert said
    assert file is None


@pytest.mark.long
@pytest.mark.parametrize("options", LONG.values(), ids=LONG)
def test_the_same_noisy_counts_end_in_the_same_file_after_a_long_search(folder, options, tmp_path, monkeypatch, capsys):
    assert check(folder, options, tmp_path, monkeypatch, capsys)[0] == 0


# Follow-ups and models are fitted on this machine only: with --engine spark they are refused.
ON_SPARK = {
    **{name: (KEPT[name], 0) for name in ("plain", "large counts only", "two secrets", "columns chosen")},
    **{name: (KEPT[name], 0) for name in ("named side channels", "as the table has it")},
    **{name: (REFUSED[name], 2) for name in ("a ruined table", "no large counts")},
}


@pytest.fixture(scope="module")
def spark_session():
    with spark() as session:
        yield session


@pytest.mark.long
@pytest.mark.parametrize(("options", "ends"), ON_SPARK.values(), ids=ON_SPARK)
def test_the_same_noisy_counts_end_the_same_way_on_spark(
    spark_session, folder, options, ends, tmp_path, monkeypatch, capsys
):
    tables = OTHERS if "--domain" in options else AS_READ
    options = [*options, "--set", "engine=spark", "--set", "master=local[2]"]
    code, _, _, file = check(folder, options, tmp_path, monkeypatch, capsys, tables)
    assert code == ends
    assert (file is not None) == (ends == 0)


@pytest.mark.long
@pytest.mark.parametrize(
    ("place", "watched"),
    [
        ("tables.private_counts._follows", ()),
        ("cli.searching.optimise_inside", WATCHED),
    ],
)
def test_what_follows_the_noise_has_no_exact_counts_at_hand_on_spark(
    spark_session, folder, place, watched, tmp_path, monkeypatch
):
    found = out_of_reach(monkeypatch, place, watched)
    options = [option.replace("FOLDER", str(folder)) for option in DECLARED]
    asked = [*options, "--set", "engine=spark", "--set", "master=local[2]", "-o", str(tmp_path / "p.json"), "--json"]
    assert run(["fit", str(folder / "people.csv"), *asked]) == 0
    assert found == {place: []}


def test_every_option_of_a_private_fit_is_among_these():
    typed = [word for options in (*KEPT.values(), *REFUSED.values(), *LONG.values()) for word in options]
    asked = {each.name for each in command("fit").params if {*typed} & {*each.opts}}
    settings = [after for word, after in pairwise(typed) if word == "--set"]
    asked |= {text.partition("=")[0].replace("-", "_") for text in settings}
    assert asked | ELSEWHERE == {each.name for each in command("fit").params} | {*Spec.model_fields}
    assert not asked & ELSEWHERE


def test_noise_is_drawn_nowhere_else():
    source, found = Path(pf.__file__).parent, set()
    for path in source.rglob("*.py"):
        module = ".".join(path.relative_to(source).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and not module.startswith("drawing."):
                found |= {(module, alias.name) for alias in node.names if alias.name in MECHANISMS.values()}
    assert found == {(name.rpartition(".")[0], drawn) for name, drawn in MECHANISMS.items()}


def exact_within(value, seen=None):
    """Exact counts that can be reached from a value without asking for what only the steward is told."""
    seen = {} if seen is None else seen
    if id(value) in seen or isinstance(value, ForSteward | type):
        return []
    seen[id(value)] = value
    if isinstance(value, Joint) and value.counted:
        return [value]
    parts = vars(value).values() if hasattr(value, "__dict__") else ()
    if isinstance(value, dict):
        parts = [*value, *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = value
    elif isinstance(value, partial):
        parts = [*value.args, *value.keywords.values()]
    return [joint for part in parts for joint in exact_within(part, seen)]


def out_of_reach(monkeypatch, place, watched):
    """Have a function look, when it is called, for exact counts in what it is handed and in who calls it."""
    module, _, name = place.rpartition(".")
    home = import_module(f"privacyfunnel.{module}")
    call = getattr(home, name)

    def looked(*given, **said):
        callers, frame = {}, sys._getframe(1)
        while frame is not None:
            if frame.f_globals.get("__name__") in watched:
                callers |= {f"{frame.f_code.co_name}: {key}": value for key, value in frame.f_locals.items()}
            frame = frame.f_back
        found[place] = [key for key, value in {**callers, "handed": (given, said)}.items() if exact_within(value)]
        return call(*given, **said)

    found = {place: None}
    monkeypatch.setattr(home, name, looked)
    return found


@pytest.mark.parametrize(
    ("place", "watched", "options"),
    [
        ("tables.private_counts._follows", (), DECLARED),
        ("cli.searching.optimise_inside", WATCHED, DECLARED),
        ("cli.searching.optimise_inside", WATCHED, KEPT["columns chosen"]),
        ("cli.searching.optimise", WATCHED, CHANGED),
        ("advice.merged.coarsened", (), LONG["ranges sought"]),
        ("tables.wide.fit._follows", (), WIDE),
    ],
)
def test_what_follows_the_noise_has_no_exact_counts_at_hand(folder, place, watched, options, tmp_path, monkeypatch):
    found = out_of_reach(monkeypatch, place, watched)
    options = asked_of(folder, options, monkeypatch)
    assert run(["fit", str(folder / "people.csv"), *options, "-o", str(tmp_path / "p.json"), "--json"]) == 0
    assert found == {place: []}


MEASURED = {
    "cli.steward_only.own_table": DECLARED,
    "cli.advising.advice_on": KEPT["too fine"],
    "cli.wide_own.checked_on": WIDE,
}
"""What is measured for the steward, and a fit that does."""


@pytest.mark.parametrize(("place", "options"), MEASURED.items(), ids=MEASURED)
@pytest.mark.parametrize("how", [("--json",), ()], ids=["for machines", "for people"])
def test_what_only_the_steward_is_told_decides_nothing(folder, place, options, how, tmp_path, monkeypatch, capsys):
    options = asked_of(folder, options, monkeypatch)
    replay = Replay(monkeypatch)
    first = ended(folder / "people.csv", options, tmp_path / "p.json", capsys, how)
    replay.again()
    called = []

    def fails(*_, **__):
        called.append((tmp_path / "p.json").exists())
        np.mean([])  # warns
        raise ZeroDivisionError

    monkeypatch.setattr(f"privacyfunnel.{place}", fails)
    assert ended(folder / "people.csv", options, tmp_path / "p.json", capsys, how) == first
    assert first[0] == 0
    assert called == [True]  # once, when all else was decided


def test_who_is_refused_is_still_advised(folder, tmp_path, monkeypatch, capsys):
    options = [option.replace("FOLDER", str(folder)) for option in ALL]
    assert run(["fit", str(folder / "people.csv"), *options, "-o", str(tmp_path / "p.json")]) == 2
    said = " ".join(capsys.readouterr().out.split())
    assert said.index("For you alone: these figures are exact") < said.index("too fine: 400 people")
    monkeypatch.setattr("privacyfunnel.cli.advising.advice_on", None)
    assert run(["fit", str(folder / "people.csv"), *options, "-o", str(tmp_path / "p.json")]) == 2


def test_a_report_that_cannot_measure_the_table_is_that_of_the_file(folder, tmp_path, monkeypatch, capsys):
    ask = ["report", str(folder / "first.json"), "--table", str(folder / "people.csv"), "--no-curves", "--json"]
    assert run([*ask, "-o", str(tmp_path / "own.html")]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["steward_only"]["own_table"]
    monkeypatch.setattr("privacyfunnel.report.account.measure", None)
    assert run([*ask, "-o", str(tmp_path / "other.html")]) == 0
    second = json.loads(capsys.readouterr().out)
    assert "steward_only" not in second
    assert {key: second[key] for key in first if key not in ("steward_only", "report")} == {
        key: value for key, value in first.items() if key not in ("steward_only", "report")
    }
    assert (tmp_path / "other.html").exists()


def from_python(folder, table):
    people = folder / f"{table}.csv"
    joint = pf.Joint.from_table(people, "state", ["town", "age"], private=8, at_least=10, domain=folder / "domain.json")
    return to_text(pf.optimise(joint, pf.LIP(0.5)))


def from_scikit_learn(folder, table):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    people = pd.read_csv(folder / f"{table}.csv")[["state", "town", "age"]]
    funnel = pf.PrivacyFunnel("lip", 0.5, secret="state", private=8.0, at_least=10, domain=folder / "domain.json")
    return to_text(funnel.fit(people).protocol_)


def from_the_studio(folder, table):
    desk = pytest.importorskip("privacyfunnel.studio.actions")
    protecting = pytest.importorskip("privacyfunnel.studio.protecting")
    opened = desk.open_table(folder / f"{table}.csv", "people.csv")
    counts = desk.count(opened, "state", ["town", "car"])
    private = protecting.Protection(8.0, 0)
    found = desk.solve(counts, opened, pf.SRLIP(1.0), None, lambda _: None, protection=private)
    return to_text(found.account.protocol)


@pytest.mark.parametrize(
    ("fitted", "tables"), [(from_python, OTHERS), (from_scikit_learn, OTHERS), (from_the_studio, AS_READ)]
)
def test_the_same_noisy_counts_give_the_same_protocol_elsewhere(folder, fitted, tables, monkeypatch):
    replay = Replay(monkeypatch)
    first = fitted(folder, "people")
    for table in tables:
        replay.again()
        assert fitted(folder, table) == first


def test_the_studio_finds_the_same_where_it_cannot_measure_the_table(folder, monkeypatch):
    replay = Replay(monkeypatch)
    first = from_the_studio(folder, "people")
    monkeypatch.setattr("privacyfunnel.report.account.measure", None)
    replay.again()
    assert from_the_studio(folder, "people") == first
