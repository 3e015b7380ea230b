"""Numbers, dates and times are read as people write them, if the column itself tells how; else it is asked."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privacyfunnel as pf
from filled_people import filled, people
from privacyfunnel.cli.app import run
from privacyfunnel.distribution import raw
from privacyfunnel.errors import InvalidTable
from privacyfunnel.tables.fitting import Wishes, fit_columns
from privacyfunnel.tables.sources import open_source


def fitted(values, **wishes):
    return fit_columns(open_source(pd.DataFrame({"x": values})), ["x"], Wishes(**wishes))[0]


@pytest.mark.parametrize(
    ("values", "written", "labels"),
    [
        (["72,9", "1.234,5", "900"], "comma", (72.9, 900.0, 1234.5)),
        (["1,234.5", "7", "-3"], "point", (-3.0, 7.0, 1234.5)),
        (["1 234", "5 678"], "point", (1234, 5678)),
        (["1'234'567", "3"], "point", (3, 1234567)),
        (["8:30", "14:45", "NA"], "hours", (8.5, 14.75, None)),
        ([dt.time(8, 30), dt.time(9), None], "hours", (8.5, 9.0, None)),
        (["31.05.2024", "01.02.2020"], "dmy", ("2020", "2024")),
        (["05/31/2024", "1/2/2020 12:30"], "mdy", ("2020", "2024")),
        (["2024/5/31", "2020/01/02"], "ymd", ("2020", "2024")),
    ],
)
def test_the_column_decides_how_it_is_written(values, written, labels):
    found = fitted(values)
    assert (found.column.written, found.column.labels) == (written, labels)
    assert "read as" in found.notice
    assert (found.column.encode(pa.array(values)) >= 0).all()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (["1,234", "5,678", "12"], "--set written=x=comma or point"),
        (["01/02/2020", "03/04/2021"], "--set written=x=dmy or mdy"),
        (["31.05.24", "01.06.24"], "year of two digits"),
        (["45 %", "3%"], "percent sign or a currency"),
        (["€ 1.200", "€ 3"], "percent sign or a currency"),
        (["1200 EUR", "3 EUR"], "percent sign or a currency"),
        (["31.12.2024", "30.11.2023", "29.10.2022", "12/31/2024"], "written in different ways"),
    ],
)
def test_what_the_column_does_not_tell_stays_a_text_and_is_asked_in_one_line(values, says):
    found = fitted(values)
    assert (found.column.kind, found.column.written) == ("text", "")
    assert says in found.notice


def test_a_point_before_three_digits_everywhere_is_pointed_out():
    assert "--set written=x=comma if the point" in fitted(["1.234", "5.678", "900"]).notice
    assert "written" not in fitted(["1.234", "5.6", "900"]).notice


def test_what_is_said_wins():
    assert fitted(["1,234", "5,678"], written={"x": "comma"}).column.labels == (1.234, 5.678)
    assert fitted(["1,234", "5,678"], written={"x": "point"}).column.labels == (1234, 5678)
    days = fitted(["01/02/2020", "03/04/2020"], written={"x": "mdy"}, dates={"x": "day"})
    assert days.column.labels == ("2020-01-02", "2020-03-04")


def test_what_is_not_written_as_was_said_is_refused_with_its_number():
    with pytest.raises(InvalidTable, match=r"2 values of column 'x' are no dates like 31.12.2024"):
        fitted(["31.12.2024", "12/31/2024", "never"], written={"x": "dmy"})


@given(st.integers(-(10**9), 10**9), st.integers(0, 99), st.sampled_from(["point", "comma"]))
def test_a_number_is_read_as_what_was_written(whole, cents, written):
    text = f"{whole:,}.{cents:02}"
    if written == "comma":
        text = text.translate(str.maketrans(",.", ".,"))
    read = raw.as_kind(raw.rewritten(pa.array([text]), written), "number")
    assert read.to_pylist() == [float(f"{whole}.{cents:02}")]


@given(st.dates(dt.date(1000, 1, 1)), st.sampled_from([("dmy", "%d.%m.%Y"), ("mdy", "%m/%d/%Y"), ("ymd", "%Y/%m/%d")]))
def test_a_date_is_read_as_what_was_written(day, way):
    written, form = way
    read = raw.as_kind(raw.rewritten(pa.array([day.strftime(form)]), written), "day")
    assert read.to_pylist() == [day.isoformat()]


def test_the_protocol_reads_tomorrows_rows_as_todays(tmp_path, capsys):
    rng = np.random.default_rng(1)
    n = 2_000
    kilos = rng.integers(400, 1200, n)
    rows = [f"{k // 10},{k % 10};{d:02}.{m:02}.{y};{s}" for k, d, m, y, s in zip(
        kilos, rng.integers(1, 29, n), rng.integers(1, 13, n), rng.integers(1950, 2000, n),
        np.where(rng.random(n) < kilos / 2000, "yes", "no"), strict=True)]  # fmt: skip
    table, protocol = tmp_path / "t.csv", tmp_path / "p.json"
    table.write_text("weight;born;ill\n" + "\n".join(rows) + "\n")
    asked = ["--secret", "ill", "--epsilon", "1", "--set", "bins=weight=4", "--set", "exact-fit", "--time-limit", "5"]
    assert run(["fit", str(table), *asked, "--set", "dates=born=year", "--set", "at-least=1", "-o", str(protocol)]) == 0
    loaded = pf.Protocol.load(protocol)
    assert [(c.kind, c.written) for c in loaded.columns] == [("bins", "comma"), ("year", "dmy")]
    table.write_text("weight;born;ill\n" + "\n".join(rows[:500]) + "\n")  # of which single ones may not tell
    assert run(["sanitise", str(table), "--protocol", str(protocol), "-o", str(tmp_path / "o.csv")]) == 0
    assert run(["audit", str(protocol), "--table", str(table)]) in (0, 1)
    capsys.readouterr()


def test_numbers_are_filled_alike_however_they_are_written(noise_with_seed):
    table = people(1_000)
    texts = pa.array([f"{x:.2f}".replace(".", ",") for x in table["score"].to_pylist()])
    fills = []
    for own in (table, table.set_column(table.schema.get_field_index("score"), "score", texts)):
        with noise_with_seed(4):
            joint = pf.Joint.from_table(own, "ill", ["town", "score"], private=2.0, at_least=5)
            found = filled(own, pf.optimise(joint, pf.LIP(0.5), objective="faithful", gap=0.05), names=("job",)).fill
        fills.append({one.name: (one.decimals, one.parts.tolist(), one.counts.tolist()) for one in found.inside})
    assert fills[0] == fills[1]
    assert fills[0]["score"][0] == 2


def test_a_domain_says_how_a_column_is_written(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("s;x\n" + "a;1,5\nb;70,0\n" * 40)
    domain = tmp_path / "d.json"
    assert run(["domain", str(table), "-o", str(domain)]) == 0
    assert '"written": "comma"' in domain.read_text()
    joint = pf.Joint.from_table(table, "s", ["x"], domain=domain)
    assert joint.columns[0].written == "comma"
