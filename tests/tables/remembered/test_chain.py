import json
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacyfunnel.errors import InvalidKey, InvalidLedger, OutputRefused
from privacyfunnel.tables.remembered.chain import Chain
from privacyfunnel.tables.remembered.key import Key, make_key, read_key
from privacyfunnel.tables.remembered.ledger import ledger_of, open_ledger, read_ledger

KEY = Key(bytes(range(32)))


def chain_of(folder, lines):
    chain = Chain(folder / "k.ledger", KEY)
    chain.begin({"what": "begin"})
    found = chain.read()
    for number in range(lines):
        found = chain.append({"what": "test", "number": number, "text": "ä\n\u2028"}, found)
    return chain


def test_lines_come_back_in_order_and_only_their_owner_may_read_them(tmp_path):
    chain = chain_of(tmp_path, 5)
    assert [line.get("number") for line in chain.read().contents] == [None, 0, 1, 2, 3, 4]
    for path in (chain.path, chain.folder / "head"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(chain.folder.stat().st_mode) == 0o700


@given(st.integers(0, 10**9), st.integers(1, 255))
def test_no_byte_of_the_chain_can_be_changed(tmp_path_factory, place, change):
    chain = chain_of(tmp_path_factory.mktemp("chain"), 2)
    data = bytearray(chain.path.read_bytes())
    data[place % len(data)] ^= change
    chain.path.write_bytes(bytes(data))
    with pytest.raises(InvalidLedger):
        chain.read()


def test_lines_that_are_left_out_moved_repeated_or_cut_off_are_noticed(tmp_path):
    chain = chain_of(tmp_path, 4)
    lines = chain.path.read_bytes().splitlines(keepends=True)
    for broken in (lines[:2] + lines[3:], [lines[0], lines[2], lines[1], *lines[3:]], [*lines, lines[-1]], lines[1:]):
        chain.path.write_bytes(b"".join(broken))
        with pytest.raises(InvalidLedger, match="follow the one before"):
            chain.read()
    chain.path.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(InvalidLedger, match="at the end of the ledger"):
        chain.read()
    (chain.folder / "head").unlink()
    with pytest.raises(InvalidLedger, match="at the end of the ledger"):
        chain.read()


def test_a_line_sealed_with_another_key_is_noticed(tmp_path):
    chain = chain_of(tmp_path, 1)
    with pytest.raises(InvalidLedger, match=r"line 1 .* another key"):
        Chain(chain.path, Key(bytes(32))).read()


@pytest.mark.parametrize("left", [1, 40, 10_000])
def test_a_torn_last_line_is_reported_and_cut_off_by_the_next(tmp_path, left):
    chain = chain_of(tmp_path, 2)
    whole = chain.path.read_bytes()
    next_line = chain._line({"what": "torn"}, chain.read().head)[0]
    torn = next_line[:-1][:left]
    chain.path.write_bytes(whole + torn)
    found = chain.read()
    assert (found.torn, len(found.contents)) == (len(torn), 3)
    chain.append({"what": "next"}, found)
    assert [line["what"] for line in chain.read().contents] == ["begin", "test", "test", "next"]
    assert chain.path.read_bytes().startswith(whole)


def test_a_line_that_was_written_before_the_head_was_noted_counts(tmp_path):
    chain = chain_of(tmp_path, 1)
    head = (chain.folder / "head").read_bytes()
    chain.append({"what": "last"}, chain.read())
    (chain.folder / "head").write_bytes(head)
    assert chain.read().contents[-1]["what"] == "last"


def test_who_read_an_older_chain_cannot_write(tmp_path):
    chain = chain_of(tmp_path, 1)
    old = chain.read()
    chain.append({"what": "mine"}, old)
    with pytest.raises(InvalidLedger, match="somebody else wrote"):
        chain.append({"what": "theirs"}, old)


def test_a_key_is_made_once_for_its_owner_alone(tmp_path):
    path = tmp_path / "people.key"
    key = make_key(path, lambda _: None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_key(path).secret == key.secret
    assert key.secret.hex() not in repr(key)
    with pytest.raises(OutputRefused, match="exists"):
        make_key(path, lambda _: None)
    assert read_key(path).secret == key.secret


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_key_that_others_can_read_is_refused(tmp_path, mode):
    path = tmp_path / "people.key"
    make_key(path, lambda _: None)
    path.chmod(mode)
    with pytest.raises(InvalidKey, match="can be read by others"):
        read_key(path)


def test_a_key_with_a_changed_digit_and_what_is_no_key_are_refused(tmp_path):
    path = tmp_path / "people.key"
    make_key(path, lambda _: None)
    text = path.read_text()
    last = text.splitlines()[-1].split()[1]
    path.write_text(text.replace(last, ("0" if last[0] != "0" else "1") + last[1:]))
    with pytest.raises(InvalidKey, match="was changed"):
        read_key(path)
    for other in ("", "name,age\n", text.replace("key/1", "key/2"), text + text):
        path.write_text(other)
        with pytest.raises(InvalidKey, match="is no key"):
            read_key(path)
    with pytest.raises(InvalidKey, match="there is no key"):
        read_key(tmp_path / "none.key")


def test_keys_for_different_purposes_have_nothing_in_common():
    assert len({KEY.derived("draw a"), KEY.derived("draw b"), KEY.derived("person"), KEY.secret[:16]}) == 4
    assert KEY.name not in KEY.secret.hex()


def test_a_ledger_without_its_key_and_a_key_without_its_ledger_are_refused(tmp_path):
    path = tmp_path / "people.key"
    ledger = open_ledger(path)
    assert ledger.begun
    assert not open_ledger(path).begun
    ledger.append("test", {})
    key = path.read_bytes()
    path.unlink()
    with pytest.raises(InvalidKey, match="but its key"):
        open_ledger(path)
    assert not path.exists()
    path.touch(0o600)
    path.write_bytes(key)
    ledger_of(path).unlink()
    with pytest.raises(InvalidLedger, match="there is no ledger"):
        open_ledger(path)


def test_a_run_stopped_between_ledger_and_key_leaves_nothing_that_hinders(tmp_path):
    path = tmp_path / "people.key"
    open_ledger(path)
    path.unlink()  # as if it had never got its name
    assert open_ledger(path).begun
    assert len(read_ledger(path).lines.contents) == 1


def test_a_chain_of_another_schema_is_refused(tmp_path):
    path = tmp_path / "people.key"
    key = make_key(path, lambda made: Chain(ledger_of(path), made).begin({"what": "begin", "schema": "other/9"}))
    assert json.loads(ledger_of(path).read_text())["schema"] == "other/9"
    assert read_key(path).secret == key.secret
    with pytest.raises(InvalidLedger, match="no ledger of this version"):
        read_ledger(path)
