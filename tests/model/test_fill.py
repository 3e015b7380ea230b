"""Fill: what is drawn of further columns hangs on the released row, the file and fresh randomness, on nothing else."""

import io
import json
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest

import privacyfunnel as pf
from checked_files import sealed
from filled_people import FILLED, filled, kept, people
from privacyfunnel.cli.app import run
from privacyfunnel.drawing.randomness import Randomness
from privacyfunnel.errors import InvalidInput, InvalidProtocol, InvalidTable
from privacyfunnel.model.sampling import Sampler
from privacyfunnel.protocols.channel import UNIT
from privacyfunnel.protocols.everything import everything
from privacyfunnel.protocols.file import from_text, to_text
from privacyfunnel.protocols.fill import Fill, Filled, FillNoise
from privacyfunnel.publishing import check
from privacyfunnel.tables import fill as fill_of_table
from privacyfunnel.tables.fill import with_fill
from privacyfunnel.tables.reading_back import rows_in_batches
from privacyfunnel.tables.sources import open_source

NOISE = FillNoise(1.0, 1e-6, 0.2, 50.0, 3)


@pytest.fixture(scope="module")
def table():
    return people()


@pytest.fixture(scope="module")
def protocol(table, noise_with_seed):
    with noise_with_seed(3):
        return filled(table, kept(table))


def test_a_protocol_with_filled_columns_is_read_back_as_it_was_written(protocol):
    text = to_text(protocol)
    again = from_text(text)
    assert to_text(again) == text
    assert again.fill.names == FILLED
    assert again.table_columns == ("town", "job", "age", "wage", "score", "day", "few")
    assert again.attributes == ("town", "age")


def test_what_is_filled_does_not_hang_on_the_filled_columns_of_the_row(table, protocol):
    other = table
    order = np.random.default_rng(1).permutation(len(table))
    for name in (*FILLED, "ill"):
        other = other.set_column(table.schema.get_field_index(name), name, table[name].take(order))
    first, second = (protocol.sanitise(each, seed=5, keep_order=True) for each in (table, other))
    assert first.equals(second)


def test_what_is_filled_hangs_on_kept_columns_only_by_what_is_released_of_them(protocol):
    codes = np.tile(np.array([[1, 2]]), (50, 1))
    sampler = Sampler(protocol.fill, [(column.name, len(column)) for column in protocol.columns])
    first, second = (sampler.numbers(codes, Randomness.seeded(2)) for _ in range(2))
    assert (first == second).all()


def test_filled_values_are_drawn_by_their_probabilities():
    weights = np.array([[UNIT // 4, 3 * UNIT // 4, 0], [0, UNIT // 2, UNIT // 2]])
    fill = Fill((Filled("b", ("a",), weights, weights),), (), ("a", "b"), NOISE)
    rows = np.repeat([0, 1], 40_000)[:, None]
    drawn = Sampler(fill, [("a", 2)]).codes(rows, Randomness.seeded(1))["b"]
    for a in (0, 1):
        counts = np.bincount(drawn[rows[:, 0] == a], minlength=3)
        expected = 40_000 * weights[a] / UNIT
        assert (counts[expected == 0] == 0).all()
        there = expected > 0
        assert ((counts - expected)[there] ** 2 / expected[there]).sum() < 20
        assert ((counts - expected[::-1])[there] ** 2 / expected[there]).sum() > 1_000  # others are told apart


def test_released_tables_keep_types_and_formats(table, protocol):
    released = protocol.sanitise(table)
    for name in released.schema.names:
        kinds = [one.schema.field(name).type for one in (table, released)]
        kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in kinds]
        assert kinds[0] == kinds[1], name
    assert released.num_rows == table.num_rows
    cents = pc.multiply(released["score"], 100).to_numpy()
    assert np.abs(cents - np.rint(cents)).max() < 1e-6
    assert (np.abs(cents % 10) > 1e-6).any()
    assert pc.min(released["wage"]).as_py() >= 0
    assert released["wage"].null_count > 100


def test_numbers_within_kept_ranges_have_about_the_original_mean(table, protocol):
    released = protocol.sanitise(table, seed=3)
    assert abs(pc.mean(released["age"]).as_py() - pc.mean(table["age"]).as_py()) < 1.5
    assert abs(pc.mean(released["wage"]).as_py() / pc.mean(table["wage"]).as_py() - 1) < 0.1


def test_few_kept_ranges_are_counted_in_more_parts_each(table, noise_with_seed):
    with noise_with_seed(3):
        joint = pf.Joint.from_table(
            table, secret="ill", attributes=["town", "age"], private=2.0, at_least=5, bins={"age": [18, 40, 60, 81]}
        )
        protocol = pf.optimise(joint, pf.LIP(0.5), objective="faithful", gap=0.05)
        age = filled(table, protocol, names=["job"]).fill.within("age")
    assert np.bincount(age.parts[:, 0]).tolist() == [21, 20, 21]


def test_the_privacy_of_the_whole_file_is_the_sum(protocol):
    assert protocol.spent.epsilon == pytest.approx(6.0)
    assert protocol.spent.delta == pytest.approx(1e-6)
    told = everything(protocol)
    assert told.fit == pytest.approx(6.0)
    assert "δ₀" in told.words()
    assert everything(replace(protocol, fill=None)).fit == pytest.approx(2.0)


def changed(protocol, change):
    content = json.loads(to_text(protocol))
    change(content["chain"][1])
    return sealed(content)


FORGED = {
    "less noise": lambda fill: fill["noise"].update(sigma=fill["noise"]["sigma"] * 0.9),
    "more tables": lambda fill: fill["noise"].update(tables=fill["noise"]["tables"] + 5),
    "a parent that comes later": lambda fill: fill["filled"][0].update(parents=[fill["filled"][-1]["name"]]),
    "a column twice": lambda fill: fill["filled"].append(fill["filled"][0]),
    "a kept column that is filled": lambda fill: fill["filled"][0].update(name="town"),
    "no distribution": lambda fill: fill["filled"][0]["weights"][0].__setitem__(0, -1),
    "another order": lambda fill: fill.update(order=fill["order"][1:]),
    "the secret": lambda fill: (fill["filled"][0].update(name="ill"), fill["inside"][0].update(name="ill")),
    "numbers of another range": lambda fill: fill["inside"][-1]["parts"][0].__setitem__(2, 10**6),
    "parts that do not add up": lambda fill: fill["inside"][0]["parts"][0].__setitem__(3, 5),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_fill_that_contradicts_itself_is_refused(protocol, name):
    with pytest.raises(InvalidProtocol):
        from_text(changed(protocol, FORGED[name]))


def test_filled_columns_need_a_private_fit_once(table, protocol):
    with pytest.raises(InvalidInput, match="once"):
        filled(table, protocol)
    plain = pf.optimise(pf.Joint.from_table(table, "ill", ["town"]), pf.LIP(0.5), objective="faithful")
    with pytest.raises(InvalidInput, match="private fit"):
        filled(table, plain)
    with pytest.raises(InvalidProtocol, match="private fits"):
        replace(plain, fill=protocol.fill)


def test_another_table_is_refused(table, protocol):
    with pytest.raises(InvalidTable, match="other rows"):
        filled(table.slice(1), replace(protocol, fill=None))


def test_only_columns_that_are_read_more_finely_are_read_twice(table, monkeypatch):
    asked, usual = [], fill_of_table.fit_columns

    def fit_columns(source, names, wishes):
        asked.append(set(names))
        return usual(source, names, wishes)

    monkeypatch.setattr(fill_of_table, "fit_columns", fit_columns)
    found = fill_of_table._columns(open_source(table), FILLED, (), False)
    assert tuple(column.name for column in found) == FILLED
    first, second = asked
    assert first == set(FILLED)
    assert second == {column.name for column in found if column.kind == "bins" or column.other}


@pytest.fixture(scope="module")
def folder(table, protocol, tmp_path_factory):
    folder = tmp_path_factory.mktemp("filled")
    pa.csv.write_csv(table, folder / "people.csv")
    protocol.save(folder / "protocol.json")
    protocol.sanitise(folder / "people.csv", folder / "open.csv")
    return folder


def test_the_one_file_check_proves_the_promise_and_names_kept_and_filled_columns(folder):
    ran = subprocess.run(
        [sys.executable, check.__file__, str(folder / "protocol.json")], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout
    assert "kept      town, age" in ran.stdout
    assert "filled    " in ran.stdout
    assert "on their tables: not proven, the publisher's word" in ran.stdout


def test_the_one_file_check_refuses_a_third_step(protocol, tmp_path, capsys):
    content = json.loads(to_text(protocol))
    content["chain"].append(content["chain"][1])
    (tmp_path / "p.json").write_text(sealed(content), encoding="utf-8")
    assert check.main([str(tmp_path / "p.json")]) == 1
    with pytest.raises(InvalidProtocol):
        from_text(sealed(content))


def test_an_audit_says_what_is_kept_and_filled(folder, capsys):
    assert run(["audit", str(folder / "protocol.json"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["attributes"] == ["town", "age"]
    assert said["filled"] == list(FILLED)
    assert said["everything_published"]["fit"] == pytest.approx(6.0)
    assert run(["audit", str(folder / "protocol.json")]) == 0
    screen = " ".join(capsys.readouterr().out.split())
    assert "Filled columns (job, wage" in screen
    assert said["not_proven"][1].startswith("Not proven, either: that noise of σ = ")
    assert all(one in screen for one in said["not_proven"])
    assert all(name in said["not_proven"][1] for name in (*FILLED, "age"))


def test_released_rows_are_read_back_and_others_are_refused(folder, protocol, tmp_path):
    rows = np.concatenate(list(rows_in_batches(protocol, folder / "open.csv")))
    assert len(rows) == 4_000
    text = (folder / "open.csv").read_text(encoding="utf-8")
    header, first, rest = text.split("\n", 2)
    wrong = first.replace('"x"', '"w"').replace('"y"', '"w"').replace('"z"', '"w"')
    (tmp_path / "open.csv").write_text("\n".join([header, '"a","w",30,0,5.5,2020-03-01,1', wrong, rest]), "utf-8")
    with pytest.raises(InvalidTable, match="never releases"):
        list(rows_in_batches(protocol, tmp_path / "open.csv"))


def test_a_published_folder_tells_roles_and_passes_its_own_check(folder, tmp_path):
    words = ["publish", str(folder / "open.csv"), "--protocol", str(folder / "protocol.json"), "--title", "T"]
    words += ["--licence", "CC-BY-4.0", "--publisher", "A <a@b.org>", "--contact", "a@b.org"]
    with redirect_stdout(io.StringIO()):
        assert run([*words, "-o", str(tmp_path / "out"), "--json"]) == 0
    page = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    package = json.loads((tmp_path / "out" / "datapackage.json").read_text(encoding="utf-8"))
    fields = {f["name"]: f["description"] for r in package["resources"] for f in r.get("schema", {}).get("fields", [])}
    assert set(fields) == set(protocol_columns(folder))
    assert all(("filled" in words) == (name in FILLED) for name, words in fields.items())
    assert "Filled columns" in page
    for name in ("README.md", "report.html"):
        assert "Not proven, either: that noise of" in (tmp_path / "out" / name).read_text(encoding="utf-8")
    assert check.main([str(tmp_path / "out" / "protocol.json")]) == 0
    assert (tmp_path / "out" / "table.csv").read_text("utf-8").count("\n") > 4_000


def protocol_columns(folder):
    return pf.Protocol.load(folder / "protocol.json").table_columns


def test_shares_of_kept_columns_are_estimated_and_of_filled_ones_refused(folder, capsys):
    ask = ["estimate", str(folder / "open.csv"), "--protocol", str(folder / "protocol.json")]
    assert run([*ask, "--of", "age", "--json"]) == 0
    assert run([*ask, "--of", "job"]) == 2
    assert "is filled: its values are drawn from a model" in " ".join(capsys.readouterr().err.split())


def test_rows_with_filled_columns_are_not_remembered_by_a_key(table, protocol, tmp_path):
    with pytest.raises(InvalidInput, match="drawn anew"):
        protocol.sanitise(table, remember=tmp_path / "key", person="id")


def test_a_cluster_is_refused_in_a_sentence(protocol):
    with pytest.raises(InvalidInput, match="this machine only"):
        protocol.sanitise_spark(None)


def test_kept_groups_and_months_are_written_as_values_and_days_within_what_is_kept(table, noise_with_seed):
    towns = np.random.default_rng(3).integers(0, 130, len(table))
    many = table.append_column("place", pa.array([f"place {min(t, 60 + t % 60)}" for t in towns]))
    with noise_with_seed(3):
        joint = pf.Joint.from_table(
            many, secret="ill", attributes=["place", "day"], private=4.0, at_least=5, top={"place": 3},
        )  # fmt: skip
        protocol = pf.optimise(joint, pf.LIP(0.5), objective="faithful", gap=0.05)
        found = filled(many, protocol, names=["town"])
        plain = with_fill(protocol, open_source(many), ["town"], 4.0, ranges=True)
    assert found.fill.numbers == ("place", "day")
    assert plain.fill.numbers == ()
    released = found.sanitise(many, seed=1)
    assert "other" not in released["place"].to_pylist()
    assert pa.types.is_date(released.schema.field("day").type)
    assert len(set(released["place"].to_pylist())) > 20
    assert to_text(from_text(to_text(found))) == to_text(found)
    assert set(plain.sanitise(many, seed=1)["place"].to_pylist()) <= set(protocol.columns[0].labels)
