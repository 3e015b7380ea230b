"""Outputs that are written as the same values are told apart by a column, wherever rows are written and read back."""

import json
import warnings

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import ExactFit, InvalidInput, InvalidProtocol, InvalidTable
from privacyfunnel.protocols import file
from privacyfunnel.tables.reading_back import outputs_of_rows, tally
from spark_parts import spark

COUNTS = np.random.default_rng(5).integers(20, 400, size=(2, 4, 3))
ROWS = 4_000


def people(names=("town", "sex")) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    cells = rng.choice(COUNTS[0].size, ROWS, p=COUNTS.sum(axis=0).ravel() / COUNTS.sum())
    town, sex = np.unravel_index(cells, COUNTS[0].shape)
    return pd.DataFrame({names[0]: town, names[1]: sex})


def fitted(names=("town", "sex"), **more) -> pf.Protocol:
    return pf.optimise(pf.Joint(COUNTS, attributes=list(names)), pf.LIP(0.05), readers="pairs", **more)


@pytest.fixture(scope="module")
def protocol() -> pf.Protocol:
    found = fitted()
    assert found.block.variants.max() > 0  # else nothing here is tested
    return found


def test_labels_are_likeliest_values_and_variants_tell_outputs_apart(protocol):
    block = protocol.block
    mass = block.channel.dense() * COUNTS.sum(axis=0).ravel() / COUNTS.sum()
    assert (mass.argmax(axis=1) == block.labels).all()
    assert len(set(zip(block.labels.tolist(), block.variants.tolist(), strict=True))) == block.channel.n_outputs
    assert block.channel.n_outputs > block.channel.n_inputs


def test_frames_come_back_with_the_variant(protocol):
    table = people()
    kinds = {"pandas": table, "polars": polars.from_pandas(table), "arrow": pa.Table.from_pandas(table)}
    counts = []
    for kind, each in kinds.items():
        released = protocol.sanitise(each, seed=1)
        names = released.column_names if kind == "arrow" else list(released.columns)
        assert names == ["town", "sex", "variant"]
        counts.append(tally(protocol, released))
    assert all((each.counts == counts[0].counts).all() for each in counts)
    assert all((each.outputs == counts[0].outputs).all() for each in counts)


@pytest.mark.parametrize("name", ["open.csv", "open.csv.gz", "open.parquet"])
def test_files_round_trip(protocol, tmp_path, name):
    table = people()
    release = protocol.sanitise(_csv(table, tmp_path), tmp_path / name, seed=1)
    assert release.variant == "variant"
    assert "variant" in release.metadata()["variant_column"]
    direct = tally(protocol, protocol.sanitise(table, seed=1))
    read = tally(protocol, tmp_path / name)
    assert (read.outputs == direct.outputs).all()
    assert (read.counts == direct.counts).all()


def test_json_lines_are_read_back(protocol, tmp_path):
    released = protocol.sanitise(people(), seed=1)
    released.to_json(tmp_path / "open.jsonl", orient="records", lines=True)
    assert (tally(protocol, tmp_path / "open.jsonl").counts == tally(protocol, released).counts).all()


def test_row_by_row_the_outputs_are_those_that_were_drawn(protocol):
    released = protocol.sanitise(people(), seed=1, keep_order=True)
    y = outputs_of_rows(protocol, released)
    assert (protocol.block.variants[y] == released["variant"]).all()
    assert pf.posterior(released, protocol).p_x.sum() == pytest.approx(1)


def test_estimates_hold_with_and_without_the_variant(protocol):
    table = people()
    with_, without = (protocol.sanitise(table, seed=3, variant=variant) for variant in (True, False))
    assert list(without.columns) == ["town", "sex"]
    assert pf.posterior(without, protocol).p_x.sum() == pytest.approx(1)
    errors = []
    for released in (with_, without):
        found = pf.estimate(released, protocol, of=["town", "sex"], confidence=0.9999)
        told = [(t.attributes[0], e) for t in found.tables for e in t.estimates if e.told and len(e.values) == 1]
        errors.append(len(told))
        for name, each in told:
            assert each.low <= (table[name] == each.values[0][0]).mean() <= each.high
    assert errors[0] == 7


def test_rows_that_are_never_released_are_refused(protocol):
    released = protocol.sanitise(people(), seed=1)
    released["variant"] = 10_000
    with pytest.raises(InvalidTable, match="never releases"):
        pf.estimate(released, protocol)


def test_a_column_called_variant_keeps_its_name():
    protocol = fitted(("variant", "variant_"))
    assert protocol.variant == "variant__"
    released = protocol.sanitise(people(("variant", "variant_")), seed=1)
    assert list(released.columns) == ["variant", "variant_", "variant__"]
    assert pf.estimate(released, protocol).table("variant")


def test_other_protocols_have_no_variant(tmp_path):
    plain = pf.optimise(pf.Joint(COUNTS), pf.LIP(0.3))
    assert plain.variant is None
    assert '"variants": null' in file.to_text(plain)
    assert plain.released_columns == plain.attributes


def test_the_file_keeps_variants_and_precision(protocol, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExactFit)
        protocol.save(tmp_path / "protocol.json")
    loaded = pf.Protocol.load(tmp_path / "protocol.json")
    assert (loaded.block.variants == protocol.block.variants).all()
    assert loaded.precision.tables == protocol.precision.tables
    assert loaded.precision.variance >= protocol.precision.variance  # fewer digits, rounded up
    assert loaded.precision.variance_bound <= protocol.precision.variance_bound
    assert pf.certify(loaded, pf.Joint(COUNTS, attributes=["town", "sex"])).holds


@pytest.mark.parametrize("broken", ["same", "short", "negative", "columns"])
def test_forged_variants_are_refused(protocol, broken):
    content = json.loads(file.to_text(protocol))
    content.pop("digest")
    variants = content["chain"][0]["variants"]
    if broken == "same":
        content["chain"][0]["variants"] = [0] * len(variants)
    elif broken == "short":
        variants.pop()
    elif broken == "negative":
        variants[0] = -1
    else:
        content["precision"]["tables"] = [["height"]]
    with pytest.raises(InvalidProtocol):
        file.from_text(file.written({**content, "digest": file.digest_of_content(content)}))


def test_learned_attackers_see_the_variant(protocol):
    pytest.importorskip("sklearn")
    found = pf.attack(pf.Joint(COUNTS, attributes=["town", "sex"]), protocol)
    assert found


def test_it_is_no_start_for_more_information(protocol):
    from privacyfunnel.optimiser.improving import improve

    with pytest.raises(InvalidInput, match="fit it anew"):
        improve(protocol, pf.Joint(COUNTS, attributes=["town", "sex"]))


@pytest.mark.long
def test_spark_releases_the_variant(protocol, tmp_path):
    with spark() as session:
        frame = session.createDataFrame(people())
        released = protocol.sanitise_spark(frame, seed=1)
        assert released.columns == ["town", "sex", "variant"]
        rows = pd.DataFrame([row.asDict() for row in released.collect()])
        assert pf.estimate(rows, protocol).rows == ROWS
        released.unpersist()
        protocol.sanitise_spark(frame, tmp_path / "open.parquet", seed=1, variant=False)
    assert pq.read_table(tmp_path / "open.parquet").column_names == ["town", "sex"]


def _csv(table: pd.DataFrame, folder):
    table.to_csv(folder / "people.csv", index=False)
    return folder / "people.csv"
