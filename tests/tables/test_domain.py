"""Domains: columns are what is declared, whoever is in the table, and every mistake in the file is one clear line."""

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.distribution.column import OPEN
from privacyfunnel.errors import InvalidDomain, InvalidInput, InvalidTable
from privacyfunnel.tables.counting import count_table
from privacyfunnel.tables.declaring import round_borders, template
from privacyfunnel.tables.domain import SCHEMA, DeclaredColumn, Domain
from privacyfunnel.tables.fitting import Wishes
from privacyfunnel.tables.sources import open_source
from spark_parts import require_spark

WRITTEN = Path(__file__).resolve().parents[2] / "docs" / "domain.schema.json"
CANARY = "CANARY"
TOWN = {"name": "town", "kind": "text", "values": ["Ash", "Birch", f"{CANARY} Hill"]}
AGE = {"name": "age", "kind": "bins", "edges": [0, 18, 65, None]}
ILL = {"name": "ill", "kind": "boolean", "values": [False, True]}


def text_of(*columns, **more):
    return json.dumps({"schema": SCHEMA, **more, "columns": list(columns)})


def domain_of(*columns):
    return Domain.from_text(text_of(*columns))


def refusal(text):
    """The one line that is said against a file."""
    with pytest.raises(InvalidDomain) as refused:
        Domain.from_text(text, "domain.json")
    line = str(refused.value)
    assert "\n" not in line
    assert line.startswith("domain.json")
    assert CANARY not in line
    return line


def table(towns, ages, ill):
    return pa.table({"town": towns, "age": ages, "ill": ill})


# --- mistakes in the file ----------------------------------------------------------------------------

MISTAKES = {
    "a field that there is not": ({**TOWN, "valeus": []}, "'town': there is no field 'valeus'; there are name, kind"),
    "no kind": ({"name": "town", "values": ["a"]}, "'town': the field 'kind' is missing"),
    "no name": ({"kind": "text", "values": ["a"]}, "column number 1: the field 'name' is missing"),
    "an empty name": ({**TOWN, "name": ""}, 'column number 1: "name" must be a text of 1'),
    "a blank name": ({**TOWN, "name": " "}, '"name" is empty'),
    "an endless name": ({**TOWN, "name": "x" * 2_000}, '"name" must be a text of 1 to 1,000 letters'),
    "a name that is no text": ({**TOWN, "name": 3}, 'column number 1: "name" must be a text'),
    "no object": (3, "column number 1: it must be an object"),
    "a kind that is none": ({**TOWN, "kind": "string"}, "'town': \"kind\" must be one of text, integer"),
    "values that are no list": ({**TOWN, "values": "ab"}, "'town': \"values\" must be a list"),
    "a value that is null": ({**TOWN, "values": ["a", None]}, 'entry 2 does not fit: "values" must be'),
    "a value that is a list": ({**TOWN, "values": [["a"]]}, 'entry 1 does not fit: "values" must be'),
    "no values": ({"name": "town", "kind": "text"}, "'town': no values are declared"),
    "a value twice": ({**TOWN, "values": ["a", "b", "a"]}, "'town': values 1 and 3 are the same"),
    "a number twice": ({**TOWN, "kind": "number", "values": [1, 1.0]}, "'town': values 1 and 2 are the same"),
    "a number among texts": ({**TOWN, "values": ["a", 3]}, "'town': value 2 is not a text, in quotes"),
    "a text among numbers": ({**TOWN, "kind": "integer", "values": [1, "3"]}, "value 2 is not a whole number"),
    "a fraction among whole numbers": ({**TOWN, "kind": "integer", "values": [1.5]}, "value 1 is not a whole number"),
    "a whole number too large": ({**TOWN, "kind": "integer", "values": [2**63]}, "value 1 is not a whole number"),
    "a truth among numbers": ({**TOWN, "kind": "number", "values": [True]}, "value 1 is not a number"),
    "a number among truths": ({**TOWN, "kind": "boolean", "values": [True, 0]}, "value 2 is not true or false"),
    "no year": ({**TOWN, "kind": "year", "values": ["2024", "24"]}, "value 2 is not a year like"),
    "no month": ({**TOWN, "kind": "month", "values": ["2024-13"]}, "value 1 is not a month like"),
    "no day": ({**TOWN, "kind": "day", "values": ["2024-05"]}, "value 1 is not a day like"),
    "an empty value": ({**TOWN, "values": ["a", ""]}, "value 2 is empty, which means missing"),
    "a value that means missing": ({**TOWN, "missing_texts": ["Birch"]}, 'value 2 is among the "missing_texts"'),
    "a value called other": ({**TOWN, "values": ["other"], "outside": "other"}, 'value 1 is "other", which stands for'),
    "edges of texts": ({**TOWN, "edges": [0, 1]}, "'town': only bins have \"edges\""),
    "another outside": ({**TOWN, "outside": "drop"}, '"outside" must be "refuse" or "other"'),
    "a missing in quotes": ({**TOWN, "missing": "true"}, '"missing" must be true or false, without quotes'),
    "missing texts that are none": ({**TOWN, "missing_texts": [9]}, 'entry 1 does not fit: "missing_texts"'),
    "a comment that is a list": ({**TOWN, "comment": ["a"]}, '"comment" must be one text'),
    "other truths": ({**ILL, "outside": "other"}, "'ill': what is true or false has no \"other\""),
    "other bins": ({**AGE, "outside": "other"}, "leave the outer borders open instead"),
    "digits of texts": ({**TOWN, "decimals": 1}, 'only bins have "decimals", and this is text'),
    "digits that are no number": ({**AGE, "decimals": "1"}, '"decimals" must be a whole number from 0 to 6'),
    "values of bins": ({**AGE, "values": [1]}, 'bins have "edges" and no "values"'),
    "no edges": ({"name": "age", "kind": "bins"}, 'bins need at least two "edges"'),
    "edges that fall": ({**AGE, "edges": [0, 18, 17]}, "number 3 is not above number 2"),
    "an edge twice": ({**AGE, "edges": [None, 18, 18, None]}, "number 3 is not above number 2"),
    "an open border inside": ({**AGE, "edges": [0, None, 3]}, "edge 2 is null"),
    "an edge in quotes": ({**AGE, "edges": [0, "18"]}, 'entry 2 does not fit: "edges"'),
    "an edge that is true": ({**AGE, "edges": [0, True]}, 'entry 2 does not fit: "edges"'),
    "an edge too far out": ({**AGE, "edges": [0, OPEN]}, "edge 2 is too far out; write null"),
    "an edge beyond all numbers": ({**AGE, "edges": [0, 10**400]}, "edge 2 is too far out; write null"),
    "half a character": ({**TOWN, "values": ["\ud800"]}, "a text in it is no text"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_column_is_one_line_that_says_where_it_is(mistake):
    column, words = MISTAKES[mistake]
    assert words in refusal(text_of(column))


FILES = {
    "nothing": ("", "is not JSON: line 1"),
    "a comma too many": (
        '{"schema": "x",\n}',
        "is not JSON: line 2, letter 1; look there, or right before, for a comma",
    ),
    "cut short": (text_of(TOWN)[:-20], "is not JSON: line 1"),
    "a list": ("[]", "no domain of privacyfunnel"),
    "no schema": ('{"columns": []}', 'begins with "schema": "privacyfunnel-domain/1"'),
    "a protocol": ('{"schema": "privacyfunnel-protocol/3"}', "no domain of privacyfunnel"),
    "a schema that is a number": ('{"schema": 1}', "no domain of privacyfunnel"),
    "a schema of tomorrow": ('{"schema": "privacyfunnel-domain/2"}', "this version reads 'privacyfunnel-domain/1'"),
    "no columns": (text_of(), '"columns" must be a list of columns, at least one'),
    "columns that are no list": (f'{{"schema": "{SCHEMA}", "columns": {{}}}}', '"columns" must be a list'),
    "columns left out": (f'{{"schema": "{SCHEMA}"}}', "the field 'columns' is missing"),
    "too many columns": (text_of(*[TOWN] * 1_001), '"columns" has more than 1,000 entries'),
    "a column twice": (text_of(TOWN, AGE, TOWN), "column 'town' is declared twice (numbers 1 and 3)"),
    "a field that there is not": (text_of(TOWN, colums=[]), "there is no field 'colums'; there are schema, about"),
    "comments that are no list": (text_of(TOWN, about="x"), '"about" must be a list of texts'),
    "a field twice": (f'{{"schema": "{SCHEMA}", "columns": [{{"name": "a", "kind": 1, "kind": 2}}]}}', "'kind' stands"),
    "no number": (f'{{"schema": "{SCHEMA}", "columns": NaN}}', "a number that is none"),
    "endless digits": ("9" * 5_000, "a number that is none"),
    "nested too deeply": ("[" * 100_000, "nested too deeply"),
}


@pytest.mark.parametrize("mistake", FILES)
def test_a_mistake_in_the_file_is_one_line(mistake):
    text, words = FILES[mistake]
    assert words in refusal(text)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path, monkeypatch):
    for path, words in ((tmp_path / "none.json", "there is no file"), (tmp_path, "cannot be read: ")):
        with pytest.raises(InvalidDomain, match=words):
            Domain.load(path)
    file = tmp_path / "domain.json"
    file.write_bytes(b'{"schema": "\xff"}')
    with pytest.raises(InvalidDomain, match="not text in UTF-8"):
        Domain.load(file)
    monkeypatch.setattr("privacyfunnel.tables.domain.MOST_BYTES", 10)
    with pytest.raises(InvalidDomain, match="is larger than"):
        Domain.load(file)


def test_a_file_as_windows_saves_it_is_read(tmp_path):
    file = tmp_path / "domain.json"
    file.write_bytes(b"\xef\xbb\xbf" + text_of(TOWN, AGE).replace(", ", ",\r\n").encode())
    assert Domain.load(file) == domain_of(TOWN, AGE)


def test_columns_that_are_not_declared_are_named():
    with pytest.raises(InvalidDomain, match=r"does not declare 'sex', 'job'; declare that"):
        domain_of(TOWN, AGE).require(["sex", "town", "job", "sex"])
    with pytest.raises(InvalidDomain, match="does not declare 'sex'"):
        domain_of(TOWN).column("sex")


# --- what is declared --------------------------------------------------------------------------------


def test_labels_are_those_declared_in_their_order_then_other_then_missing():
    declared = {**TOWN, "values": ["b", "a"], "outside": "other", "missing": True, "missing_texts": ["?"]}
    column = domain_of(declared).column("town")
    assert column.labels == ("b", "a", "other", None)
    assert column.encode(pa.array(["a", "x", "?", "", None, "other"])).tolist() == [1, 2, 3, 3, 3, 2]


def test_null_leaves_the_end_of_bins_open():
    column = domain_of({**AGE, "edges": [None, 18, None]}).column("age")
    assert column.edges == (-OPEN, 18.0, OPEN)
    assert column.labels == ("<18", ">=18")


def test_missing_is_unseen_unless_it_is_declared_even_where_others_are_other():
    column = domain_of({**TOWN, "outside": "other"}).column("town")
    assert column.encode(pa.array(["?", None])).tolist() == [3, -1]


def test_a_domain_written_and_read_is_the_same_and_a_human_can_read_it():
    many = {"name": "many", "kind": "integer", "values": list(range(500)), "comment": 'all of "them"'}
    domain = Domain.from_text(text_of(TOWN, AGE, ILL, many, about=["a", "b"]))
    written = domain.to_text()
    assert Domain.from_text(written) == domain
    assert '      "edges": [0, 18, 65, null],\n' in written
    assert "        499\n      ],\n" in written
    assert max(map(len, written.splitlines())) < 120


# --- counting by a domain ----------------------------------------------------------------------------

DECLARED = domain_of(
    {**TOWN, "values": ["Ash", "Birch", "Clay"], "outside": "other", "missing": True}, {**AGE, "missing": True}, ILL
)


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["Ash", "Birch", "Clay", "Elm", "", None]),
            st.none() | st.integers(0, 10**6),
            st.booleans(),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_whoever_is_in_the_table_the_columns_are_those_declared(rows):
    towns, ages, ill = zip(*rows, strict=True)
    joint = pf.Joint.from_table(
        table(pa.array(towns, pa.string()), pa.array(ages, pa.int64()), ill), "ill", domain=DECLARED
    )
    assert joint.columns == (DECLARED.column("town"), DECLARED.column("age"))
    assert joint.secret_columns == (DECLARED.column("ill"),)
    assert joint.secret_columns[0].labels == (False, True)
    assert joint.declared
    assert joint.chosen == ()
    assert joint.total == len(rows)
    assert joint.completed.codes.tolist() == [[i, j] for i in range(5) for j in range(4)]


def test_counts_by_a_domain_are_those_of_each_value():
    joint = pf.Joint.from_table(
        table(["Ash", "Elm", None, "Elm"], [17, 18, None, 90], [True] * 4), "ill", domain=DECLARED
    )
    assert joint.values.tolist() == [["Ash", "[0, 18)"], ["other", "[18, 65)"], ["other", ">=65"], [None, None]]
    assert joint.weights.tolist() == [[1, 1, 1, 1]]


def test_being_declared_is_kept_when_columns_are_left_out_or_combinations_are_added():
    joint = pf.Joint.from_table(table(["Ash", "Elm"], [1, 2], [True, False]), "ill", domain=DECLARED)
    assert joint.over(["age"]).declared
    assert joint.completed.declared
    assert joint.over(["age"]).completed.declared
    fitted = pf.Joint.from_table(table(["Ash", "Elm"], [1, 2], [True, False]), "ill")
    assert not fitted.declared
    assert not fitted.over(["age"]).declared
    assert not pf.Joint([[1, 2], [3, 4]]).declared


def test_values_that_are_not_declared_are_refused_with_a_count_and_not_quoted():
    domain = domain_of({**TOWN, "values": ["Ash"]}, AGE, ILL)
    rows = table([f"{CANARY} Elm", "Ash", None, "Ash"], [3, -1, math.inf, None], [True] * 4)
    with pytest.raises(InvalidTable) as refused:
        pf.Joint.from_table(rows, "ill", domain=domain)
    line = str(refused.value)
    assert "values that the domain does not declare: 2 in 'town', 3 in 'age'; declare them" in line
    assert '"outside": "other"' in line
    assert CANARY not in line


def test_values_of_another_kind_are_not_declared():
    domain = domain_of({"name": "town", "kind": "integer", "values": [1, 2]}, ILL)
    with pytest.raises(InvalidTable, match="does not declare: 1 in 'town'"):
        pf.Joint.from_table(pa.table({"town": ["1", "2", "two"], "ill": [True, False, True]}), "ill", domain=domain)


def test_by_default_the_declared_columns_are_meant_and_the_others_dropped():
    rows = table(["Ash"], [3], [True]).append_column("name", pa.array([CANARY]))
    counted = count_table(rows, "ill", domain=DECLARED)
    assert [f.column.name for f in counted.attributes] == ["town", "age"]
    assert [f.notice for f in counted.attributes] == [
        "declared: 3 values; the rest is 'other'; missing is a value of its own",
        "declared: 3 bins; missing is a value of its own",
    ]
    assert counted.dropped == ("name",)
    assert pf.Joint.from_table(rows, "ill", "age", domain=DECLARED).attributes == ("age",)


def test_a_declared_column_that_the_table_lacks_is_refused():
    with pytest.raises(InvalidTable, match="has no column 'age'"):
        pf.Joint.from_table(pa.table({"town": ["Ash"], "ill": [True]}), "ill", domain=DECLARED)


@pytest.mark.parametrize("wishes", [{"bins": {"age": 3}}, {"top": {"town": 1}}, {"dates": {"age": "year"}}])
def test_wishes_do_not_go_with_a_domain(wishes):
    with pytest.raises(
        InvalidInput, match=f"domain cannot be combined with {next(iter(wishes))}: the domain file says"
    ):
        pf.Joint.from_table(table(["Ash"], [3], [True]), "ill", domain=DECLARED, **wishes)


@pytest.mark.parametrize(("said", "decimals"), [({}, 1), ({"decimals": 0}, 0), ({"decimals": 3}, 3)])
def test_a_domain_says_how_finely_numbers_are_known(said, decimals):
    column = {"name": "x", "kind": "bins", "edges": [None, 1.5, 20, None], **said}
    text = json.dumps({"schema": "privacyfunnel-domain/1", "columns": [column]})
    domain = Domain.from_text(text)
    assert domain.decimals("x") == decimals
    assert Domain.from_text(domain.to_text()) == domain


def test_missing_texts_do_not_go_with_a_domain():
    with pytest.raises(InvalidTable, match='put these texts into "missing_texts"'):
        count_table(table(["Ash"], [3], [True]), "ill", wishes=Wishes(missing="?"), domain=DECLARED)


def test_values_of_a_secret_are_never_merged_into_other():
    with pytest.raises(InvalidTable, match="merges values of the secret 'town'"):
        pf.Joint.from_table(table(["Ash"], [3], [True]), "town", domain=DECLARED)


def test_a_domain_is_given_itself_or_by_its_path(tmp_path):
    file = tmp_path / "domain.json"
    file.write_text(DECLARED.to_text())
    rows = table(["Ash", "Elm"], [3, 20], [True, False])
    for given_as in (DECLARED, file, str(file)):
        assert pf.Joint.from_table(rows, "ill", domain=given_as).columns[0].labels[-1] is None
    with pytest.raises(InvalidDomain, match="not int"):
        pf.Joint.from_table(rows, "ill", domain=3)


def test_a_protocol_over_a_domain_is_certified_saved_and_reads_other_people(tmp_path):
    rng = np.random.default_rng(0)
    rows = table(rng.choice(["Ash", "Birch", "Elm"], 400), rng.integers(0, 90, 400), rng.random(400) < 0.3)
    joint = pf.Joint.from_table(rows, "ill", domain=DECLARED)
    protocol = pf.optimise(joint, pf.LIP(0.5), objective="faithful")
    protocol.save(tmp_path / "p.json")
    again = pf.Protocol.load(tmp_path / "p.json")
    assert pf.certify(again, joint)
    assert list(again.columns) == list(joint.columns)
    assert again.sanitise(rows).num_rows == 400


@pytest.mark.long
def test_spark_counts_by_a_domain_as_everybody_does():
    require_spark()
    from pyspark.sql import SparkSession

    rows = [("Ash", 3, True), ("Elm", 40, False), (None, None, True), ("Ash", 3, False)]
    session = SparkSession.builder.master("local[1]").getOrCreate()
    try:
        frame = session.createDataFrame(rows, "town string, age int, ill boolean")
        spark = pf.Joint.from_spark(frame, "ill", domain=DECLARED)
    finally:
        session.stop()
    towns, ages, ill = zip(*rows, strict=True)
    own = pf.Joint.from_table(table(towns, ages, ill), "ill", domain=DECLARED)
    assert spark.declared
    assert spark.columns == own.columns
    assert spark.weights.tolist() == own.weights.tolist()


# --- the template ------------------------------------------------------------------------------------


def people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "name": [f"{CANARY} {i}" for i in range(n)],
            "town": [["Ash", "Birch, Hill", ""][i] for i in rng.integers(0, 3, n)],
            "age": [str(age) if age > 20 else "?" for age in rng.integers(18, 90, n)],
            "income": rng.lognormal(10, 1, n),
            "children": rng.integers(0, 5, n),
            "born": [f"{year}-05-01" for year in rng.integers(1950, 1990, n)],
            "ill": rng.random(n) < 0.3,
            "always": [True] * n,
        }
    )


def test_a_template_declares_what_occurs_and_is_read_back():
    made = template(open_source(people()))
    assert Domain.from_text(made.to_text()) == made
    assert made.names == ("town", "age", "income", "children", "born", "ill", "always")
    by_name = {column.name: column for column in made.columns}
    assert by_name["town"].values == ("Ash", "Birch, Hill")
    assert by_name["town"].missing
    assert by_name["age"].missing_texts == ("?",)
    assert by_name["children"].values == (0, 1, 2, 3, 4)
    assert by_name["born"].kind == "year"
    assert by_name["always"].values == (False, True)
    assert all(column.comment for column in made.columns)


def test_a_table_is_counted_by_its_own_template():
    joint = pf.Joint.from_table(people(), "ill", domain=template(open_source(people())))
    assert joint.total == 600


def test_a_template_lists_no_names_of_people_unless_they_are_asked_for():
    assert CANARY not in template(open_source(people())).to_text()
    (name,) = template(open_source(people()), ["name"]).columns
    assert name.outside == "other"
    assert len(name.values) == 99
    with pytest.raises(InvalidTable, match="looks like the names of people; choose some with --columns"):
        template(open_source(people().select(["name"])))


def test_borders_of_a_template_are_round_and_tell_no_extremes():
    by_name = {column.name: column for column in template(open_source(people())).columns}
    assert by_name["age"].edges == (None, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, None)
    income = by_name["income"].edges
    assert income[0] is income[-1] is None
    assert all(edge % 5_000 == 0 for edge in income[1:-1])


@pytest.mark.parametrize(
    ("edges", "borders"),
    [
        ([-OPEN, OPEN], ()),
        ([-OPEN, 7, OPEN], (7,)),
        ([-OPEN, 1, 2, 3, OPEN], (1, 2, 3)),
        ([-OPEN, 0.11, 0.19, 0.31, OPEN], (0.15, 0.2, 0.25, 0.3)),
        ([-OPEN, -1e307, 1e307, OPEN], (-1e307, 1e307)),
        ([-OPEN, 5e-324, 1e-323, OPEN], (5e-324, 1e-323)),
    ],
)
def test_round_borders_known_by_hand(edges, borders):
    assert round_borders(edges) == pytest.approx(borders, rel=1e-12, abs=0)


@given(st.lists(st.floats(-1e300, 1e300), min_size=0, max_size=7, unique=True))
def test_round_borders_always_make_bins(inner):
    borders = round_borders([-OPEN, *sorted(inner), OPEN])
    column = DeclaredColumn(name="x", kind="bins", edges=(None, *borders, None)).column()
    assert len(column) <= 17


@pytest.mark.long
@settings(max_examples=80)
@given(
    st.lists(
        st.one_of(
            st.none(),
            st.text(max_size=4),
            st.sampled_from(["1", "+0", "2.5", "?", "2024-05-31", "other", "true", "07"]),
        ),
        min_size=1,
        max_size=40,
    ),
    st.lists(st.sampled_from(["0", "1", "?", "other", "2024"]), max_size=2),
)
def test_whatever_a_column_holds_its_template_is_a_domain_that_counts_it(entries, missing):
    rows = pa.table({"x": pa.array(entries, pa.string()), "s": ["s"] * len(entries)})
    try:
        made = template(open_source(rows), ["x", "s"], missing)
    except InvalidInput:  # what fitting refuses, such as too many different values
        return
    assert Domain.from_text(made.to_text()) == made
    assert pf.Joint.from_table(rows, "s", "x", domain=made).total == len(entries)


# --- edited files ------------------------------------------------------------------------------------

ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=5),
        st.sampled_from(["text", "bins", "year", "integer", "number", "boolean", "other", "refuse", "2024", SCHEMA]),
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(content, way=()):
    """Every way into a JSON object, to what it holds."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in inner:
        yield (*way, key)
        yield from places(value, (*way, key))


@st.composite
def edited(draw):
    """The text of a domain with some fields changed, deleted or added, and some letters lost."""
    content = json.loads(text_of({**TOWN, "outside": "other", "missing": True}, AGE, ILL, about=["for people"]))
    for _ in range(draw(st.integers(1, 3))):
        way = draw(st.sampled_from(sorted(places(content), key=str)))
        holder = content
        for key in way[:-1]:
            holder = holder[key]
        what = draw(st.sampled_from(["change", "delete", "add"]))
        if what == "change":
            holder[way[-1]] = draw(ANYTHING)
        elif what == "delete":
            del holder[way[-1]]
        elif isinstance(holder, dict):
            holder[draw(st.sampled_from(["values", "edges", "missing_texts", "comment"]) | st.text(max_size=5))] = draw(
                ANYTHING
            )
        else:
            holder.append(draw(ANYTHING))
        if not list(places(content)):
            break
    text = json.dumps(content)
    cut = draw(st.just(0) | st.integers(0, len(text)))
    return text[:cut] + text[cut + draw(st.integers(0, 2)) :] if cut else text


@settings(max_examples=400)
@given(edited())
def test_an_edited_file_is_a_domain_whose_columns_can_be_read_or_refused_in_a_line(text):
    try:
        domain = Domain.from_text(text)
    except InvalidDomain:  # whose message is one line, whatever it is made of
        return
    assert Domain.from_text(domain.to_text()) == domain
    for name in domain.names:
        assert domain.column(name).encode(pa.array(["Ash", "3", None, "true", "2024-05-31"])).max() < len(
            domain.column(name)
        )


OF_KIND = {
    "text": st.text(max_size=3),
    "integer": st.integers(-(2**64), 2**64),
    "number": st.floats() | st.integers(-(2**54), 2**54),
    "boolean": st.booleans(),
    "bins": st.none(),
    "year": st.from_regex(r"[0-9]{3,5}", fullmatch=True),
    "month": st.from_regex(r"[0-9]{4}-[01][0-9]", fullmatch=True),
    "day": st.from_regex(r"[0-9]{4}-[01][0-9]-[0-3][0-9]", fullmatch=True),
}


@st.composite
def likely(draw):
    """A column as somebody may write it: all fields of the right type, and what is in them nearly so."""
    kind = draw(st.sampled_from(sorted(OF_KIND)))
    column = {"name": "x", "kind": kind, "missing": draw(st.booleans())}
    if kind == "bins":
        ends = st.none() | st.floats(-1e9, 1e9)
        inner = draw(st.lists(st.integers(-100, 100) | st.floats(-100, 100), max_size=4))
        return column | {"edges": [draw(ends), *sorted(inner), draw(ends)]}
    column["values"] = draw(st.lists(OF_KIND[kind], max_size=4))
    texts = st.lists(st.text(max_size=2), max_size=2)
    return column | {"outside": draw(st.sampled_from(["refuse", "other"])), "missing_texts": draw(texts)}


@settings(max_examples=400)
@given(likely(), st.lists(st.none() | st.text(max_size=3) | st.integers().map(str), max_size=5))
def test_a_column_that_is_nearly_right_is_read_as_declared_or_refused(column, entries):
    try:
        domain = domain_of(column)
    except InvalidDomain:
        return
    assert Domain.from_text(domain.to_text()) == domain
    read = domain.column("x")
    own = [label for label in read.labels[: len(column.get("values", ()))] if column["kind"] != "bins"]
    assert own == column.get("values", [])
    assert (None in read.labels) == column["missing"]
    codes = read.encode(pa.array(entries, pa.string()))
    gone = [code for code, entry in zip(codes.tolist(), entries, strict=True) if _means_missing(entry, column)]
    assert set(gone) <= {len(read) - 1 if column["missing"] else -1}


def _means_missing(entry, column):
    return not entry or entry in column.get("missing_texts", ())


# --- the page ----------------------------------------------------------------------------------------


def test_the_schema_in_the_documentation_is_the_current_one():
    current = json.dumps(Domain.model_json_schema(), indent=2, ensure_ascii=False)
    assert WRITTEN.read_text(encoding="utf-8") == current + "\n", "put this into docs/domain.schema.json"
