"""SPSS, Stata, SAS and Excel files are tables like any other: labels are values, and come back."""

import datetime as dt
import json
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import InvalidTable, MissingExtra, OutputRefused, PrivacyFunnelError
from privacyfunnel.tables import converting, statistical, writing_others
from privacyfunnel.tables.converting import contents_of
from privacyfunnel.tables.sources import open_source
from privacyfunnel.tables.writing import table_writer
from privacyfunnel.tables.writing_others import described

APART = ("any_path", "broken_file", "text_file")
"""In the names of tests that are about the process that converts, too."""


@pytest.fixture(autouse=True)
def converted_here(request, monkeypatch):
    """Files are converted in this process: one of its own takes longer than the rest of these tests."""
    if not any(name in request.node.name for name in APART):
        # it says what it found as JSON
        monkeypatch.setattr(converting, "_apart", lambda *asked: json.loads(json.dumps(converting._told(*asked))))


SEX = {1: "Male", 2: "Female", 9: "No answer"}
ABOUT = {"sex": "Sex of the respondent", "ill": "Ever told to be ill"}


def survey(n=600, seed=0):
    """Codes as a survey has them: 9 is "no answer", 98 in age is a number with a label."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex": rng.choice([1.0, 2.0, 9.0, np.nan], n, p=[0.45, 0.45, 0.05, 0.05]),
            "age": rng.integers(18, 99, n).astype(float),
            "town": rng.choice(["Ashford", "Birch", ""], n),
            "born": [dt.date(1950 + int(i), 3, 1) for i in rng.integers(0, 50, n)],
        }
    )
    frame["ill"] = np.where(rng.random(n) < 0.2 + 0.2 * (frame["sex"] == 1), 1.0, 0.0)
    return frame


LABELS = {"sex": SEX, "age": {98: "98 or older"}, "ill": {0: "no", 1: "yes"}}


def write(path, frame):
    """The survey in a format, as its own writer writes it."""
    kind = path.suffix
    if kind in (".sav", ".zsav"):
        missing = {"missing_ranges": {"sex": [9]}} if kind == ".sav" else {}
        pyreadstat.write_sav(
            frame, path, column_labels=ABOUT, variable_value_labels=LABELS, compress=kind == ".zsav", **missing
        )
    elif kind == ".dta":
        pyreadstat.write_dta(frame, path, column_labels=ABOUT, variable_value_labels=LABELS)
    else:
        (pyreadstat.write_por if kind == ".por" else pyreadstat.write_xport)(frame, path, column_labels=ABOUT)
    return path


def columns(path, **layout):
    """All columns, as they are read."""
    source = open_source(path, **layout)
    return source, pa.Table.from_batches(source.batches(list(source.columns))).to_pydict()


def workbook(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


@pytest.mark.parametrize("kind", [".sav", ".zsav", ".dta"])
def test_values_with_labels_are_read_as_these(tmp_path, kind):
    frame = survey()
    source, found = columns(write(tmp_path / f"survey{kind}", frame))
    names = {1: "Male", 2: "Female", 9: None if kind == ".sav" else "No answer"}  # in .sav, 9 is declared to be missing
    assert found["sex"] == [names.get(code) for code in frame["sex"]]
    assert found["ill"] == ["yes" if code else "no" for code in frame["ill"]]
    assert found["age"] == frame["age"].astype(int).tolist()
    assert found["born"] == frame["born"].tolist()
    assert dict(source.about) == ABOUT
    assert "without a label" in source.notes["age"]
    assert source.codes["sex"]["Female"] == 2


@pytest.mark.parametrize("kind", [".por", ".xpt"])
def test_files_without_labels_are_read_as_numbers(tmp_path, kind):
    frame = survey()
    _, found = columns(write(tmp_path / f"survey{kind}", frame))
    name = str.upper if kind == ".por" else str
    for column in ("sex", "age", "ill"):
        expected = [None if np.isnan(code) else int(code) for code in frame[column]]
        assert found[name(column)] == expected
    assert found[name("born")] == frame["born"].tolist()


@pytest.mark.parametrize("kind", [".sav", ".zsav", ".por", ".dta", ".xpt"])
def test_rows_read_some_at_a_time_are_those_read_at_once(tmp_path, monkeypatch, kind):
    path = write(tmp_path / f"survey{kind}", survey())

    def whole(held):
        contents = contents_of(path, "utf-8")
        contents.put(held, "t")
        return contents.told(), pq.read_table(held).to_pydict()

    at_once = whole(tmp_path / "once")
    monkeypatch.setattr(statistical, "CELLS", 35)
    assert whole(tmp_path / "parts") == at_once


def test_two_values_with_the_same_label_stay_two(tmp_path):
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(pd.DataFrame({"x": [1.0, 7.0]}), path, variable_value_labels={"x": {1: "other", 7: "other"}})
    assert columns(path)[1] == {"x": ["other (1)", "other (7)"]}


def test_texts_that_stand_for_others_are_read_as_these(tmp_path):
    path = tmp_path / "t.sav"
    frame = pd.DataFrame({"x": ["m", "f", ""]})
    pyreadstat.write_sav(frame, path, variable_value_labels={"x": {"m": "Male", "f": "Female"}})
    assert columns(path)[1] == {"x": ["Male", "Female", None]}


@pytest.mark.parametrize("kind", [".sav", ".dta", ".xlsx"])
@pytest.mark.parametrize("origin", [".sav", ".dta"])
def test_what_is_written_is_read_back_with_labels_and_missing_values(tmp_path, origin, kind):
    source, before = columns(write(tmp_path / f"survey{origin}", survey()))
    table = pa.Table.from_batches(source.batches(list(source.columns)))
    schema = described(table.schema, source.about, source.codes)
    with table_writer(tmp_path / f"open{kind}", schema, {}, force=False) as put:
        for batch in table.to_batches(100):
            put(batch)
    again, after = columns(tmp_path / f"open{kind}")
    before["town"], after["town"] = ([one or None for one in found["town"]] for found in (before, after))
    assert after == before
    if kind != ".xlsx":
        assert dict(again.about) == ABOUT
        assert {label: again.codes["sex"][label] for label in ("Male", "Female")} == {"Male": 1, "Female": 2}


def test_a_new_value_gets_a_number_of_its_own(tmp_path):
    schema = described(pa.schema([("x", pa.string())]), {}, {"x": {"low": 1.0, "high": 5.0}})
    with table_writer(tmp_path / "t.dta", schema, {}, force=False) as put:
        put(pa.record_batch({"x": ["high", "other", None, "low"]}, schema=schema))
    frame, found = pyreadstat.read_dta(tmp_path / "t.dta")
    assert frame["x"].fillna(-1).tolist() == [5, 6, -1, 1]
    assert found.variable_value_labels["x"] == {1: "low", 5: "high", 6: "other"}


def test_the_whole_way_in_the_format_of_spss(tmp_path, capsys):
    table, protocol, opened = write(tmp_path / "s.sav", survey(3_000)), tmp_path / "p.json", tmp_path / "open.sav"
    asked = ["--secret", "ill", "--columns", "sex,town", "--epsilon", "0.5", "--private", "8", "--time-limit", "5"]
    assert run(["fit", str(table), *asked, "-o", str(protocol)]) == 0
    assert run(["sanitise", str(table), "--protocol", str(protocol), "-o", str(opened)]) == 0
    assert run(["audit", str(protocol), "--table", str(table)]) == 0
    assert run(["estimate", str(opened), "--protocol", str(protocol)]) == 0
    frame, found = pyreadstat.read_sav(opened)
    assert list(frame) == ["sex", "town"]
    assert set(frame["sex"].dropna()) <= {1.0, 2.0}
    assert found.column_names_to_labels["sex"] == ABOUT["sex"]
    folder = tmp_path / "published"
    own = ["--title", "T", "--licence", "CC0-1.0", "--publisher", "P", "--contact", "p@example.org"]
    assert run(["publish", str(opened), "--protocol", str(protocol), *own, "-o", str(folder)]) == 0
    fields = json.loads((folder / "datapackage.json").read_text())["resources"][0]["schema"]["fields"]
    assert ABOUT["sex"] in fields[0]["description"]
    capsys.readouterr()


def test_python_takes_them_like_any_path(tmp_path):
    joint = pf.Joint.from_table(write(tmp_path / "s.dta", survey()), "ill", ["sex"])
    assert set(joint.columns[0].labels) == {"Male", "Female", "No answer", None}
    assert joint.columns[0].about == ABOUT["sex"]


ROWS = [
    ["n", "x", "day", "time", "mixed", 2024, "yes"],
    [1, 1.5, dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3, 4), "NA", "=1+1", True],
    [None] * 7,
    [2, None, dt.date(2020, 1, 3), dt.datetime(2020, 1, 2), 7, "b", None],
]


def test_the_first_sheet_of_a_workbook_is_read_or_the_one_that_is_named(tmp_path):
    path = workbook(tmp_path / "b.xlsx", first=[*ROWS[:1], [1, 2.5, None, None, "c", "d", False]], other=[["q"], [3]])
    source, found = columns(path)
    assert source.columns == ("n", "x", "day", "time", "mixed", "2024", "yes")
    assert found["x"] == [2.5]
    assert columns(path / "other")[1] == {"q": [3]}
    with pytest.raises(InvalidTable, match="no sheet 'third' among its 2: 'first', 'other'"):
        open_source(path / "third")


def test_cells_of_a_workbook_keep_their_types_and_mixed_ones_are_texts(tmp_path):
    path = workbook(tmp_path / "b.xlsx", first=[*ROWS[:1], [*ROWS[1][:5], "a", True], *ROWS[2:]])
    assert columns(path)[1] == {
        "n": [1, 2],
        "x": [1.5, None],
        "day": [dt.date(2020, 1, 2), dt.date(2020, 1, 3)],
        "time": [dt.datetime(2020, 1, 2, 3, 4), dt.datetime(2020, 1, 2)],
        "mixed": ["NA", "7"],
        "2024": ["a", "b"],
        "yes": [True, None],
    }


def test_the_workbook_that_is_read_is_not_written_over(tmp_path):
    path = workbook(tmp_path / "b.xlsx", first=[["s", "x"], *[[i % 2, i % 3] for i in range(60)]])
    protocol = pf.optimise(pf.Joint.from_table(path, "s"), pf.LIP(0.5))
    with pytest.raises(OutputRefused, match="the input itself"):
        protocol.sanitise(path / "first", path, force=True)


MANIFEST = (
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    '<manifest:file-entry manifest:full-path="/" '
    'manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/></manifest:manifest>'
)


def test_a_sheet_of_open_document_is_read(tmp_path):
    cell = '<table:table-cell office:value-type="{}" {}><text:p>{}</text:p></table:table-cell>'
    names = "".join(cell.format("string", "", name) for name in ("x", "town"))
    row = cell.format("float", 'office:value="3"', 3) + cell.format("string", "", "Ashford")
    uses = " ".join(f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"' for n in ("office", "table", "text"))
    content = (
        f"<office:document-content {uses}><office:body><office:spreadsheet><table:table table:name='one'>"
        f"<table:table-row>{names}</table:table-row><table:table-row>{row}</table:table-row></table:table>"
        "</office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("META-INF/manifest.xml", MANIFEST)
        file.writestr("content.xml", content)
    assert columns(tmp_path / "t.ods")[1] == {"x": [3], "town": ["Ashford"]}


def test_no_released_text_is_a_formula(tmp_path):
    schema = pa.schema([("=x", pa.string())])
    with table_writer(tmp_path / "t.xlsx", schema, {}, force=False) as put:
        put(pa.record_batch({"=x": ["=1+1", "@SUM(A1)"]}, schema=schema))
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    assert {cell.data_type for row in sheet.iter_rows() for cell in row if cell.value is not None} == {"s"}
    assert [cell.value for cell in sheet["A"]] == ["=x", "=1+1", "@SUM(A1)"]


def test_a_row_that_excel_would_lose_is_refused(tmp_path):
    schema = pa.schema([("x", pa.int64())])
    with (
        pytest.raises(OutputRefused, match="lose a row in which all is missing"),
        table_writer(tmp_path / "t.xlsx", schema, {}, force=False) as put,
    ):
        put(pa.record_batch({"x": [1, None, 3]}, schema=schema))


def test_more_rows_than_a_sheet_has_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(writing_others, "MOST_ROWS", 2)
    schema = pa.schema([("x", pa.int64())])
    with (
        pytest.raises(OutputRefused, match="room for 2 rows"),
        table_writer(tmp_path / "t.xlsx", schema, {}, force=False) as put,
    ):
        put(pa.record_batch({"x": [1, 2, 3]}, schema=schema))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [".sav", ".dta"])
def test_a_name_that_the_format_does_not_take_is_refused_before_rows_are_drawn(tmp_path, kind):
    schema = pa.schema([("hours per week", pa.int64())])
    with (
        pytest.raises(OutputRefused, match="hours per week"),
        table_writer(tmp_path / f"t{kind}", schema, {}, force=False),
    ):
        raise AssertionError("rows were asked for")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [".sav", ".zsav", ".por", ".dta", ".xpt", ".xlsx"])
def test_a_broken_file_is_refused_in_one_line_that_quotes_none_of_it(tmp_path, kind):
    path, rng = tmp_path / f"t{kind}", np.random.default_rng(len(kind))
    if kind == ".xlsx":
        workbook(path, first=[["town", "x"], *[["Ashford", i] for i in range(30)]])
    else:
        write(path, survey(40))
    good = path.read_bytes()
    told = []
    for turn in range(2):
        bad = bytearray(good if turn else good[: int(rng.integers(1, len(good)))])
        for _ in range(40):
            bad[rng.integers(len(bad))] = rng.integers(256)
        path.write_bytes(bad)
        try:
            columns(path)
        except PrivacyFunnelError as trouble:
            told.append(str(trouble))
    assert told
    assert not [one for one in told if "\n" in one or "Ashford" in one]


@pytest.mark.parametrize("kind", [".sav", ".dta", ".sas7bdat", ".xlsx", ".xls", ".ods"])
def test_a_text_file_under_another_name_is_refused_in_one_line(tmp_path, capsys, kind):
    path = tmp_path / f"t{kind}"
    path.write_text("a,b\n1,2\n")
    assert run(["fit", str(path), "--secret", "a", "--epsilon", "1", "-o", str(tmp_path / "p.json")]) == 2
    told = capsys.readouterr().err.strip()
    assert "\n" not in told
    assert f"cannot be read as a {kind} file" in told


@pytest.mark.parametrize(("kind", "package"), [(".sav", "pyreadstat"), (".xlsx", "python_calamine")])
def test_without_what_reads_a_format_it_is_said_what_to_install(tmp_path, monkeypatch, kind, package):
    path = tmp_path / f"t{kind}"
    path.write_bytes(b"anything")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"pip install 'privacyfunnel\[formats\]'"):
        open_source(path)


@pytest.mark.parametrize(("kind", "package"), [(".sav", "pyreadstat"), (".xlsx", "openpyxl")])
def test_without_what_writes_a_format_it_is_said_what_to_install(tmp_path, monkeypatch, kind, package):
    monkeypatch.setitem(sys.modules, package, None)
    with (
        pytest.raises(MissingExtra, match=r"pip install 'privacyfunnel\[formats\]'"),
        table_writer(tmp_path / f"t{kind}", pa.schema([("x", pa.int64())]), {}, force=False),
    ):
        pass


def test_what_reads_other_formats_is_not_loaded_for_csv(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("s,x\n" + "0,a\n1,b\n" * 40)
    code = (
        "import sys, privacyfunnel as pf\n"
        f"pf.optimise(pf.Joint.from_table({str(table)!r}, 's'), pf.LIP(0.5)).sanitise({str(table)!r})\n"
        "print([m for m in ('pyreadstat', 'python_calamine', 'openpyxl') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


HAVEN = """
library(haven)
x <- data.frame(town = c("Ashford", "Birch", NA), age = c(34, NA, 51))
x$sex <- labelled_spss(c(1, 2, 9), c(Male = 1, Female = 2, "No answer" = 9), na_values = 9, label = "Sex")
write_sav(x, "h.sav")
x$sex <- labelled(c(1, 2, tagged_na("a")), c(Male = 1, Female = 2), label = "Sex")
write_dta(x, "h.dta")
write_xpt(data.frame(town = x$town, age = x$age), "h.xpt")
"""


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_files_of_haven_are_read(tmp_path):
    asked = [shutil.which("Rscript"), "-e", 'quit(status = !requireNamespace("haven", quietly = TRUE))']
    if subprocess.run(asked, check=False, capture_output=True).returncode:
        pytest.skip("R's package haven is not installed: on Debian, r-cran-haven, which .ci/run does not install")
    subprocess.run([*asked[:2], HAVEN], check=True, capture_output=True, cwd=tmp_path)
    for kind in (".sav", ".dta"):
        source, found = columns(tmp_path / f"h{kind}")
        assert found["sex"] == ["Male", "Female", None]
        assert found["age"] == [34, None, 51]
        assert [one or None for one in found["town"]] == ["Ashford", "Birch", None]
        assert dict(source.about) == {"sex": "Sex"}
    assert columns(tmp_path / "h.xpt")[1]["age"] == [34, None, 51]
