"""The same people again: from tables of any kind, in any order, with what the ledger says of it."""

import hmac
import json
import math
import struct
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.cmac import CMAC

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidLedger, InvalidTable, OutputRefused, OverLimit, UnseenValues
from privacyfunnel.proof.exponentials import log_above
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import UNIT, Channel
from privacyfunnel.protocols.drawn import drawing_digest
from privacyfunnel.protocols.file import from_text, to_text
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.tables.internal_copy import Internal
from privacyfunnel.tables.release import sanitise
from privacyfunnel.tables.remembered import records
from privacyfunnel.tables.remembered.chain import Chain
from privacyfunnel.tables.remembered.key import CHECK_DIGITS, COMMENT, SCHEMA, Key, _check
from privacyfunnel.tables.remembered.ledger import _begin, ledger_of, read_ledger

ROWS = 3000


def people(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"id": rng.permutation(rows) + 5, "town": rng.choice(list("ABCD"), rows), "sex": rng.choice(["m", "f"], rows)}
    )
    ill = rng.random(rows) < 0.2 + 0.2 * (table.town == "A") + 0.1 * (table.sex == "m")
    return table.assign(ill=np.where(ill, "yes", "no"))


@pytest.fixture(scope="module")
def protocol():
    return pf.optimise(pf.Joint.from_table(people(), "ill", ["town", "sex"]), pf.LIP(0.1), objective="faithful")


@pytest.fixture
def again(tmp_path):
    """How rows are drawn again in the order of the table."""
    return {"remember": tmp_path / "people.key", "person": "id", "keep_order": True}


def levels(key):
    return [history["level"] for line in read_ledger(key).releases for history in line["histories"]]


@pytest.mark.parametrize("private", [None, 1.0])
def test_the_level_of_a_limit_on_belief_is_a_belief_and_not_nothing(again, private):
    table, most = people(), pf.Belief({"yes": 0.5})
    joint = pf.Joint.from_table(table, "ill", ["town"], private=private)
    protocol = pf.optimise(joint, most)
    protocol.sanitise(table, **again)
    (level,) = levels(again["remember"])
    assert 0.3 < level == pf.certify(protocol, joint).level <= 0.5
    other = pf.optimise(pf.Joint.from_table(table, "ill", ["sex"], private=private), most)
    other.sanitise(table, **again)
    together = pf.certify_together([protocol, other], pf.Joint.from_table(table, "ill", ["town", "sex"]), most)
    assert levels(again["remember"])[1] == pytest.approx(together.level)


@pytest.mark.parametrize(
    ("secrets", "promise"),
    [
        (["ill"], pf.LIP({"yes": 0.1, "no": 1.0})),
        (["ill", "sex"], pf.Promises(ill=pf.LIP(0.2), sex=pf.LDP(0.1))),
        (["age"], pf.Ordered(pf.LIP(0.1), pf.LIP(0.5))),
    ],
)
def test_the_level_of_promises_of_several_parts_is_not_below_what_rows_tell(again, secrets, promise):
    table = people().assign(age=np.random.default_rng(3).integers(0, 4, ROWS))
    joint = pf.Joint.from_table(table, secrets, ["town"], bins={"age": "each"} if "age" in secrets else None)
    protocol = pf.optimise(joint, promise)
    protocol.sanitise(table, **again)
    (level,) = levels(again["remember"])
    assert 0 < pf.certify(protocol, joint).level <= level <= promise.epsilon


def test_every_kind_of_table_gives_the_same_rows(protocol, again, tmp_path):
    table = people()
    first = protocol.sanitise(table, **again)
    assert isinstance(first, pd.DataFrame)
    assert protocol.sanitise(pl.from_pandas(table), **again).to_pandas().equals(first)
    assert protocol.sanitise(pa.Table.from_pandas(table), **again).to_pandas().equals(first)
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_csv(tmp_path / "t.csv.gz", index=False)
    table.to_parquet(tmp_path / "t.parquet", row_group_size=100)
    table.astype({"id": "float64"}).to_parquet(tmp_path / "floats.parquet")
    table.astype({"id": "string"}).to_parquet(tmp_path / "texts.parquet")
    table.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    written = set()
    for name in ("t.csv", "t.csv.gz", "t.parquet", "floats.parquet", "texts.parquet", "t.jsonl"):
        output = tmp_path / f"{name}.csv"
        release = protocol.sanitise(tmp_path / name, output, **again)
        assert release.remembered.unchanged == ROWS
        written.add(output.read_bytes())
    assert len(written) == 1
    assert pd.read_csv(output).equals(first)
    for k in (1, 2):
        protocol.sanitise(tmp_path / "t.csv", tmp_path / f"{k}.parquet", **again)
    assert (tmp_path / "1.parquet").read_bytes() == (tmp_path / "2.parquet").read_bytes()
    assert read_ledger(again["remember"]).verify() == 2


def test_neither_order_nor_company_changes_a_persons_row(protocol, again):
    table = people()
    by_id = protocol.sanitise(table, **again).set_index(table.id)
    mixed = table.sample(frac=0.5, random_state=1)
    assert protocol.sanitise(mixed, **again).set_index(mixed.id).equals(by_id.loc[mixed.id])
    shuffled = protocol.sanitise(table, **again | {"keep_order": False})
    assert not shuffled.equals(by_id.reset_index(drop=True))
    assert shuffled.value_counts().sort_index().equals(by_id.value_counts().sort_index())


def test_another_key_draws_other_rows(protocol, again, tmp_path):
    first = protocol.sanitise(people(), **again)
    assert not protocol.sanitise(people(), **again | {"remember": tmp_path / "other.key"}).equals(first)


def test_batches_and_piles_change_nothing(protocol, again, monkeypatch):
    first = protocol.sanitise(people(), **again)
    monkeypatch.setattr("privacyfunnel.tables.sources.BATCH_ROWS", 97)
    monkeypatch.setattr(records, "HELD_ROWS", 500)
    monkeypatch.setattr(records.Piles.__init__, "__defaults__", (500,))
    assert protocol.sanitise(people(), **again).equals(first)
    one, two = (line["records"] for line in read_ledger(again["remember"]).releases)
    assert one == two


def test_the_draws_of_a_known_key_are_these(tmp_path):
    """Pinned: who draws again years later, with a newer version, must get the same rows."""
    secret, path = bytes(range(32)), tmp_path / "people.key"
    path.touch(0o600)
    path.write_text(f"{COMMENT}{SCHEMA} {secret.hex()} {_check(secret)}\n")
    _begin(Chain(ledger_of(path), Key(secret)))
    joint = pf.Joint(np.array([[5, 6], [7, 8]]), attributes=["town"])
    channel = Channel.from_numerators(np.array([[1, 1], [1, 1]]) * (UNIT // 2))
    protocol = Protocol(pf.LIP(1.0), block_of(joint, channel), 0.0, 1.0, 1.0, "by hand", "s")
    assert drawing_digest(protocol) == "ac5e764fa1a85c18366b49fd8d6d1cc2d8bf515c879f9aba59b889ac70e2d190"
    table = pa.table({"id": [str(i) for i in range(40)], "town": [i % 2 for i in range(40)]})
    drawn = protocol.sanitise(table, remember=path, person="id", keep_order=True)["town"].to_pylist()
    assert "".join(map(str, drawn)) == "1110101011000011101100000100110110100111"
    assert len(_check(secret)) == CHECK_DIGITS
    key = hmac.digest(secret, b"privacyfunnel key\0draw " + drawing_digest(protocol).encode(), "sha256")[:16]
    by_hand = []
    for i in range(40):  # the same with nothing of ours: a first bit of 0 is the first output
        mac = CMAC(AES128(key))
        mac.update(struct.pack("<II", 0, i % 2) + str(i).encode())
        by_hand.append(int.from_bytes(mac.finalize()[:4], "little") >> 31)
    assert drawn == by_hand


def test_the_digest_of_a_drawing_outlives_its_file_and_what_is_said_of_it(protocol):
    own = drawing_digest(protocol)
    assert drawing_digest(from_text(to_text(protocol))) == own
    assert drawing_digest(replace(protocol, how="otherwise", utility=0.0, people=7)) == own
    block = protocol.block
    others = [
        replace(block, nearest=not block.nearest),
        replace(block, codes=block.codes[:, ::-1]),
        replace(block, columns=(block.columns[0].model_copy(update={"name": "village"}), block.columns[1])),
        replace(block, draw=block.marginal),
    ]
    assert len({own, *(drawing_digest(replace(protocol, step=other)) for other in others)}) == 5


def test_new_unchanged_changed_and_gone_people_are_told_apart_and_keep_their_rows(protocol, again, tmp_path):
    table = people()
    before = protocol.sanitise(table, **again).set_index(table.id)
    moved = table.town.iloc[:200] != "B"
    later = table.assign(town=np.where(np.arange(ROWS) < 200, "B", table.town)).iloc[:-50]
    later = pd.concat([later, later.iloc[:30].assign(id=lambda rows: rows.id + 10_000)])
    later.to_csv(tmp_path / "later.csv", index=False)
    for k in range(2):  # who changed keeps the row of the first time, ever after
        release = protocol.sanitise(tmp_path / "later.csv", tmp_path / f"{k}.csv", **again)
        found = release.remembered
        assert (found.changed, found.left) == (moved.sum(), 50 * (k == 0))
        assert (found.new, found.unchanged) == (
            (30, ROWS - 50 - moved.sum()) if k == 0 else (0, ROWS - 20 - moved.sum())
        )
        released = pd.read_csv(tmp_path / f"{k}.csv").set_index(later.id)
        assert released.iloc[:-30].equals(before.iloc[:-50])
    back = protocol.sanitise(table, **again)  # and who comes back to the old values is unchanged
    assert back.set_index(table.id).equals(before)


def test_changed_people_can_be_left_out(protocol, again, tmp_path):
    table = people()
    before = protocol.sanitise(table, **again)
    table.assign(town="A").to_csv(tmp_path / "later.csv", index=False)
    release = protocol.sanitise(tmp_path / "later.csv", tmp_path / "o.csv", **again, changed="drop")
    stayed = table.town == "A"
    assert (release.rows, release.remembered.changed) == (stayed.sum(), (~stayed).sum())
    assert pd.read_csv(tmp_path / "o.csv").equals(before[stayed].reset_index(drop=True))


def level_by_hand(table, protocols):
    """The level of all releases, from every row's probabilities in plain integers."""
    values = table.groupby(["town", "sex", "ill"]).size()
    lifts, secrets = [], ["yes", "no"]
    outputs = np.stack(np.meshgrid(*[range(p.block.channel.n_outputs) for p in protocols]), axis=-1).reshape(
        -1, len(protocols)
    )
    dense = [np.zeros((p.block.channel.n_outputs, p.block.channel.n_inputs), dtype=object) for p in protocols]
    for matrix, p in zip(dense, protocols, strict=True):
        channel = p.block.channel
        matrix[channel.outputs, channel.inputs] = channel.numerators.astype(object)
    for ys in outputs.tolist():
        seen = dict.fromkeys(secrets, 0)
        for (town, sex, ill), count in values.items():
            weight = int(count)
            for y, p, matrix in zip(ys, protocols, dense, strict=True):
                own = [{"town": town, "sex": sex}[name] for name in p.attributes]
                weight *= int(matrix[y, p.block.values.tolist().index(own)])
            seen[ill] += weight
        prior = {s: int((table.ill == s).sum()) for s in secrets}
        if sum(seen.values()):
            lifts += [Fraction(seen[s] * len(table), sum(seen.values()) * prior[s]) for s in secrets]
    return max(log_above(max(lifts)), log_above(1 / min(lifts)) if min(lifts) else math.inf)


def test_two_protocols_have_the_exact_level_of_both_together(again):
    table = people()
    towns = pf.optimise(pf.Joint.from_table(table, "ill", ["town"]), pf.LIP(0.1))
    both = pf.optimise(pf.Joint.from_table(table, "ill", ["town", "sex"]), pf.LIP(0.15))
    towns.sanitise(table, **again)
    both.sanitise(table, **again)
    assert levels(again["remember"]) == [pytest.approx(0.1), level_by_hand(table, [towns, both])]
    both.sanitise(table, **again)
    towns.sanitise(table, **again)
    assert len(levels(again["remember"])) == 2  # nothing new was told


def test_a_release_over_the_limit_is_refused_with_the_number_of_people_and_leaves_no_trace(again, tmp_path):
    table = people()
    joint = pf.Joint.from_table(table, "ill", ["town", "sex"])
    first, second = pf.optimise(joint, pf.LIP(0.1)), pf.optimise(joint, pf.LIP(0.11))
    first.sanitise(table.iloc[:1000], **again)
    ledger = read_ledger(again["remember"])
    ledger.fix(pf.LIP(0.12))
    before = ledger_of(again["remember"]).read_bytes()
    files = sorted(ledger.chain.folder.iterdir())
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(OverLimit, match=r"1,000 people would reach lip level .*the ledger allows 0.12") as refused:
        second.sanitise(tmp_path / "t.csv", tmp_path / "o.csv", **again)
    assert refused.value.steward_only  # by the exact counts
    assert not (tmp_path / "o.csv").exists()
    assert ledger_of(again["remember"]).read_bytes() == before
    assert sorted(ledger.chain.folder.iterdir()) == files
    table.iloc[1000:].to_csv(tmp_path / "t.csv", index=False)  # to whom it is new
    assert second.sanitise(tmp_path / "t.csv", tmp_path / "o.csv", **again).remembered.new == ROWS - 1000


def test_a_limit_below_the_promise_lets_nobody_new_in_but_rows_can_be_had_again(protocol, again):
    table = people()
    protocol.sanitise(table.iloc[:100], **again)
    read_ledger(again["remember"]).fix(pf.LIP(0.05))
    protocol.sanitise(table.iloc[:100], **again)
    with pytest.raises(OverLimit, match=r"1 people would reach lip level 0.1, and the ledger allows 0.05"):
        protocol.sanitise(table.iloc[:101], **again)


def test_what_cannot_be_computed_is_refused(protocol, again):
    table = people()
    protocol.sanitise(table, **again)
    towns = pf.optimise(pf.Joint.from_table(table, "ill", ["town"]), pf.LIP(0.1))
    with pytest.raises(OverLimit, match="of 3,000 people comes to cannot be computed"):
        towns.sanitise(table.drop(columns="ill"), **again)
    with pytest.raises(OverLimit, match=r"3,000 people changed .* or the table lacks its columns"):
        towns.sanitise(table.drop(columns="sex"), **again)
    other = pf.optimise(pf.Joint.from_table(table, "sex", ["town"]), pf.LIP(0.1))
    with pytest.raises(OverLimit, match="not about the same secret"):
        other.sanitise(table, **again)
    moved = table.assign(sex=np.where(np.arange(ROWS) < 7, "m", table.sex))
    changed = (moved.sex != table.sex).sum()
    with pytest.raises(OverLimit, match=f"{changed} people changed"):
        towns.sanitise(moved, **again)
    assert towns.sanitise(moved, **again, changed="drop").shape[0] == ROWS - changed


def test_people_twice_and_rows_about_nobody_are_refused_before_anything_is_written(protocol, again, tmp_path):
    table = people()
    protocol.sanitise(table.iloc[:10], **again)
    before = ledger_of(again["remember"]).read_bytes()
    with pytest.raises(InvalidTable, match="3 rows of the table are about somebody who has a row already"):
        protocol.sanitise(pd.concat([table, table.iloc[[3, 4, 4]]]), **again)
    with pytest.raises(InvalidTable, match="2 rows have no entry in 'id'"):
        protocol.sanitise(table.assign(id=table.id.where(table.index > 1)), **again)
    with pytest.raises(UnseenValues):
        protocol.sanitise(table.assign(town="Z"), **again)
    (tmp_path / "o.csv").write_text("precious")
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(OutputRefused, match="exists"):
        protocol.sanitise(tmp_path / "t.csv", tmp_path / "o.csv", **again)
    assert ledger_of(again["remember"]).read_bytes() == before


def test_the_release_says_that_it_is_keyed_and_nothing_of_the_key(again, tmp_path):
    protocol = pf.optimise(pf.Joint.from_table(people(), "ill", ["town", "sex"]), pf.LIP(0.1))
    people().to_csv(tmp_path / "t.csv", index=False)
    for name in ("o.csv", "o.parquet"):
        protocol.sanitise(tmp_path / "t.csv", tmp_path / name, **again)
    note = json.loads((tmp_path / "o.csv.metadata.json").read_text())
    assert "keyed by person" in note["randomness"]
    ledger = read_ledger(again["remember"])
    secret = ledger.key.secret
    for path in tmp_path.rglob("*"):
        if path.is_file() and path != again["remember"]:
            data = path.read_bytes()
            assert secret not in data
            assert secret.hex().encode() not in data
            assert ledger.key.derived("person") not in data
    assert "keyed" in protocol.sanitise(people(), **again).attrs["privacyfunnel"]["randomness"]


def test_records_name_nobody_and_hold_no_values(protocol, again):
    table = people().assign(id=lambda rows: "Somebody " + rows.id.astype(str))
    protocol.sanitise(table, **again)
    ledger = read_ledger(again["remember"])
    (line,) = ledger.releases
    data = (ledger.chain.folder / f"{line['records']}.people").read_bytes()
    assert b"Somebody" not in data
    assert b"Somebody" not in ledger.chain.path.read_bytes()
    found = ledger.people(line).records
    assert len(found) == ROWS
    assert (np.diff(found["hi"].astype(object)) > 0).all()


def test_changed_or_missing_files_of_the_ledger_are_noticed(protocol, again):
    protocol.sanitise(people(), **again)
    ledger = read_ledger(again["remember"])
    (line,) = ledger.releases
    for name in (f"{line['records']}.people", f"{line['protocol']}.protocol.json"):
        path = ledger.chain.folder / name
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(InvalidLedger, match="was changed"):
            ledger.verify()
        path.unlink()
        with pytest.raises(InvalidLedger, match="is gone"):
            ledger.verify()
        path.write_bytes(data)
    assert ledger.verify() == 2


def test_a_row_without_the_variant_is_the_one_with_it(again):
    table = people()
    protocol = pf.optimise(
        pf.Joint.from_table(table, "ill", ["town", "sex"]), pf.LIP(0.1), readers="shares", give_up=0.3
    )
    if protocol.variant is None:
        pytest.skip("this protocol has no variants")
    whole = protocol.sanitise(table, **again)
    assert protocol.variant in whole.columns
    assert protocol.sanitise(table, **again, variant=False).equals(whole.drop(columns=protocol.variant))


def test_values_never_seen_are_drawn_the_same_again(again):
    table = people()
    protocol = pf.optimise(pf.Joint.from_table(table, "ill", ["town", "sex"]), pf.LIP(0.1))
    strange = table.assign(town=np.where(table.index < 500, "Z", table.town))
    first = protocol.sanitise(strange, **again, unseen="draw")
    assert protocol.sanitise(strange, **again, unseen="draw").equals(first)
    assert protocol.sanitise(strange.replace("Z", "Y"), **again, unseen="draw").equals(first)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"remember": "k.key"}, "takes both"),
        ({"person": "id"}, "takes both"),
        ({"remember": "k.key", "person": "id", "seed": 1}, "a seed or with a key"),
        ({"remember": "k.key", "person": "town"}, "neither released nor the secret"),
        ({"remember": "k.key", "person": "ill"}, "neither released nor the secret"),
        ({"remember": "k.key", "person": "id", "changed": "redraw"}, "keep, drop"),
        ({"changed": "drop"}, "known again"),
        ({"remember": "k.key", "person": "nobody"}, "nobody"),
        ({"remember": "none/k.key", "person": "id"}, "no folder"),
        ({"remember": ".", "person": "id"}, "the key is a file"),
        ({"remember": "", "person": "id"}, "the key is a file"),
    ],
    ids=str,
)
def test_what_does_not_fit_together_is_refused(protocol, options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((InvalidInput, OutputRefused), match=words):
        protocol.sanitise(people(20), **options)


def test_a_limit_cannot_be_passed_part_by_part(again):
    """Within one combination of values nothing can be told, so that every part of the table seemed harmless."""
    table = people()
    joint = pf.Joint.from_table(table, "ill", ["town", "sex"])
    first, second = (pf.optimise(joint, pf.LIP(epsilon), objective="faithful") for epsilon in (0.1, 0.15))
    first.sanitise(table, **again)
    read_ledger(again["remember"]).fix(pf.LIP(0.16))
    with pytest.raises(OverLimit, match="would reach"):
        second.sanitise(table, **again)
    part = table[(table.town == "A") & (table.sex == "m")]
    with pytest.raises(OverLimit, match="release all of them in one run"):
        second.sanitise(part, **again)
    assert max(levels(again["remember"])) <= 0.1


@pytest.mark.parametrize("there", [False, True])
def test_nothing_is_written_over_the_key(there, protocol, tmp_path):
    key = tmp_path / "key.csv"
    people().to_csv(tmp_path / "people.csv", index=False)
    if there:
        protocol.sanitise(people(), remember=key, person="id")
    before = key.read_bytes() if there else None
    for given in ({"output": key}, {"output": tmp_path / "o.csv", "internal": Internal(key, "id", True)}):
        with pytest.raises(InvalidInput, match="the key itself"):
            sanitise(protocol, tmp_path / "people.csv", remember=key, person="id", force=True, **given)
    assert (key.read_bytes() if key.exists() else None) == before
