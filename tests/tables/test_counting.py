"""Counting: every kind of table gives the same exact joint, and nothing is decided silently."""

import csv
import gzip
import io
import json
from collections import Counter
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.counting import count_table
from privacyfunnel.tables.domain import Domain
from privacyfunnel.tables.fitting import Wishes
from privacyfunnel.tables.sources import VIEW

NAMES = ("diagnosis", "town", "sex", "age")


def people(n=500, seed=0):
    """Rows of text with commas, quotes, newlines, accents and missing entries."""
    rng = np.random.default_rng(seed)
    towns = ["Ash", "Birch, Hill", 'Clay "ton"', "Dún\nmore", "", "Ελλάδα"]
    return [
        (f"d{rng.integers(3)}", towns[rng.integers(6)], "fm"[rng.integers(2)], str(rng.integers(1, 9)))
        for _ in range(n)
    ]


def as_csv(rows, names=NAMES, delimiter=",", newline="\n", quoting=csv.QUOTE_MINIMAL):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=newline, quoting=quoting)
    writer.writerows([names, *rows])
    return text.getvalue()


def as_arrow(rows, names=NAMES):
    columns = {name: [row[j] or None for row in rows] for j, name in enumerate(names)}
    if "age" in columns:
        columns["age"] = [int(age) for age in columns["age"]]
    return pa.table(columns)


def counts(joint):
    """Counter of (secret, attributes …), in text."""
    found = Counter()
    for s, secret in enumerate(joint.secret_values):
        for x, values in enumerate(joint.values.tolist()):
            if joint.weights[s, x]:
                secrets = secret if isinstance(secret, tuple) else (secret,)
                found[tuple("" if v is None else str(v) for v in (*secrets, *values))] += int(joint.weights[s, x])
    return found


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def sources(rows, folder):
    table = as_arrow(rows)
    text = as_csv(rows)
    pq.write_table(table, folder / "t.parquet")
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    connection = duckdb.connect()
    connection.register("t", table)
    return {
        "csv": write(folder / "t.csv", text),
        "csv.gz": write(folder / "t.csv.gz", gzip.compress(text.encode())),
        "parquet": folder / "t.parquet",
        "jsonl": write(folder / "t.jsonl", lines),
        "jsonl.gz": write(folder / "t.jsonl.gz", gzip.compress(lines.encode())),
        "text of a path": str(folder / "t.csv"),
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
        "arrow": table,
        "record batch": table.combine_chunks().to_batches()[0],
        "duckdb": connection.sql("SELECT * FROM t"),
    }


KINDS = (
    *("csv", "csv.gz", "parquet", "jsonl", "jsonl.gz", "text of a path"),
    *("pandas", "polars", "arrow", "record batch", "duckdb"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_brute_force_counts(kind, tmp_path):
    rows = people()
    joint = pf.Joint.from_table(sources(rows, tmp_path)[kind], secret="diagnosis", attributes=["town", "sex", "age"])
    assert counts(joint) == Counter(rows)
    assert joint.counted
    assert joint.total == len(rows)
    assert joint.attributes == ("town", "sex", "age")


def test_only_the_asked_columns_are_counted_in_the_asked_order(tmp_path):
    rows = people()
    counted = count_table(sources(rows, tmp_path)["csv"], "diagnosis", ["age", "town"])
    assert counts(counted.joint) == Counter((d, age, town) for d, town, _, age in rows)
    assert counted.dropped == ("sex",)


def test_all_columns_but_the_secret_are_attributes_by_default(tmp_path):
    counted = count_table(sources(people(), tmp_path)["csv"], "sex")
    assert counted.joint.attributes == ("diagnosis", "town", "age")
    assert counted.dropped == ()


def test_several_secrets_are_one_secret_together(tmp_path):
    rows = people()
    joint = pf.Joint.from_table(sources(rows, tmp_path)["parquet"], secret=["diagnosis", "sex"], attributes=["town"])
    assert counts(joint) == Counter((d, sex, town) for d, town, sex, _ in rows)
    assert joint.secret == "diagnosis and sex"
    assert joint.n_s == 6
    assert set(joint.secret_values) == {(f"d{i}", s) for i in range(3) for s in "fm"}


def test_the_secret_may_be_released_only_if_that_is_said(tmp_path):
    table = as_arrow(people())
    with pytest.raises(InvalidTable, match="both secret and attribute"):
        count_table(table, "sex", ["sex", "town"])
    joint = count_table(table, "sex", ["sex", "town"], allow_secret_attribute=True).joint
    assert joint.n_s == 2
    assert (np.count_nonzero(joint.weights, axis=0) == 1).all()


@settings(max_examples=20)
@given(st.lists(st.tuples(*[st.sampled_from(["a", "b", "", "ü", "x y"])] * 3), min_size=1, max_size=40))
def test_counts_are_exact_for_any_small_table(rows):
    table = pa.table({name: [row[j] for row in rows] for j, name in enumerate("sxy")})
    assert counts(pf.Joint.from_table(table, secret="s")) == Counter(rows)


def test_counting_many_groups_in_several_batches_loses_nobody():
    rng = np.random.default_rng(3)
    n = 400_000
    value = rng.normal(size=n)
    secret = rng.integers(0, 2, n)
    joint = pf.Joint.from_table(pa.table({"s": secret, "x": value}), "s", bins={"x": [-10, -1, 0, 1, 10]})
    expected = [[np.histogram(value[secret == s], [-10, -1, 0, 1, 10])[0].tolist()] for s in (0, 1)]
    assert joint.weights.tolist() == [row for (row,) in expected]


# --- nothing is decided silently ---------------------------------------------------------------------


def test_every_automatic_choice_is_noticed():
    n = 400
    table = pa.table(
        {
            "s": ["a", "b"] * (n // 2),
            "number": list(range(n)),
            "few": [i % 3 for i in range(n)],
            "marked": [str(i) if i % 10 else "?" for i in range(n)],
            "day": [f"20{10 + i % 13}-01-01" for i in range(n)],
            "name": [f"name {i}" for i in range(n)],
            "word": ["u", "v"] * (n // 2),
        }
    )
    counted = count_table(table, "s")
    notices = {fitted.column.name: fitted.notice for fitted in counted.attributes}
    assert "bins of about equal counts" in notices["number"]
    assert "each number kept" in notices["few"]
    assert "'?' read as missing" in notices["marked"]
    assert "year" in notices["day"]
    assert "most frequent" in notices["name"]
    assert "identifier" in notices["name"]
    assert "kept as they are" in notices["word"]
    assert all(fitted.notice for fitted in (*counted.secrets, *counted.attributes))


def visits(n=400):
    """A table in which most people have a number and a name of their own."""
    rng = np.random.default_rng(5)
    people = rng.permutation(n)[: n * 3 // 4].tolist()
    numbers = [people[i % len(people)] * 31 + 1000 for i in range(n)]
    return pa.table(
        {
            "s": ["a", "b"] * (n // 2),
            "patient_nbr": numbers,
            "row": list(range(n)),
            "salary": numbers,
            "height": rng.normal(170, 8, n),
            "day": [f"20{i % 90 + 10}-0{i % 9 + 1}-{i % 28 + 1:02}" for i in range(n)],
            "town": ["u", "v", "w", "x"] * (n // 4),
        }
    )


def test_whole_numbers_that_nearly_every_row_has_its_own_of_are_pointed_out_as_identifiers():
    counted = count_table(visits(), "s")
    suspected = {f.column.name for f in counted.attributes if "identifier" in f.notice}
    assert suspected == {"patient_nbr", "row"}
    assert {f.column.name for f in counted.attributes if f.identifier} == suspected
    assert counted.identifiers == ()


def test_identifiers_are_left_out_if_that_is_asked_for_and_nobody_named_them():
    counted = count_table(visits(), "s", with_identifiers=False)
    assert counted.identifiers == ("patient_nbr", "row")
    assert counted.joint.attributes == ("salary", "height", "day", "town")
    assert set(counted.identifiers) <= set(counted.dropped)
    named = count_table(visits(), "s", ["patient_nbr", "town"], with_identifiers=False)
    assert named.joint.attributes == ("patient_nbr", "town")
    wished = count_table(visits(), "s", wishes=Wishes({"row": 3}), with_identifiers=False)
    assert wished.identifiers == ("patient_nbr",)


def test_a_table_of_identifiers_alone_is_refused():
    with pytest.raises(InvalidTable, match="every column looks like names or numbers of people"):
        count_table(visits().select(["s", "row"]), "s", with_identifiers=False)


def test_a_secret_is_not_suspected_to_be_an_identifier():
    (secret,) = count_table(visits(), "row", ["town"]).secrets
    assert "identifier" not in secret.notice


def test_a_secret_whose_values_all_mean_missing_is_said_to_protect_nothing():
    table = pa.table({"s": ["0", "1", "?"] * 10, "x": ["a", "b"] * 15})
    (merged,) = count_table(table, "s", wishes=Wishes(missing=("0", "1", "?"))).secrets
    (whole,) = count_table(table, "s").secrets
    assert "nothing is protected" in merged.notice
    assert "nothing is protected" not in whole.notice


def test_more_values_than_can_be_kept_are_all_kept():
    table = pa.table({"s": ["0", "1", "1"] * 10, "x": ["a", "b"] * 15})
    (kept,) = count_table(table, "s", wishes=Wishes(top={"x": 10**30})).attributes
    assert kept.column.labels == ("a", "b", "other")


def test_a_secret_with_many_values_is_not_merged_behind_the_stewards_back():
    """Asked for, it is refused; so it must not happen by itself either, or an audit sees another secret."""
    table = pa.table({"s": [f"v{i % 150}" for i in range(600)], "x": ["p", "q"] * 300})
    try:
        joint = count_table(table, "s").joint
    except InvalidTable:
        return
    assert joint.n_s == 150


# --- names -------------------------------------------------------------------------------------------

UNUSUAL = [
    "two words",
    'quo"te',
    "apo'strophe",
    "Größe",
    "年齢",
    "select",
    "from",
    "group",
    "{VIEW}",
    VIEW,
    "count(*)",
    "a;b",
    "a.b",
    "a\\b",
    "%s",
    "--",
    " padded ",
    "line\nbreak",
    "filename",
    "rowid",
]


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "arrow", "pandas", "polars"])
def test_unusual_column_names_are_only_names(kind, tmp_path):
    rng = np.random.default_rng(1)
    rows = [("xy"[rng.integers(2)], *(f"w{c}.{rng.integers(4)}" for c in range(len(UNUSUAL)))) for _ in range(40)]
    names = ("secret!", *UNUSUAL)
    columns = {name: [row[j] for row in rows] for j, name in enumerate(names)}
    table = pa.table(columns)
    if kind == "csv":
        source = write(tmp_path / "t.csv", as_csv(rows, names))
    elif kind == "parquet":
        pq.write_table(table, tmp_path / "t.parquet")
        source = tmp_path / "t.parquet"
    elif kind == "jsonl":
        source = write(tmp_path / "t.jsonl", "".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        source = {"arrow": table, "pandas": pd.DataFrame(columns), "polars": pl.DataFrame(columns)}[kind]
    joint = pf.Joint.from_table(source, "secret!", UNUSUAL, missing=("it's",))
    assert counts(joint) == Counter(rows)
    joint = pf.Joint.from_table(source, UNUSUAL[:2], UNUSUAL[2:], top=dict.fromkeys(UNUSUAL[2:], 3))
    assert joint.total == len(rows)
    assert all(len(column) == 4 for column in joint.columns)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "arrow", "pandas", "polars"])
def test_column_names_that_differ_only_in_case_are_told_apart_or_refused(kind, tmp_path):
    rows = [("s", "lower", "UPPER"), ("t", "lower2", "UPPER2")] * 5
    names = ("secret", "a", "A")
    table = pa.table({name: [row[j] for row in rows] for j, name in enumerate(names)})
    pq.write_table(table, tmp_path / "t.parquet")
    source = {
        "csv": write(tmp_path / "t.csv", as_csv(rows, names)),
        "parquet": tmp_path / "t.parquet",
        "jsonl": write(tmp_path / "t.jsonl", "".join(json.dumps(row) + "\n" for row in table.to_pylist())),
        "arrow": table,
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
    }[kind]
    for name, values in (("a", {"lower", "lower2"}), ("A", {"UPPER", "UPPER2"})):
        try:
            joint = pf.Joint.from_table(source, "secret", [name])
        except InvalidTable:
            continue
        assert set(joint.columns[0].labels) == values


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "pandas"])
def test_duplicate_column_names_are_refused(kind, tmp_path):
    table = pa.Table.from_arrays([pa.array(["a", "b"])] * 3, names=["s", "x", "x"])
    pq.write_table(table, tmp_path / "t.parquet")
    source = {
        "csv": write(tmp_path / "t.csv", "s,x,x\na,a,a\nb,b,b\n"),
        "parquet": tmp_path / "t.parquet",
        "arrow": table,
        "pandas": pd.DataFrame([["a", "a", "a"], ["b", "b", "b"]], columns=["s", "x", "x"]),
    }[kind]
    with pytest.raises(InvalidTable, match=r"twice|same column name"):
        pf.Joint.from_table(source, "s")


@pytest.mark.parametrize(
    "name",
    [
        "a*b.csv",
        "a?b.csv",
        "a[b].csv",
        "a[0-9]b.csv",
        "it's.csv",
        'quo"te.csv',
        "two words.csv",
        "ünï→.csv",
        "back\\slash.csv",
        "{x,y}.csv",
        "$HOME.csv",
        "-o.csv",
        "UPPER.CSV",
        "x.y.z.csv",
        "a*b.csv.gz",
        "G.CSV.GZ",
        "a[b].parquet",
        "it's.parquet",
        "a*b.jsonl",
        "t.tsv",
        "t.txt",
        "t.ndjson",
    ],
)
def test_unusual_file_names_are_only_names(name, tmp_path):
    rows = people(50)
    path = tmp_path / name
    if name.endswith(".parquet"):
        pq.write_table(as_arrow(rows), path)
    elif name.endswith(("jsonl", "ndjson")):
        write(path, "".join(json.dumps(row) + "\n" for row in as_arrow(rows).to_pylist()))
    else:
        text = as_csv(rows).encode()
        write(path, gzip.compress(text) if name.lower().endswith(".gz") else text)
    write(tmp_path / "aXb.csv", "other,columns\n1,2\n")
    write(tmp_path / "ab.csv", "other,columns\n1,2\n")
    assert counts(pf.Joint.from_table(path, "diagnosis")) == Counter(rows)


def test_a_file_name_that_is_no_utf8_is_read_or_refused(tmp_path):
    path = tmp_path / b"\xff.csv".decode("utf-8", "surrogateescape")
    path.write_text("s,x\na,b\nb,c\n")
    try:
        assert pf.Joint.from_table(path, "s").total == 2
    except InvalidTable:
        return


@pytest.mark.parametrize("folder", ["diagnosis=x", "year=2024"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "csv.gz"])
def test_the_name_of_a_folder_is_not_data(folder, kind, tmp_path):
    rows = people(50)
    inside = tmp_path / folder
    inside.mkdir()
    counted = count_table(sources(rows, inside)[kind], "diagnosis")
    assert counts(counted.joint) == Counter(rows)
    assert counted.dropped == ()


# --- dialects of CSV ---------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_delimiters_and_line_ends_are_found_out(delimiter, newline, tmp_path):
    rows = people(100)
    path = write(tmp_path / "t.csv", as_csv(rows, delimiter=delimiter, newline=newline))
    assert counts(pf.Joint.from_table(path, "diagnosis")) == Counter(rows)


def test_a_given_delimiter_beats_the_one_found_out(tmp_path):
    path = write(tmp_path / "t.csv", "s;x,y,z\na;1,2,3\nb;1,2,4\n")
    joint = count_table(path, "s", delimiter=";").joint
    assert joint.attributes == ("x,y,z",)


@pytest.mark.parametrize("delimiter", ["ab", "\\t", '"', "\n", "", "ü"])
def test_a_delimiter_that_is_none_is_refused(delimiter, tmp_path):
    path = write(tmp_path / "t.csv", "s,x\na,b\nb,c\n")
    with pytest.raises(InvalidTable):
        count_table(path, "s", delimiter=delimiter)


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    path = write(tmp_path / "t.csv", b"\xef\xbb\xbf" + as_csv(people(50)).encode())
    assert counts(pf.Joint.from_table(path, "diagnosis")) == Counter(people(50))


def test_everything_may_be_quoted(tmp_path):
    path = write(tmp_path / "t.csv", as_csv(people(50), quoting=csv.QUOTE_ALL))
    assert counts(pf.Joint.from_table(path, "diagnosis")) == Counter(people(50))


def test_the_last_line_needs_no_end(tmp_path):
    path = write(tmp_path / "t.csv", as_csv(people(50)).rstrip("\n"))
    assert counts(pf.Joint.from_table(path, "diagnosis")) == Counter(people(50))


def test_a_newline_in_a_quoted_name_is_no_row(tmp_path):
    path = write(tmp_path / "t.csv", 's,"two\nlines"\na,1\nb,2\n')
    joint = pf.Joint.from_table(path, "s")
    assert (joint.attributes, joint.total) == (("two\nlines",), 2)


@pytest.mark.parametrize(("inside", "end"), [("\n", "\r\n"), ("\r\n", "\n"), ("\r\n", "\r")])
def test_a_line_end_of_another_kind_in_a_name_is_refused_by_what_it_is(inside, end, tmp_path):
    """DuckDB would take the rows for one, or for none."""
    path = tmp_path / "t.csv"
    lines = [f'"s","two{inside}lines"', '"a","1"', '"b","2"', '"b","1"']
    path.write_bytes(end.join([*lines, ""]).encode())
    with pytest.raises(InvalidTable, match="holds a line end of another kind"):
        pf.Joint.from_table(path, "s")


def test_latin_1_is_read_when_asked_for_and_refused_as_utf_8(tmp_path):
    path = write(tmp_path / "t.csv", "s,grÃ¶ße\na,é\nb,ß\n".replace("Ã¶", "ö").encode("latin-1"))
    joint = count_table(path, "s", encoding="latin-1").joint
    assert joint.attributes == ("größe",)
    assert joint.columns[0].labels == ("ß", "é")
    with pytest.raises(InvalidTable, match="latin-1"):
        count_table(path, "s")


def test_a_wrong_letter_far_down_is_counted_and_refused(tmp_path):
    path = write(tmp_path / "t.csv", b"s,x\n" + b"a,b\nb,c\n" * 200_000 + b"a,\xff\n")
    with pytest.raises(InvalidTable, match=r"1 rows.*latin-1"):
        pf.Joint.from_table(path, "s")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_other_encodings_are_refused(encoding, tmp_path):
    path = write(tmp_path / "t.csv", "s,x\na,b\nb,c\n".encode(encoding))
    with pytest.raises(InvalidTable):
        pf.Joint.from_table(path, "s")


def test_concatenated_gzip_members_are_one_file(tmp_path):
    path = write(tmp_path / "t.csv.gz", gzip.compress(b"s,x\na,1\nb,2\n") + gzip.compress(b"a,1\nb,3\n"))
    assert pf.Joint.from_table(path, "s").total == 4


def test_nul_is_a_letter(tmp_path):
    path = write(tmp_path / "t.csv", "s,x\na,u\x00v\nb,u\n")
    assert set(pf.Joint.from_table(path, "s").columns[0].labels) == {"u\x00v", "u"}


# --- tables that are broken --------------------------------------------------------------------------

BODY = as_csv(people(30_000, seed=5))


def _flipped(data, where):
    broken = bytearray(data)
    broken[where : where + 64] = bytes(b ^ 0x55 for b in broken[where : where + 64])
    return bytes(broken)


def _parquet():
    sink = io.BytesIO()
    pq.write_table(as_arrow(people(30_000)), sink, use_dictionary=False, compression="snappy")
    return sink.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("t.csv", b"", "empty"),
        ("t.csv", b"\n\n", "empty"),
        ("t.csv", b"\xef\xbb\xbf", "empty"),
        ("t.csv", b"s,x\n", "no rows"),
        ("t.csv", b"s,x", "no rows"),
        ("t.csv.gz", b"", "empty"),
        ("t.csv.gz", gzip.compress(b""), "empty"),
        ("t.csv.gz", b"s,x\na,b\n", "gzip"),
        ("t.csv.gz", gzip.compress(BODY.encode())[:5000], "."),
        ("t.csv.gz", gzip.compress(BODY.encode())[:-300], "."),
        ("t.csv.gz", _flipped(gzip.compress(BODY.encode()), 100), "."),
        ("t.csv.gz", _flipped(gzip.compress(BODY.encode()), 20_000), "."),
        ("t.csv", b"x" * 200_000 + b"\n", "."),
        ("t.csv", b"s,x\na,b\nb\na,b,c\na,b\n", "2 rows"),
        ("t.csv", b's,x\na,b\nb,"c\n', "1 rows"),
        ("t.csv", b's,x\na,b\nb,"c"d\n', "rows"),
        ("t.csv", b",x\na,b\nb,c\n", "."),
        ("t.csv", np.random.default_rng(0).bytes(5000), "."),
        ("t.parquet", b"", "empty"),
        ("t.parquet", b"PAR1" + bytes(100) + b"PAR1", "."),
        ("t.parquet", BODY.encode(), "."),
        ("t.parquet", _parquet()[:-10], "."),
        ("t.parquet", _flipped(_parquet(), 50_000), "."),
        ("t.jsonl", b'{"s": "a", "x": 1}\n{"s": "b", "x":\n', "."),
        ("t.jsonl", b'[{"s": "a", "x": 1}, {"s": "b", "x": 2}]', "."),
        ("t.jsonl", b"not json\n", "."),
        ("t.jsonl", b'{"s": "a", "x": [1]}\n{"s": "b", "x": [2]}\n', "nested"),
        ("t.jsonl", b'{"s": "a", "x": {"y": 1}}\n{"s": "b", "x": {"y": 2}}\n', "nested"),
        ("t.jsonl.gz", b"not gzip", "."),
        ("t.xlsx", b"PK", "cannot be read as a .xlsx file"),
        ("t.doc", b"PK", "should end"),
        ("t", b"s,x\na,b\n", "should end"),
        (".csv", b"", "empty"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_broken_file_is_refused_in_words(name, content, says, tmp_path):
    with pytest.raises(InvalidTable, match=says):
        pf.Joint.from_table(write(tmp_path / name, content), "s" if b"diagnosis" not in content else "diagnosis")


def test_gzip_whose_checksum_is_wrong_is_refused(tmp_path):
    packed = gzip.compress(BODY.encode() + as_csv(people(30_000)).encode().split(b"\n", 1)[1] * 3)
    path = write(tmp_path / "t.csv.gz", packed[:-8] + bytes(4) + packed[-4:])
    with pytest.raises(InvalidTable):
        pf.Joint.from_table(path, "diagnosis")


def test_a_blank_first_line_is_refused_or_skipped(tmp_path):
    path = write(tmp_path / "t.csv", "\ns,x\na,b\nb,c\n")
    try:
        assert pf.Joint.from_table(path, "s").total == 2
    except InvalidTable as refused:
        if "Binder" in str(refused):  # a word of the engine says nothing to a steward
            raise


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"s": ["a", "b"], "x": [1, "CANARY"]}),
        pd.Series(["a", "b"]),
        pd.DataFrame({"s": ["a", "b"], "x": [[1], [2]]}),
        pa.table({"s": ["a", "b"], "x": pa.array([Decimal(100), Decimal(200)], pa.decimal128(10, -2))}),
        pl.LazyFrame({"s": ["a", "b"], "x": [1, 2]}),
        pl.Series(["a", "b"]),
        {"s": ["a"], "x": [1]},
        42,
        None,
        pa.table({"s": pa.array([], pa.string()), "x": pa.array([], pa.string())}),
        pd.DataFrame({"s": [], "x": []}),
        pd.DataFrame(),
    ],
    ids=lambda table: f"{type(table).__module__}.{type(table).__name__}",
)
def test_an_object_that_is_no_usable_table_is_refused_without_quoting_it(table):
    with pytest.raises(InvalidTable) as refused:
        pf.Joint.from_table(table, "s")
    assert "CANARY" not in str(refused.value)


def test_one_attribute_may_be_named_as_a_word():
    table = as_arrow(people(50))
    try:
        joint = pf.Joint.from_table(table, "diagnosis", "town")
    except (InvalidTable, TypeError) as refused:
        if "'t'" in str(refused):  # the word must not be taken apart
            raise
        return
    assert joint.attributes == ("town",)


@pytest.mark.parametrize(
    ("secret", "attributes", "wishes", "says"),
    [
        ("none", ["town"], {}, "no column 'none'"),
        ("sex", ["none"], {}, "no column 'none'"),
        ("Sex", ["town"], {}, "no column 'Sex'"),
        ([], ["town"], {}, "at least one"),
        ("sex", [], {}, "at least one"),
        ("sex", ["town", "town"], {}, "twice"),
        (["sex", "sex"], ["town"], {}, "twice"),
        ("sex", ["town"], {"bins": {"age": 3}}, "neither secret nor attribute"),
        ("sex", ["town"], {"top": {"sex": 1}}, "secret"),
        ("sex", ["town"], {"bins": {"town": 3}}, "no numbers"),
        ("sex", ["town"], {"dates": {"town": "year"}}, "no dates"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused(secret, attributes, wishes, says):
    with pytest.raises(InvalidTable, match=says):
        count_table(as_arrow(people(50)), secret, attributes, wishes=Wishes(**wishes))


@pytest.mark.parametrize("name", ["v", "value"])
def test_a_column_called_like_a_word_of_our_queries_hides_no_value_of_another(name):
    table = pa.table({"s": ["a", "b"] * 3, name: ["1", None, "2", None, "3", None], "x": list("pqprps")})
    joint = pf.Joint.from_table(table, "s", ["x"])
    assert joint.columns[0].labels == ("p", "q", "r", "s")
    kept = pf.Joint.from_table(table, "s", ["x"], top={"x": 1})
    assert kept.columns[0].labels == ("p", "other")
    assert joint.total == kept.total == 6


@pytest.mark.parametrize("damaged", [b"Qtext", b"Qname"])
def test_a_parquet_file_whose_texts_are_no_text_is_refused_in_words(damaged, tmp_path):
    path = tmp_path / "table.parquet"
    table = pa.table({"Qname": ["Qtext", "other"] * 3, "ill": ["yes", "no", "no"] * 2})
    pq.write_table(table, path, compression="none", store_schema=False)
    assert pf.Joint.from_table(path, secret="ill").n_x == 2
    path.write_bytes(path.read_bytes().replace(damaged, b"\xff" + damaged[1:]))
    with pytest.raises(InvalidTable, match="cannot be read as a table"):
        pf.Joint.from_table(path, secret="ill")
    protocol = pf.optimise(pf.Joint.from_table(table, secret="ill"), pf.LIP(0.5))
    with pytest.raises(InvalidTable):
        protocol.sanitise(path, tmp_path / "open.csv")
    assert not (tmp_path / "open.csv").exists()


def test_text_that_is_not_utf_8_is_one_line():
    offsets = pa.py_buffer(np.arange(5, dtype=np.int32).tobytes())
    broken = pa.Array.from_buffers(pa.string(), 4, [None, offsets, pa.py_buffer(b"a\xffbc")])
    with pytest.raises(InvalidTable, match="not UTF-8"):
        count_table(pa.table({"ill": ["y", "n", "y", "n"], "town": broken}), "ill")


def test_a_name_that_no_file_could_hold_is_one_line():
    with pytest.raises(InvalidTable, match="a name of 5,000 letters"):
        count_table(pa.table({"ill": ["y", "n"], 5_000 * "x": ["a", "b"]}), "ill")


@pytest.mark.parametrize(("most", "allowed"), [(8, False), (9, True), (16, True)])
def test_whether_a_table_is_too_large_follows_from_its_rows_and_columns_and_not_from_who_is_there(
    monkeypatch, most, allowed
):
    """A refusal by how many combinations occur would tell of single people, whatever the noise."""
    monkeypatch.setattr("privacyfunnel.tables.counting.MOST_CELLS", most)
    columns = [
        {"name": name, "kind": "text", "values": values} for name, values in (("s", ["y", "n"]), ("x", list("abcde")))
    ]
    domain = Domain.from_text(json.dumps({"schema": "privacyfunnel-domain/1", "columns": columns}))
    spread = pa.table({"s": list("yynnyynny"), "x": list("abcdeabcd")})  # 9 rows, 9 of 10 combinations
    alike = pa.table({"s": ["y"] * 9, "x": ["a"] * 9})
    for table in (spread, alike):
        if allowed:
            assert count_table(table, "s", domain=domain).joint.total == 9
        else:
            with pytest.raises(InvalidTable, match="too many"):
                count_table(table, "s", domain=domain)
