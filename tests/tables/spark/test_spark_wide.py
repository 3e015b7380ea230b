"""Models on Spark: workers recompute the groups, rows are redrawn as on one machine, and refused as there."""

import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2_contingency

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import ExactFit, InvalidInput, OutputRefused, UnseenValues
from privacyfunnel.tables.spark.release import sanitise_spark
from privacyfunnel.tables.wide.fit import fit_wide
from spark_parts import spark

pytestmark = pytest.mark.long
PLAUSIBLE, ABSURD = 1e-6, 1e-9
COLUMNS = ["a", "b", "c"]


@pytest.fixture(scope="module")
def session():
    with spark() as session:
        yield session


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    a, c = rng.integers(0, 4, 20_000), rng.integers(0, 3, 20_000)
    b = (a + rng.integers(0, 3, 20_000)) % 5
    ill = rng.random(20_000) < 1 / (1 + np.exp(4 - 1.5 * a - 0.5 * b))
    return pd.DataFrame({"a": a, "b": [f"place {one}" for one in b], "c": c, "ill": np.where(ill, "yes", "no")})


@pytest.fixture(scope="module")
def by_kind(frame):
    """By groups, and by a list."""
    joint = pf.Joint.from_table(frame, "ill", COLUMNS)
    found = {kind: fit_wide(joint, pf.LIP(0.5), None, seconds=s) for kind, s in (("groups", 0), ("program", 60))}
    assert all(protocol.by_model.redrawn_by == kind for kind, protocol in found.items())
    return found


@pytest.fixture(scope="module")
def protocol(by_kind):
    return by_kind["groups"]


def counts(frame):
    return Counter(map(tuple, frame.collect()))


def alike(one, other):
    """The chance of two counters as different as these, if rows are drawn in the same way."""
    keys = sorted({*one, *other})
    table = np.array([[each[key] for key in keys] for each in (one, other)])
    return chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue


@pytest.mark.parametrize("kind", ["groups", "program"])
def test_what_is_sent_to_workers_has_no_groups_and_they_are_recomputed(by_kind, kind):
    protocol = by_kind[kind]
    assert protocol.by_model.plan is not None
    sent = pickle.loads(pickle.dumps(protocol))  # noqa: S301 - our own
    assert "plan" not in sent.step.__dict__
    assert sent.by_model.plan.digest() == protocol.by_model.groups


@pytest.mark.parametrize("kind", ["groups", "program"])
def test_rows_are_redrawn_as_on_one_machine_and_not_as_by_another_promise(session, frame, by_kind, kind):
    protocol = by_kind[kind]
    table = session.createDataFrame(frame).repartition(4)
    here = Counter(map(tuple, protocol.sanitise(frame)[COLUMNS].to_numpy().tolist()))
    there = counts(protocol.sanitise_spark(table))
    assert sum(there.values()) == len(frame)
    assert alike(here, there) > PLAUSIBLE
    # One value at a time, which tells how it is redrawn.
    commonest = frame[COLUMNS].value_counts().idxmax()
    same = pd.DataFrame([commonest] * 20_000, columns=COLUMNS)
    drawn = counts(protocol.sanitise_spark(session.createDataFrame(same)))
    assert alike(Counter(map(tuple, protocol.sanitise(same).to_numpy().tolist())), drawn) > PLAUSIBLE
    other = fit_wide(pf.Joint.from_table(frame, "ill", COLUMNS), pf.LIP(0.05), None)
    assert alike(Counter(map(tuple, other.sanitise(same).to_numpy().tolist())), drawn) < ABSURD


def test_work_that_is_done_twice_draws_the_same_rows(session, frame, protocol):
    released = protocol.sanitise_spark(session.createDataFrame(frame).repartition(3, "a"), seed=5)
    again = protocol.sanitise_spark(session.createDataFrame(frame).repartition(3, "a"), seed=5)
    assert counts(released) == counts(again)
    assert counts(protocol.sanitise_spark(session.createDataFrame(frame).repartition(3, "a"), seed=6)) != counts(again)
    assert counts(released) == counts(released.select("*"))


def test_unknown_values_are_counted_and_refused(session, frame, protocol, tmp_path):
    strange = frame.assign(b=["elsewhere", *frame.b[1:]])
    with pytest.raises(UnseenValues, match="1 rows in b"):
        protocol.sanitise_spark(session.createDataFrame(strange), tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()
    with pytest.raises(InvalidInput, match="cannot draw rows"):
        sanitise_spark(protocol, session.createDataFrame(frame), unseen="draw")
    with pytest.raises(OutputRefused, match="Parquet"):
        protocol.sanitise_spark(session.createDataFrame(frame), tmp_path / "out.csv")


def test_the_command_line_releases_on_a_cluster_and_what_is_released_can_be_estimated_from(
    session, frame, protocol, tmp_path, capsys
):
    frame.to_csv(tmp_path / "people.csv", index=False)
    with pytest.warns(ExactFit):
        protocol.save(tmp_path / "wide.json")
    given = ["--protocol", str(tmp_path / "wide.json"), "-o", str(tmp_path / "open.parquet")]
    assert run(["sanitise", str(tmp_path / "people.csv"), *given, "--engine", "spark"]) == 0
    assert "lean a little towards the published model" in " ".join(capsys.readouterr().out.split())
    released = pq.read_table(tmp_path / "open.parquet")
    assert released.column_names == COLUMNS
    found = pf.estimate(released, pf.Protocol.load(tmp_path / "wide.json"), of="a").table("a")
    for one, share in zip(found.estimates, frame.a.value_counts(normalize=True).sort_index(), strict=True):
        assert one.share == pytest.approx(share, abs=0.02)
