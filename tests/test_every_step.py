"""Every command on every kind of protocol: it works, or says in a line why it cannot."""

import json

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.protocols.step import KINDS
from privacyfunnel.report.commands import steps
from privacyfunnel.spec.of_protocol import spec_of
from publishing.test_every_step import made, people
from small_models import small_models

FRAMES = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}


@pytest.fixture(scope="module", params=KINDS)
def done(request, tmp_path_factory):
    """The kind, a protocol of it, and the folder with the table and what was released."""
    folder = tmp_path_factory.mktemp(request.param)
    protocol, _ = made(request.param, folder)
    people().to_csv(folder / "people.csv", index=False)
    protocol.save(folder / "protocol.json")
    return request.param, protocol, folder


def past(kind, folder):
    """What a follow-up needs to know of its people: what was released of each."""
    return {"released": folder / "kept.csv", "person": "id"} if kind == "by_history" else {}


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_are_drawn_and_keep_their_kind(done, frame):
    kind, protocol, folder = done
    table = FRAMES[frame](people().drop(columns="ill"))
    drawn = protocol.sanitise(table, **past(kind, folder))
    assert type(drawn) is type(table)
    assert len(drawn) == len(table)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_files_of_every_format_are_drawn(done, tmp_path, ending):
    kind, protocol, folder = done
    protocol.sanitise(folder / "people.csv", tmp_path / f"open.{ending}", **past(kind, folder))
    columns = ["sex", "town"]
    found = pq.read_table(tmp_path / "open.parquet") if ending == "parquet" else None
    assert found is None or found.column_names == columns
    assert (tmp_path / f"open.{ending}").stat().st_size > 100


def test_rows_are_drawn_again_alike_with_a_key(done, tmp_path):
    kind, protocol, folder = done
    asked = {"remember": tmp_path / "people.key", "person": "id", "keep_order": True}
    if kind == "by_history":
        protocol.followed.sanitise(folder / "people.csv", tmp_path / "before.csv", **asked)
    found = [protocol.sanitise(folder / "people.csv", tmp_path / f"{i}.csv", **asked) for i in range(2)]
    assert found[0] is not None
    assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()
    assert run(["ledger", "verify", str(tmp_path / "people.key")]) == 0


def asked(kind, folder, *words):
    """A command line about what was released."""
    if kind == "by_history":
        found = folder / "kept2.csv"
        words = (*words, "--released", str(folder / "kept.csv"), "--person", "id")
    else:
        found = folder / ("open.parquet" if kind == "by_model" else "open.csv")
    return [words[0], str(found), *words[1:], "--protocol", str(folder / "protocol.json"), "--json"]


@pytest.fixture(scope="module")
def drawn_inside(done):
    """Of a follow-up, what was released last with whose it is, by which releases are read together."""
    kind, protocol, folder = done
    if kind == "by_history":
        internal = folder / "kept2.csv"
        protocol.sanitise(folder / "people.csv", folder / "again.csv", internal=internal, **past(kind, folder))
    return done


@pytest.mark.parametrize(
    "words",
    [
        ("estimate", "--of", "town"),
        ("estimate", "--of", "town", "--compare", "sex"),
        ("regress", "sex ~ C(town)", "--family", "binomial"),
    ],
    ids=" ".join,
)
def test_released_rows_are_estimated_compared_and_regressed(drawn_inside, capsys, words):
    kind, _, folder = drawn_inside
    assert run(asked(kind, folder, *words)) == 0, capsys.readouterr().err
    assert json.loads(capsys.readouterr().out)


def test_audit_and_report_with_the_table_and_without(done, tmp_path, capsys):
    _, _, folder = done
    file, table = str(folder / "protocol.json"), ["--table", str(folder / "people.csv")]
    for words in (["audit", file], ["audit", file, *table]):
        assert run([*words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["certificate"]["holds"]
    for words in (["--public"], table):
        page = tmp_path / f"{len(words)}.html"
        assert run(["report", file, *words, "-o", str(page), "--no-curves"]) == 0
        assert page.stat().st_size > 1_000


WHY_NOT_ATTACKED = {"by_history": "what they learn exactly is the level", "by_model": "no theorem says"}


def test_an_attack_is_scored_or_it_is_said_which_theorem_is_missing(done, capsys):
    kind, _, folder = done
    words = ["audit", str(folder / "protocol.json"), "--table", str(folder / "people.csv"), "--attack"]
    assert run(words) == (2 if kind in WHY_NOT_ATTACKED else 0)
    assert WHY_NOT_ATTACKED.get(kind, "") in capsys.readouterr().err


def test_what_a_protocol_was_asked_for_makes_it_again(done):
    _, protocol, _ = done
    spec = spec_of(protocol, "people.csv")
    assert spec is not None
    assert spec.epsilon == pytest.approx(protocol.notion.epsilon)
    assert steps(protocol, "people.csv", "protocol.json").audit


def test_errors_of_readers_are_foretold(done):
    _, protocol, _ = done
    joint = pf.Joint.from_table(people(), "ill", ["sex", "town"])
    assert pf.expected_errors(protocol, joint).shares


@pytest.mark.parametrize("output", ["values", "codes"])
def test_a_transformer_draws_by_a_model(output):
    pytest.importorskip("sklearn")
    table = people().astype({"sex": str, "town": str})
    funnel = pf.PrivacyFunnel(epsilon=0.5, private=1.0, time_limit=0, output=output, random_state=1)
    with small_models():
        funnel.fit(table[["sex", "town"]], table["ill"])
    released = funnel.transform(table[["sex", "town"]])
    assert funnel.protocol_.step.kind == "by_model"
    assert pf.certify(funnel.protocol_)
    original = table[["sex", "town"]].astype(int)
    same = (released.astype(int).to_numpy() == original.to_numpy()).mean()
    assert 0.8 < same < 1
    with small_models():
        listed = pf.PrivacyFunnel(private=1.0, exact=["sex"], time_limit=1).fit(table[["sex", "town"]], table["ill"])
    assert listed.protocol_.step.kind == "channel"


def test_a_key_that_belongs_to_others_is_refused_in_a_line(done, tmp_path):
    _, protocol, folder = done
    with pytest.raises(PrivacyFunnelError) as refused:
        protocol.sanitise(folder / "people.csv", tmp_path / "no.csv", remember=tmp_path / "k", person="nobody")
    assert len(str(refused.value).splitlines()) == 1
