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
