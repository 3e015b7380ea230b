"""funnel release: one command from a table to a folder, with a role for every column, and one line for a bad table."""

import csv
import json

import numpy as np
import pyarrow.csv
import pytest

import privacyfunnel as pf
from filled_people import people
from privacyfunnel.cli.app import run
from privacyfunnel.publishing import check
from privacyfunnel.recipes.recipe import load


@pytest.fixture(scope="module")
def folder(tmp_path_factory, noise_with_seed):
    folder = tmp_path_factory.mktemp("release")
    table = people(3_000)
    table = table.append_column("ILL", table["ill"])
    pyarrow.csv.write_csv(table, folder / "people.csv")
    with noise_with_seed(4):
        words = ["release", str(folder / "people.csv"), "--secret", "ill", "--private", "8", "--time-limit", "10"]
        assert run([*words, "--columns", "town,age", "-o", str(folder / "open"), "--json"]) == 0
    return folder


def test_all_columns_are_released_but_those_that_name_people_or_repeat_the_secret(folder):
    with (folder / "open" / "table.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["town", "job", "age", "wage", "score", "day", "few"]
    assert len(rows) == 3_000
    assert {row["job"] for row in rows} <= {"x", "y", "z", 'it\'s "odd"\n'}
    assert all(row["age"] == "" or row["age"].isdigit() for row in rows)


def test_the_folder_proves_itself_and_says_roles(folder):
    assert check.main([str(folder / "open" / "protocol.json")]) == 0
    protocol = pf.Protocol.load(folder / "open" / "protocol.json")
    assert protocol.attributes == ("town", "age")
    assert protocol.spent.epsilon == pytest.approx(8.0)
    assert protocol.noise.spent == pytest.approx(4.0)
    page = (folder / "open" / "README.md").read_text(encoding="utf-8")
    assert "Filled columns (job, wage" in page
    report = (folder / "open" / "report.html").read_text(encoding="utf-8")
    assert "filled: drawn from a private model" in report


@pytest.mark.parametrize(
    "words",
    [
        ["estimate", "--of", "job"],
        ["estimate", "--of", "town", "--by", "job"],
        ["estimate", "--of", "town", "--where", "job=x"],
        ["estimate", "--of", "town", "--compare", "job"],
        ["estimate", "--of", "town:job", "--association"],
        ["regress", "job ~ town"],
        ["regress", "town ~ C(job)"],
    ],
)
def test_a_filled_column_is_refused_by_one_sentence_whatever_is_asked_of_it(folder, capsys, words):
    command, *asked = words
    files = [str(folder / "open" / "table.csv"), "--protocol", str(folder / "open" / "protocol.json")]
    given = [files[0], *asked, *files[1:]]
    assert run([command, *given]) == 2
    assert capsys.readouterr().err.strip() == (
        "funnel: column 'job' is filled: its values are drawn from a model, and how far shares and regressions of it "
        "are off is not known; ask about kept columns (town, age), or for a release that keeps it"
    )


def test_the_folder_says_the_role_of_every_column(folder):
    package = json.loads((folder / "open" / "datapackage.json").read_text(encoding="utf-8"))
    roles = {
        field["name"]: field["description"].partition(":")[0].partition(";")[0]
        for resource in package["resources"]
        for field in resource.get("schema", {}).get("fields", [])
    }
    filled = dict.fromkeys(["job", "wage", "score", "day", "few"], "filled")
    assert roles == {"town": "kept", "age": "kept"} | filled
    report = (folder / "open" / "report.html").read_text(encoding="utf-8")
    for name in filled:
        assert f'<th scope="row">{name}</th><td>filled: drawn from a private model' in report


def test_the_recipe_that_it_stands_for_can_be_run(folder, capsys):
    path = folder / "open.recipe.toml"
    made = load(path)
    assert made.fit.fill == ("rest",)
    assert made.fit.columns == ("town", "age")
    assert set(made.fit.leave_out) == {"id", "ILL"}
    assert run(["run", str(path), "--dry-run"]) == 0


def test_a_folder_that_exists_is_not_replaced_unless_it_is_said(folder, capsys):
    assert run(["release", str(folder / "people.csv"), "--secret", "ill", "-o", str(folder / "open")]) == 2
    assert "force" in capsys.readouterr().err


def test_one_screen_tells_roles_the_promise_and_what_is_next(folder, tmp_path, capsys, noise_with_seed):
    words = ["release", str(folder / "people.csv"), "--secret", "ill", "--private", "8", "--time-limit", "10"]
    with noise_with_seed(4):
        assert run([*words, "--columns", "town", "--leave-out", "wage", "-o", str(tmp_path / "open")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Kept, in exact arithmetic" in said
    assert "1 columns kept, 5 filled" in said
    assert "ε₀ = 8, δ₀ = 1e-06" in said
    assert "For you alone: shares of single values in filled columns are off by" in said
    assert "names no publisher" in said
    assert "funnel estimate" in said
    for name in ("wage", "left out", "as asked for", "it is called like the secret"):
        assert name in said


HOSTILE = {
    "one row": "a,b,s\n1,2,3\n",
    "one column": "s\nyes\nno\n",
    "no rows": "a,s\n",
    "all missing": "a,b,s\n" + ",,\n" * 50,
    "only identifiers": "who,s\n" + "".join(f"person {i},{'yes' if i % 3 else 'no'}\n" for i in range(400)),
    "a secret of one value": "a,s\n" + "".join(f"{i % 3},yes\n" for i in range(60)),
    "nothing": "",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_table_gets_one_line(name, tmp_path, capsys):
    (tmp_path / "people.csv").write_text(HOSTILE[name], encoding="utf-8")
    code = run(["release", str(tmp_path / "people.csv"), "--secret", "s", "-o", str(tmp_path / "open")])
    said = capsys.readouterr().err.strip()
    assert (code, said.count("\n")) == (2, 0), said
    assert said.startswith("funnel: ")
    assert not (tmp_path / "open").exists()


def test_names_with_quotes_commas_and_newlines_are_names(tmp_path, capsys, noise_with_seed):
    table = people(1_500).rename_columns(["id", 'to"w,n', "jo\nb", "age", "ill", "wa'ge", "score", "<b>day", "[few]"])
    pyarrow.csv.write_csv(table, tmp_path / "people.csv")
    words = ["release", str(tmp_path / "people.csv"), "--secret", "ill", "--private", "8", "--time-limit", "5"]
    with noise_with_seed(4):
        code = run([*words, "--columns", "age", "-o", str(tmp_path / "open"), "--json"])
    said = capsys.readouterr()
    assert code == 0, said.err
    told = json.loads(said.out)
    roles = {one["column"]: one["role"] for one in told["roles"]}
    assert roles["jo\nb"] == "filled"
    off = told["steward_only"]["filled"]
    assert 0 < off["mean_error"] < off["worst_error"] < 1
    assert off["worst_column"] in roles
    assert load(tmp_path / "open.recipe.toml").fit.fill == ("rest",)


def test_the_same_in_python(folder, tmp_path, noise_with_seed):
    with noise_with_seed(4):
        found = pf.release(
            folder / "people.csv", tmp_path / "open", secret="ill", private=8, columns=["town"], leave_out=["wage"]
        )
    assert {one.column: one.role for one in found.roles}["job"] == "filled"
    assert found.protocol.table_columns == ("town", "job", "age", "score", "day", "few")
    assert (tmp_path / "open" / "table.csv").exists()


def test_a_column_of_which_few_rows_share_a_value_is_left_out(tmp_path, capsys, noise_with_seed):
    codes = np.random.default_rng(1).integers(0, 1_000, 3_000)
    rows = [f"c{codes[i]},{'abc'[i % 3]},{'yes' if i % 5 == 0 else 'no'}" for i in range(3_000)]
    (tmp_path / "people.csv").write_text("\n".join(["code,town,s", *rows]) + "\n", encoding="utf-8")
    with noise_with_seed(4):
        words = ["release", str(tmp_path / "people.csv"), "--secret", "s", "--private", "8", "--columns", "town"]
        assert run([*words, "-o", str(tmp_path / "open"), "--json"]) == 0
    roles = {one["column"]: one for one in json.loads(capsys.readouterr().out)["roles"]}
    assert roles["code"]["role"] == "left out"
    assert "name people" in roles["code"]["reason"]
