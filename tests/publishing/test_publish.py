"""What may be published and what is refused; and that readers with nothing but the folder get the same rows."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import InvalidInput, InvalidProtocol, InvalidTable, NotCertified, OutputRefused
from privacyfunnel.estimates.expected import columns_told
from privacyfunnel.proof.certificate import audit_publicly
from privacyfunnel.proof.public import published_joint
from privacyfunnel.publishing import publish as publishing
from privacyfunnel.publishing.belongs import check_promise
from privacyfunnel.publishing.described import OWN, R_FILE
from privacyfunnel.publishing.details import details_of, template
from privacyfunnel.publishing.publish import publish
from privacyfunnel.report.account import account
from publishing.conftest import GIVEN, NAMES, TODAY, awkward, fitted, told
from r_parts import require_r


def counted(table):
    """How often each row occurs, whatever their order and types."""
    return pd.Series(rows_of(table)).value_counts().to_dict()


def rows_of(table):
    """Rows as texts, in their order."""
    return [tuple("" if pd.isna(cell) else _text(cell) for cell in row) for row in table.itertuples(index=False)]


def _text(cell):
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell)).lower()
    return str(int(cell)) if isinstance(cell, float) and cell == int(cell) else str(cell)


def blocks(folder, language):
    """Pieces of code in the README."""
    return re.findall(rf"```{language}\n(.*?)```", (folder / "README.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(params=["texts", "kinds"])
def both(request, desk, published, wide):
    """A folder, and the rows that were released."""
    folder = published if request.param == "texts" else wide[1]
    released = pd.read_csv(folder.parent / "open.csv", dtype=str, keep_default_na=False)
    return folder, counted(released)


def test_pandas_reads_the_released_rows_as_the_readme_says(both):
    folder, rows = both
    found = {}
    code = blocks(folder, "python")[0].replace("table.csv", str(folder / "table.csv"))
    exec(code, found)  # noqa: S102 - what readers copy
    assert counted(found["table"]) == rows
    assert not any(found["table"].dtypes.astype(str) == "object")


def test_polars_reads_the_released_rows_as_the_readme_says(both):
    folder, rows = both
    found = {}
    exec(blocks(folder, "python")[1].replace("table.parquet", str(folder / "table.parquet")), found)  # noqa: S102
    assert isinstance(found["table"], pl.DataFrame)
    assert counted(found["table"].to_pandas()) == rows


def test_frictionless_reads_the_released_rows_as_the_readme_says(both):
    frictionless = pytest.importorskip("frictionless")
    folder, rows = both
    read = frictionless.Package(str(folder / "datapackage.json")).get_resource("table").read_rows()
    table = pd.DataFrame([row.to_dict() for row in read])
    table = table.map(lambda cell: float(cell) if type(cell).__name__ == "Decimal" else cell)
    assert counted(table) == rows


@pytest.mark.long
def test_r_reads_the_released_rows_as_the_readme_says(both, tmp_path):
    rscript = require_r()
    folder, rows = both
    shares = blocks(folder, "r")[1]
    writing = f'write.csv(table, "{tmp_path / "back.csv"}", row.names = FALSE, na = "", fileEncoding = "UTF-8")\n'
    script = tmp_path / "page.R"
    script.write_text(f"{blocks(folder, 'r')[0]}\n{writing}\n{shares}", encoding="utf-8")
    around = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run([rscript, script], cwd=folder, env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    back = pd.read_csv(tmp_path / "back.csv", dtype=str, keep_default_na=False)
    back = back.map(lambda cell: cell.lower() if cell in ("TRUE", "FALSE") else cell)
    assert counted(back) == rows
    assert {path.name for path in folder.iterdir()} == OWN


@pytest.mark.long
def test_an_environment_of_its_own_reads_the_folder_with_each_package_alone(published, tmp_path):
    """Offline, from what is installed here: a path that holds nothing but one package and what that needs."""
    for package, code in (("pandas", 0), ("polars", 1), ("frictionless", 2)):
        alone = tmp_path / package
        alone.mkdir()
        _link(package, alone)
        # What is not linked cannot be imported: no site-packages are looked at.
        done = subprocess.run(
            [
                sys.executable,
                "-I",
                "-S",
                "-c",
                f"import sys; sys.path.append({str(alone)!r})\n{blocks(published, 'python')[code]}",
            ],
            cwd=published,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert package != "frictionless" or done.stdout.strip() == "True"


def _link(package, folder):
    """Link a package and all that it needs into a folder."""
    from importlib.metadata import PackageNotFoundError, distribution

    from packaging.requirements import Requirement

    waiting, seen = [package], set()
    while waiting:
        name = waiting.pop()
        if name.lower() in seen:
            continue
        seen.add(name.lower())
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        for path in found.files or []:
            top, real = path.parts[0], found.locate_file(path.parts[0])
            if top != ".." and not (folder / top).exists():
                (folder / top).symlink_to(real)
        for text in found.requires or []:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                waiting.append(needed.name)
    assert "pyarrow" not in seen


def test_estimates_and_audits_work_from_the_folder_alone(published, capsys):
    assert run(["audit", str(published / "protocol.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["certificate"]["holds"]
    command = ["estimate", str(published / "table.csv"), "--protocol", str(published / "protocol.json"), "--json"]
    assert run(command) == 0


def test_shares_come_out_as_the_readme_says(published, monkeypatch, capsys):
    monkeypatch.chdir(published)
    exec(blocks(published, "python")[3], {})  # noqa: S102 - what readers copy
    lines = capsys.readouterr().out.splitlines()
    found = pf.estimate("table.csv", pf.Protocol.load("protocol.json")).table(NAMES[0])
    assert found.way == "counted"
    assert len(lines) == len(found.estimates) == 4
    assert "None" not in " ".join(lines)


def test_the_folder_says_that_these_are_the_fitted_rows_and_estimates_read_it(tmp_path, capsys, strict_desk):
    frame, protocol = strict_desk
    protocol.save(tmp_path / "protocol.json")
    protocol.sanitise(frame, tmp_path / "open.csv")
    asked = ["--protocol", str(tmp_path / "protocol.json"), "--of", "town", "--json"]
    assert run(["estimate", str(tmp_path / "open.csv"), *asked]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert alone["way"] == "channel"  # so strict that rows do not show whose they are
    publish(protocol, tmp_path / "open.csv", tmp_path / "folder", told())
    asked[1] = str(tmp_path / "folder" / "protocol.json")
    for name in ("table.csv", "table.parquet"):
        assert run(["estimate", str(tmp_path / "folder" / name), *asked]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["way"] == "counted"
        for row in found["tables"][0]["estimates"]:
            true = (frame["town"] == row["values"][0][0]).mean()
            assert row["low"] - 0.02 < true < row["high"] + 0.02
    lines = (tmp_path / "folder" / "table.csv").read_text().splitlines()
    other = next(line for line in lines[2:] if line != lines[1])
    (tmp_path / "folder" / "table.csv").write_text("\n".join([lines[0], other, *lines[2:]]) + "\n")
    assert run(["estimate", str(tmp_path / "folder" / "table.csv"), *asked]) == 0
    assert json.loads(capsys.readouterr().out)["way"] == "channel"  # not the table that the folder describes


def test_replicates_and_models_read_from_the_folder_whose_rows_these_are(tmp_path, strict_desk):
    frame, protocol = strict_desk
    protocol.sanitise(frame, tmp_path / "open.csv")
    publish(protocol, tmp_path / "open.csv", tmp_path / "folder", told())
    table = tmp_path / "folder" / "table.csv"
    assert pf.regress(table, protocol, "C(sex) ~ C(town)", family="binomial").way == "counted"
    assert pf.estimate(pd.read_csv(table), protocol, of="town").way == "channel"  # a frame is in no folder
    (first, *_) = pf.replicates(table, protocol, 2, seed=1)
    same = next(iter(pf.replicates(pd.read_csv(table), protocol, 2, rows="fitted", seed=1)))
    assert first.equals(same)


@pytest.fixture
def strict_desk(repeatable_noise):
    """A table and a protocol so strict that rows do not show whose they are."""
    rng = np.random.default_rng(5)
    town, sex = rng.integers(0, 6, 3_000), rng.integers(0, 2, 3_000)
    ill = rng.random(3_000) < 0.1 + 0.08 * town
    frame = pd.DataFrame({"town": [f"t{t}" for t in town], "sex": [f"s{s}" for s in sex], "ill": ill.astype(str)})
    joint = pf.Joint.from_table(frame, "ill", ["town", "sex"], private=1.0)
    return frame, pf.optimise(joint, pf.LIP(0.05), objective="faithful")


def test_rows_that_happen_to_be_as_many_are_others_if_their_owner_says_so(tmp_path, capsys, strict_desk):
    frame, protocol = strict_desk
    protocol.save(tmp_path / "protocol.json")
    frame.sample(frac=1.0, replace=True, random_state=1).to_csv(tmp_path / "next.csv", index=False)
    protocol.sanitise(tmp_path / "next.csv", tmp_path / "open.csv")
    command = ["publish", str(tmp_path / "open.csv"), "--protocol", str(tmp_path / "protocol.json"), "--force"]
    command += ["--title", "T", "--licence", "CC0-1.0", "--publisher", "O", "--contact", "data@example.org"]
    command += ["-o", str(tmp_path / "folder")]
    ask = ["estimate", str(tmp_path / "folder" / "table.csv"), "--protocol", str(tmp_path / "protocol.json"), "--json"]
    assert run(command) == 0
    assert "If they are not, say --rows other" in " ".join(capsys.readouterr().out.split())
    assert run(ask) == 0
    assert json.loads(capsys.readouterr().out)["way"] == "counted"
    assert run([*command, "--rows", "others"]) == 2
    assert run([*command, "--rows", "other", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["of"] == "other"
    assert run(ask) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["way"] == "channel"
    said = {
        table["attributes"][0] for table in found["tables"] if all(e["share"] is not None for e in table["estimates"])
    }
    text = (tmp_path / "folder" / "README.md").read_text(encoding="utf-8")
    assert said == set(columns_told(protocol, len(frame))) == {"town", "sex"}
    assert "funnel estimate works back the shares of every column, with intervals." in text


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [(0.03, "those of town cannot be told"), (1e-4, "The promise is too strict for 200 such rows")],
)
def test_the_readme_says_so_where_shares_of_other_rows_cannot_be_worked_back(tmp_path, strict_desk, epsilon, words):
    frame, protocol = strict_desk
    strict = pf.optimise(published_joint(protocol), pf.LIP(epsilon), objective="faithful")
    strict.sanitise(frame.head(200), tmp_path / "open.csv")
    publish(strict, tmp_path / "open.csv", tmp_path / "folder", told())
    assert words in (tmp_path / "folder" / "README.md").read_text(encoding="utf-8")
    found = pf.estimate(tmp_path / "folder" / "table.csv", strict)
    assert {t.attributes[0] for t in found.tables if not t.untold} == set(columns_told(strict, 200)) < {"town", "sex"}


def test_nothing_of_the_original_table_but_what_is_released_is_in_the_folder(published):
    for path in published.iterdir():
        text = path.read_bytes()
        assert b"person 1" not in text
        assert path.name == "report.html" or b"people.csv" not in text


def test_an_exact_fit_is_refused(desk, tmp_path):
    joint = pf.Joint.from_table(desk / "people.csv", "ill", NAMES[:2])
    exact = pf.optimise(joint, pf.LIP(0.5), objective="faithful")
    exact.sanitise(desk / "people.csv", tmp_path / "open.csv")
    with pytest.raises(InvalidProtocol, match="fitted on exact counts"):
        publish(exact, tmp_path / "open.csv", tmp_path / "out", told())
    with pytest.raises(InvalidProtocol, match="given probabilities"):
        publish(replace(exact, fitted="given probabilities"), tmp_path / "open.csv", tmp_path / "out", told())
    assert not (tmp_path / "out").exists()


def test_a_protocol_whose_promise_is_not_kept_is_refused(desk):
    about = account(pf.Protocol.load(desk / "protocol.json"))
    check_promise(about)
    broken = replace(about.public, certificate=replace(about.public.certificate, holds=False, reason="a reason"))
    with pytest.raises(NotCertified, match="a reason"):
        check_promise(replace(about, public=broken))
    with pytest.raises(NotCertified):
        check_promise(replace(about, public=None))


def test_publish_report_and_audit_have_one_verdict_on_a_draw_that_breaks_the_promise(tmp_path, capsys):
    protocol = fitted(tmp_path)
    for output in range(len(protocol.block.draw)):  # one output for every value never seen, until it says too much
        draw = np.zeros_like(protocol.block.draw)
        draw[output] = 2**32
        forged = replace(protocol, step=replace(protocol.block, draw=draw))
        _, certificate = audit_publicly(forged)
        if certificate.draws is False:
            break
    assert certificate.holds
    assert not certificate
    forged.save(tmp_path / "forged.json")
    forged.sanitise(tmp_path / "people.csv", tmp_path / "forged.csv")
    assert run(["audit", str(tmp_path / "forged.json"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["certificate"]["holds"] is False
    assert run(["audit", str(tmp_path / "forged.json")]) == 1
    assert "BROKEN" in capsys.readouterr().out
    assert run(["report", str(tmp_path / "forged.json"), "--public", "-o", str(tmp_path / "report.html")]) == 1
    assert "BROKEN" in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<strong>Broken." in page
    assert "<strong>Kept." not in page
    given = [part for name, value in GIVEN.items() for part in (f"--{name}", value)]
    command = ["publish", str(tmp_path / "forged.csv"), "--protocol", str(tmp_path / "forged.json"), *given]
    assert run([*command, "-o", str(tmp_path / "folder")]) == 2
    assert not (tmp_path / "folder").exists()
    assert "does not keep its promise" in capsys.readouterr().err


def rewritten(desk, path, **columns):
    """The released table with other columns."""
    table = pa_csv.read_csv(desk / "open.csv", convert_options=pa_csv.ConvertOptions(strings_can_be_null=True))
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values(table.num_rows)))
    pa_csv.write_csv(table, path)
    return path


@pytest.mark.parametrize("name", ["ill", "ILL ", "Ill_", "i-l-l"])
def test_rows_with_a_column_called_like_the_secret_are_refused(name, desk, tmp_path):
    table = rewritten(desk, tmp_path / "open.csv", **{name: lambda n: ["yes"] * n})
    with pytest.raises(InvalidTable, match="called like the secret"):
        publish(pf.Protocol.load(desk / "protocol.json"), table, tmp_path / "out", told())


def test_a_protocol_that_releases_a_column_called_like_its_secret_is_refused(desk, tmp_path):
    awkward().assign(Ill=lambda table: table["ill"]).to_csv(tmp_path / "people.csv", index=False)
    joint = pf.Joint.from_table(tmp_path / "people.csv", "ill", ["member", "Ill"], private=2.0, at_least=5)
    protocol = pf.optimise(joint, pf.LIP(0.5), objective="faithful")
    with pytest.raises(InvalidProtocol, match="releases the column 'Ill'"):
        publish(protocol, desk / "open.csv", tmp_path / "out", told())


def test_other_columns_and_other_values_are_refused(desk, tmp_path):
    protocol = pf.Protocol.load(desk / "protocol.json")
    more = rewritten(desk, tmp_path / "more.csv", age=lambda n: list(range(n)))
    with pytest.raises(InvalidTable, match=r"does not release \(first: 'age'"):
        publish(protocol, more, tmp_path / "out", told())
    text = (desk / "open.csv").read_text(encoding="utf-8")
    (tmp_path / "other.csv").write_text(text.replace("Ashford", "Asford", 1), encoding="utf-8")
    with pytest.raises(InvalidTable, match="1 in 'town"):
        publish(protocol, tmp_path / "other.csv", tmp_path / "out", told())
    with pytest.raises(InvalidTable, match="no release"):
        publish(protocol, desk / "people.csv", tmp_path / "out", told())
    awkward()[["member"]].to_csv(tmp_path / "fewer.csv", index=False)
    with pytest.raises(InvalidTable, match="lacks 2 of the 3"):
        publish(protocol, tmp_path / "fewer.csv", tmp_path / "out", told())
    (tmp_path / "none.csv").write_text(text.splitlines()[0] + "\n", encoding="utf-8")
    with pytest.raises(InvalidTable, match="no rows"):
        publish(protocol, tmp_path / "none.csv", tmp_path / "out", told())
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_a_table_drawn_by_another_protocol_or_with_a_seed_is_refused(desk, tmp_path):
    first, second = pf.Protocol.load(desk / "protocol.json"), fitted(tmp_path / "again")
    second.sanitise(desk / "people.csv", tmp_path / "second.parquet")
    told_in_it = json.loads(pq.read_metadata(tmp_path / "second.parquet").metadata[b"privacyfunnel"])
    assert told_in_it["protocol"].startswith("sha256:")
    with pytest.raises(InvalidTable, match="drawn by another protocol"):
        publish(first, tmp_path / "second.parquet", tmp_path / "out", told())
    for name in ("seeded.csv", "seeded.parquet", "seeded.pq"):
        if name != "seeded.pq":
            first.sanitise(desk / "people.csv", tmp_path / name, seed=1)
        else:
            (tmp_path / name).write_bytes((tmp_path / "seeded.parquet").read_bytes())
        with pytest.raises(InvalidTable, match="drawn with a seed"):
            publish(first, tmp_path / name, tmp_path / "out", told())
    (tmp_path / "seeded.csv.metadata.json").write_text("{")
    with pytest.raises(InvalidTable, match="metadata of"):
        publish(first, tmp_path / "seeded.csv", tmp_path / "out", told())


def test_parquet_is_published_as_csv_is_and_variants_stay(desk, tmp_path):
    joint = pf.Joint.from_table(desk / "people.csv", "ill", NAMES[:2], private=2.0, at_least=5)
    protocol = pf.optimise(joint, pf.LIP(0.3), readers="shares", give_up=0.2)
    protocol.sanitise(desk / "people.csv", tmp_path / "open.parquet")
    made = publish(protocol, tmp_path / "open.parquet", tmp_path / "out", told())
    assert made.rows == 1_200
    assert made.columns == protocol.released_columns
    original = pq.read_table(tmp_path / "open.parquet").to_pandas()
    assert counted(pq.read_table(tmp_path / "out" / "table.parquet").to_pandas()) == counted(original)


@pytest.mark.parametrize("name", ["open.csv", "open.parquet"])
def test_published_rows_have_an_order_of_their_own(name, desk, tmp_path):
    """In the order of a table that is sorted by the secret, the place of a row tells it."""
    protocol = pf.Protocol.load(desk / "protocol.json")
    awkward().sort_values("ill").to_csv(tmp_path / "sorted.csv", index=False)
    protocol.sanitise(tmp_path / "sorted.csv", tmp_path / name, keep_order=True)
    orders = []
    for i in range(2):
        publish(protocol, tmp_path / name, tmp_path / f"out{i}", told())
        orders.append(pq.read_table(tmp_path / f"out{i}" / "table.parquet").to_pandas())
    read = {"open.csv": pd.read_csv, "open.parquet": pd.read_parquet}[name]
    original = read(tmp_path / name, **({"keep_default_na": False, "dtype": str} if name == "open.csv" else {}))
    assert counted(orders[0]) == counted(orders[1]) == counted(original)
    assert len({tuple(rows_of(table)) for table in (*orders, original)}) == 3


def test_counts_with_next_to_no_noise_are_refused(desk, tmp_path):
    joint = pf.Joint.from_table(desk / "people.csv", "ill", NAMES[:2], private=50.0, at_least=5)
    protocol = pf.optimise(joint, pf.LIP(0.5), objective="faithful")
    protocol.sanitise(desk / "people.csv", tmp_path / "open.csv")
    with pytest.raises(InvalidProtocol, match="ε₀ = 50, which leaves most exact"):
        publish(protocol, tmp_path / "open.csv", tmp_path / "out", told())


def test_rows_of_other_people_are_said_to_be(desk, tmp_path):
    protocol = pf.Protocol.load(desk / "protocol.json")
    awkward(300, seed=9).to_csv(tmp_path / "others.csv", index=False)
    protocol.sanitise(tmp_path / "others.csv", tmp_path / "open.csv")
    publish(protocol, tmp_path / "open.csv", tmp_path / "out", told())
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "was fitted on 1,200 rows, and these are 300" in text
    assert 'rows = "other"' in text


def test_an_existing_folder_needs_force_and_only_our_own_is_ever_replaced(desk, tmp_path):
    protocol, out = pf.Protocol.load(desk / "protocol.json"), tmp_path / "out"
    out.mkdir()
    with pytest.raises(OutputRefused, match="--force"):
        publish(protocol, desk / "open.csv", out, told())
    (out / "precious.txt").write_text("precious")
    with pytest.raises(OutputRefused, match="other files"):
        publish(protocol, desk / "open.csv", out, told(), force=True)
    (out / "precious.txt").unlink()
    (out / "report.html").mkdir()
    (out / "report.html" / "precious.txt").write_text("precious")
    with pytest.raises(OutputRefused, match="other files"):
        publish(protocol, desk / "open.csv", out, told(), force=True)
    (out / "report.html" / "precious.txt").unlink()
    (out / "report.html").rmdir()
    (out / "table.csv").write_text("a table of somebody else")
    with pytest.raises(OutputRefused, match="are not ours"):
        publish(protocol, desk / "open.csv", out, told(), force=True)
    (out / "table.csv").unlink()
    for _ in range(2):
        publish(protocol, desk / "open.csv", out, told(), force=True)
        assert OWN - {path.name for path in out.iterdir()} <= {R_FILE}  # which a copy of the source may lack
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputRefused, match="not a folder"):
        publish(protocol, desk / "open.csv", tmp_path / "file", told(), force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "out"]


def test_the_command_says_in_one_line_what_is_missing(desk, tmp_path, capsys):
    table = [str(desk / "open.csv"), "--protocol", str(desk / "protocol.json"), "-o", str(tmp_path / "out")]
    for left_out in GIVEN:
        options = [word for name, text in GIVEN.items() if name != left_out for word in (f"--{name}", text)]
        assert run(["publish", *table, *options]) == 2
        said = capsys.readouterr().err
        assert f"needs a {left_out}" in said
        assert said.count("\n") == 1
    assert run(["publish", *table[:1]]) == 2
    assert "--protocol" in capsys.readouterr().err


def test_a_template_is_to_be_filled_in_before_anything_is_published(desk, tmp_path, capsys):
    path = tmp_path / "publish.toml"
    assert run(["publish", "--template", str(path), "--json"]) == 0
    capsys.readouterr()
    command = [
        "publish",
        str(desk / "open.csv"),
        "--protocol",
        str(desk / "protocol.json"),
        "-o",
        str(tmp_path / "out"),
    ]
    assert run([*command, "--details", str(path)]) == 2
    assert "title should be filled in" in capsys.readouterr().err
    path.write_text(path.read_text(encoding="utf-8").replace("…", "said"), encoding="utf-8")
    assert run([*command, "--details", str(path), "--title", "Mine", "--health"]) == 2
    assert "[health]" in capsys.readouterr().err
    assert run([*command, "--details", str(path), "--title", "Mine", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["rows"], set(made["files"])) == (1_200, set(OWN))
    assert (tmp_path / "out" / "README.md").read_text(encoding="utf-8").startswith("# Mine\n")


def test_a_template_with_all_its_lines_says_what_it_says(tmp_path):

    path = tmp_path / "publish.toml"
    lines = [re.sub(r"^# (?=[a-z-]+ = |\[)", "", line) for line in template(TODAY).replace("…", "x").splitlines()]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = details_of(path, {}, health=True, today=TODAY)
    assert found.health.least_age == 18
    assert (found.slug, found.date, found.theme) == ("short-name", TODAY, "HEAL")
    assert found.makers[0].name == "x"


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("titel = 'x'", "titel is no key"),
        ("title = 3", "title should be"),
        ("licence = 'foo'", "licence should be known"),
        ("contact = { name = 'x', email = 'nobody' }", "contact.email should be"),
        ("contact = { name = 'x' }", "contact should have"),
        ("publisher = { nam = 'x' }", "publisher.name is missing"),
        ("sources = [{ title = 'x', path = 'y' }]", "sources.0.path is no key that is known here; these are: title"),
        ("date = '2024'", "date should be"),
        ("language = 'xx'", "language should be"),
        ("theme = 'heal'", "theme should be"),
        ("url = 'example.org'", "url should be"),
        ("name = 'No Spaces'", "name should"),
        ("health = { category = [] }", "health.category"),
        ("title = ", "is not TOML"),
        ("title = 'a\\u007fb'".replace("'", '"'), "title should be text"),
        ("contact = '[c](javascript:alert(1))@x.y'", "contact should have"),
        ("from = 2024-02-01\nto = 2024-01-01", "from should not be after to"),
    ],
)
def test_a_mistake_in_the_details_is_one_line_that_names_the_key(line, key, tmp_path):

    right = {
        "title": "title = 'x'",
        "licence": "licence = 'CC0-1.0'",
        "publisher": "publisher = 'x'",
        "contact": "contact = 'a@example.org'",
    }
    right[line.split(" ")[0]] = line
    path = tmp_path / "publish.toml"
    path.write_text("\n".join(right.values()))
    with pytest.raises(InvalidInput, match=re.escape(key)) as caught:
        details_of(path, {}, health=False, today=TODAY)
    assert "\n" not in str(caught.value)


def test_without_the_file_for_r_readers_are_told_where_it_is(desk, tmp_path, monkeypatch):
    monkeypatch.setattr(publishing, "r_source", lambda: None)
    publish(pf.Protocol.load(desk / "protocol.json"), desk / "open.csv", tmp_path / "out", told())
    assert {path.name for path in (tmp_path / "out").iterdir()} == OWN - {"privacyfunnel.R"}
    assert "comes with the source of privacyfunnel" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_a_full_disk_or_an_error_leaves_nothing(desk, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(publishing, "_describe", full)
    with pytest.raises(OutputRefused, match="the disk is full"):
        publish(pf.Protocol.load(desk / "protocol.json"), desk / "open.csv", tmp_path / "out", told())
    assert list(tmp_path.iterdir()) == []


def test_what_publishers_say_of_themselves_is_no_markdown(desk, tmp_path):
    licence = "https://example.org/)[a](javascript:alert(1)"
    details = told(licence=licence, description="~~~ the rest would be code", contact="a_b~c@example.org")
    publish(pf.Protocol.load(desk / "protocol.json"), desk / "open.csv", tmp_path / "out", details)
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert not re.search(r"(?<!\\)]\(javascript", text)
    assert "\n~~~" not in text
    assert "a\\_b\\~c@example.org" in text


def test_names_with_signs_do_no_harm_in_markdown_or_json(published):
    text = (published / "README.md").read_text(encoding="utf-8")
    assert "# People | of \\*nowhere\\*\n" in text
    assert '"town, or “village”": "string"' in text
    for name in ("datapackage.json", "croissant.json", "dcat.jsonld"):
        json.loads((published / name).read_text(encoding="utf-8"))
