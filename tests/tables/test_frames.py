"""Any frame: whatever speaks the Arrow C stream is read alike, and comes back as its own kind where there is a way."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidTable

N = 600
rng = np.random.default_rng(3)
CONTENT = {
    "ill": rng.choice(["yes", "no"], N).tolist(),
    "town": [None if t == 3 else "ABC"[t] for t in rng.integers(0, 4, N)],
    "age": rng.integers(20, 26, N).tolist(),
}
ARROW = pa.table(CONTENT)


def as_pandas():
    frame = pytest.importorskip("pandas").DataFrame(CONTENT)
    frame.index = [f"person {i}" for i in range(N)]  # which is nobody's business
    return frame


def as_datafusion():
    context = pytest.importorskip("datafusion").SessionContext()
    return context.from_arrow(ARROW)


class OnlyTheStream:
    """What nobody knows, but that it speaks."""

    def __arrow_c_stream__(self, requested_schema=None):
        return ARROW.__arrow_c_stream__(requested_schema)


KINDS = {
    "pandas": (as_pandas, "pandas", "DataFrame"),
    "polars": (lambda: pytest.importorskip("polars").DataFrame(CONTENT), "polars", "DataFrame"),
    "arrow": (lambda: ARROW, "pyarrow", "Table"),
    "duckdb": (lambda: duckdb.connect().from_arrow(ARROW), "duckdb", "DuckDBPyRelation"),
    "ibis": (lambda: pytest.importorskip("ibis").memtable(ARROW), "ibis", "Table"),
    "datafusion": (as_datafusion, "pyarrow", "Table"),
    "reader": (lambda: ARROW.to_reader(), "pyarrow", "Table"),
    "stranger": (OnlyTheStream, "pyarrow", "Table"),
}


@pytest.fixture(scope="module")
def protocol():
    joint = pf.Joint.from_table(ARROW, "ill", ["town", "age"])
    return pf.optimise(joint, pf.LIP(0.5), objective="faithful")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_counted_alike(kind):
    make, _, _ = KINDS[kind]
    joint, expected = (pf.Joint.from_table(table, "ill") for table in (make(), ARROW))
    assert joint.attributes == expected.attributes
    assert np.array_equal(joint.weights, expected.weights)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_sanitised_alike_and_comes_back_as_its_own(kind, protocol):
    make, package, name = KINDS[kind]
    released = protocol.sanitise(make(), seed=1)
    assert type(released).__module__.split(".")[0] == package
    assert type(released).__name__ == name
    rows = released if isinstance(released, pa.Table) else pa.table(released)
    assert rows.select(["town", "age"]).to_pydict() == protocol.sanitise(ARROW, seed=1).to_pydict()
    assert list(rows.column_names) == ["town", "age"]  # no index, no secret


@pytest.mark.parametrize("kind", KINDS)
def test_analysts_may_bring_every_kind(kind, protocol):
    make, _, _ = KINDS[kind]
    released = protocol.sanitise(make(), seed=1)
    found, expected = (pf.estimate(table, protocol) for table in (released, protocol.sanitise(ARROW, seed=1)))
    assert found.as_dict() == expected.as_dict()


def test_what_metadata_there_is_comes_along(protocol):
    assert "INSECURE" in protocol.sanitise(as_pandas(), seed=1).attrs["privacyfunnel"]["randomness"]
    assert b"privacyfunnel" in protocol.sanitise(ARROW, seed=1).schema.metadata


@pytest.mark.parametrize("table", [{"a": [1]}, [1, 2], 5, None])
def test_what_is_no_table_is_refused_in_a_line(table):
    with pytest.raises(InvalidTable, match="Arrow C stream"):
        pf.Joint.from_table(table, "ill")


def test_a_stream_that_breaks_is_refused_without_quoting_it():
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise RuntimeError("patient 4711 has no town")

    with pytest.raises(InvalidTable, match="RuntimeError") as refused:
        pf.Joint.from_table(Broken(), "ill")
    assert "4711" not in str(refused.value)


def test_a_relation_whose_query_fails_is_refused_without_quoting_it():
    relation = duckdb.connect().sql("SELECT 'yes' AS ill, CAST(x AS INTEGER) AS n FROM (VALUES ('4711x')) t(x)")
    with pytest.raises(InvalidTable) as refused:
        pf.Joint.from_table(relation, "ill")
    assert "4711" not in str(refused.value)


def test_columns_of_mixed_values_and_names_twice_are_refused_by_name_only():
    pandas = pytest.importorskip("pandas")
    mixed = pandas.DataFrame({"ill": ["yes", "no"], "odd": [1, "4711"]})
    with pytest.raises(InvalidTable, match="'odd' holds values of different types"):
        pf.Joint.from_table(mixed, "ill", ["odd"])
    with pytest.raises(InvalidTable, match="twice"):
        pf.Joint.from_table(pandas.DataFrame([["yes", 1]], columns=["ill", "ill"]), "ill")


TYPED = pa.table(
    {
        "ill": CONTENT["ill"],
        "district": [f"{d}" for d in rng.integers(1, 4, N)],  # texts of digits
        "rate": [f"{r}" for r in rng.choice([0.5, 1.0], N)],
        "size": pa.array(rng.integers(1, 4, N), pa.int8()),
        "born": pa.array(rng.choice(["2001-02-03", "2002-03-04"], N)).cast(pa.date32()),
        "age": pa.array(rng.integers(20, 80, N), pa.int16()),  # will be cut into ranges, which are texts
    }
)
NAMES = ["district", "rate", "size", "born", "age"]


@pytest.fixture(scope="module")
def typed():
    joint = pf.Joint.from_table(TYPED, "ill", NAMES, dates={"born": "day"}, bins={"age": 2})
    return pf.optimise(joint, pf.LIP(0.5), objective="faithful", time_limit=5)


def test_columns_of_arrow_come_back_in_their_types(typed):
    released = typed.sanitise(TYPED, seed=1)
    own = {name: TYPED.schema.field(name).type for name in NAMES[:-1]}
    assert {name: released.schema.field(name).type for name in NAMES[:-1]} == own
    assert released.schema.field("age").type == pa.string()
    assert set(released["district"].to_pylist()) == {"1", "2", "3"}
    assert {float(rate) for rate in released["rate"].to_pylist()} == {0.5, 1.0}
    assert pf.estimate(released, typed, of="district", rows="fitted").as_dict()["tables"]  # and is read as before


def test_columns_of_polars_come_back_in_their_types(typed):
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(TYPED).with_columns(polars.col("district").cast(polars.Enum(["1", "2", "3"])))
    released = typed.sanitise(frame, seed=1)
    assert {name: released.schema[name] for name in NAMES[:-1]} == {name: frame.schema[name] for name in NAMES[:-1]}
    assert released.schema["age"] == polars.String


def test_columns_of_pandas_come_back_in_their_types(typed):
    pandas = pytest.importorskip("pandas")
    frame = TYPED.to_pandas().astype({"rate": "category"})
    released = typed.sanitise(frame, seed=1)
    assert all(isinstance(district, str) for district in released["district"])
    assert released["size"].dtype == "int8"
    assert isinstance(released["rate"].dtype, pandas.CategoricalDtype)
    assert set(map(type, released["age"])) == {str}


def test_columns_of_parquet_files_come_back_in_their_types_and_those_of_text_files_have_none(typed, tmp_path):
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

    pq.write_table(TYPED, tmp_path / "in.parquet")
    pa_csv.write_csv(TYPED, tmp_path / "in.csv")
    for name, kind in (("in.parquet", pa.string()), ("in.csv", pa.int64())):
        typed.sanitise(tmp_path / name, tmp_path / "out.parquet", force=True)
        assert pq.read_schema(tmp_path / "out.parquet").field("district").type == kind


def test_a_model_writes_columns_in_their_types():
    from privacyfunnel.tables.counting import count_table
    from privacyfunnel.tables.wide.fit import fit_wide

    joint = count_table(TYPED, "ill", ["district", "size"]).joint
    released = fit_wide(joint, pf.LIP(0.5), 1.0, seconds=0).sanitise(TYPED, seed=1)
    assert released.schema.types == [pa.string(), pa.int8()]


def test_a_transformer_gives_columns_in_their_types():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    frame = pandas.DataFrame({"district": TYPED["district"].to_pylist()})
    found = pf.PrivacyFunnel(epsilon=0.5).fit(frame, TYPED["ill"].to_pylist()).transform(frame)
    assert all(isinstance(district, str) for district in found["district"])


@pytest.fixture(scope="module")
def zones(tmp_path_factory):
    """A text column with leading zeros, of which the two most frequent values are kept, and one of plain digits."""
    folder, rng = tmp_path_factory.mktemp("zones"), np.random.default_rng(0)
    zone, ward = rng.choice(["01", "02", "03"], 300, p=[0.5, 0.4, 0.1]), rng.choice(["1", "2", "x"], 300)
    rows = [f"{z},{w},{s}" for z, w, s in zip(zone, ward, rng.choice(["y", "n"], 300), strict=True)]
    (folder / "people.csv").write_text("\n".join(["zone,ward,ill", *rows]) + "\n", encoding="utf-8")
    joint = pf.Joint.from_table(folder / "people.csv", "ill", ["zone", "ward"], top={"zone": 2})
    return pf.optimise(joint, pf.LIP(8.0), objective="faithful")


def test_texts_with_leading_zeros_are_not_taken_for_others_where_a_frame_holds_numbers(zones):
    numbers = pytest.importorskip("pandas").DataFrame({"zone": [1, 2, 1, 2], "ward": ["1", "2", "x", "1"]})
    with pytest.raises(InvalidTable, match="column 'zone' was fitted on texts") as refused:
        zones.sanitise(numbers)
    assert "01" not in str(refused.value)
    texts = zones.sanitise(numbers.assign(zone=["01", "02", "01", "02"]))
    assert set(texts["zone"]) <= {"01", "02", "other"}


def test_numbers_that_can_only_mean_one_text_are_read_as_it(zones):
    column = next(column for column in zones.columns if column.name == "ward")
    assert column.kind == "text"
    as_texts, as_numbers = pa.array(["1", "2", "1"]), pa.array([1, 2, 1])
    assert column.encode(as_texts).tolist() == column.encode(as_numbers).tolist()
    assert column.encode(pa.array([1.0, 2.0, 1.0])).tolist() == column.encode(as_texts).tolist()


def rows_of(released):
    """Columns of any frame as lists, missing values as None."""
    if isinstance(released, pa.Table):
        return released.to_pydict()
    if hasattr(released, "to_arrow"):
        return released.to_arrow().to_pydict()
    missing = pytest.importorskip("pandas").isna
    return {name: [None if missing(value) else value for value in released[name].tolist()] for name in released}


ALL_ALIKE = 400
"""Rows of one frame, none of which has a value missing, though some are released as one in which it is."""


def alike(kind):
    """The same rows in types of several libraries: some hold no missing value, some no other value than their own."""
    ones, town, well = [1] * ALL_ALIKE, ["a"] * ALL_ALIKE, [True] * ALL_ALIKE
    if kind.startswith("polars"):
        polars = pytest.importorskip("polars")
        towns = polars.Series(town, dtype=polars.Enum(["a"]) if "enum" in kind else polars.Categorical)
        return polars.DataFrame({"size": polars.Series(ones, dtype=polars.Int16), "town": towns, "well": well})
    if kind == "arrow":
        size, towns = pa.array(ones).dictionary_encode(), pa.array(town).dictionary_encode()
        return pa.table({"size": size, "town": towns, "well": well})
    pandas = pytest.importorskip("pandas")
    size, truth = {"pandas": ("int16", "bool"), "pandas, nullable": ("Int16", "boolean")}[kind]
    columns = {"size": pandas.array(ones, dtype=size), "well": pandas.array(well, dtype=truth)}
    return pandas.DataFrame({**columns, "town": pandas.Categorical(town)})


@pytest.mark.parametrize("kind", ["pandas", "pandas, nullable", "polars", "polars enum", "arrow"])
def test_values_drawn_are_those_written_whatever_the_types_of_a_frame_hold(kind):
    """A missing truth is not released as False, nor a town that a frame has no category for as missing."""
    draw = np.random.default_rng(4)
    size, town = draw.choice([1, 2], 2000), draw.choice(["a", "b"], 2000)
    well = draw.choice(np.array([True, False, None], dtype=object), 2000)
    ill = draw.random(2000) < 0.2 + 0.2 * (size == 1) + 0.3 * (town == "a") + 0.2 * (well == True)  # noqa: E712
    fitted = pa.table({"ill": ill.tolist(), "size": size.tolist(), "town": town.tolist(), "well": well.tolist()})
    joint = pf.Joint.from_table(fitted, "ill", ["size", "town", "well"])
    protocol = pf.optimise(joint, pf.LIP(0.1), objective="faithful", time_limit=5)
    plain = {"size": [1] * ALL_ALIKE, "town": ["a"] * ALL_ALIKE, "well": [True] * ALL_ALIKE}
    expected = protocol.sanitise(pa.table(plain), seed=2).to_pydict()
    assert None in expected["well"]
    assert "b" in expected["town"]
    released = protocol.sanitise(alike(kind), seed=2)
    assert {name: rows_of(released)[name] for name in expected} == expected


def test_types_of_pandas_that_hold_missing_values_come_back(typed):
    pandas = pytest.importorskip("pandas")
    frame = TYPED.to_pandas().convert_dtypes()
    released = typed.sanitise(frame, seed=1)
    assert released["size"].dtype == frame["size"].dtype == pandas.Int8Dtype()
    assert released["district"].dtype == frame["district"].dtype
