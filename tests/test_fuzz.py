"""Broken files: whatever the bytes, a command succeeds whole, or says in one line what is wrong and leaves nothing.

FUZZ_CASES is how many of each of the five kinds are tried: 300 files in `make check`, 12,500 in `make fuzz`. At the
end, the claims that `make atheris` searches to break are made about its seeds, and about what it found.
"""

import csv
import functools
import gzip
import io
import json
import os
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tools.fuzzing import PIECES, csv_bytes, protocol_bytes

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.numeric.stopping import BAD_INPUT
from privacyfunnel.protocols.file import to_text
from privacyfunnel.protocols.json_file import digest_of_content, written

pytestmark = pytest.mark.long

CASES = int(os.environ.get("FUZZ_CASES", "60"))
CANARY = "CANARY"
"""Stands in every record and in no name, so that a message that quotes a record is found out."""
fuzz = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))


@functools.cache
def rows() -> list[tuple[str, str, str, str]]:
    """Text with quotes, commas, line ends and accents; numbers with a gap; dates; a secret that follows the town."""
    towns = [f"{CANARY} Ash", f'{CANARY}, "Birch"', f"{CANARY}\nDún", ""]
    ages, ill = (
        [str(i % 7) if i % 11 else "?" for i in range(40)],
        ["yes" if i % 5 < i % 4 else "no" for i in range(40)],
    )
    return [(towns[i % 4], ages[i], f"195{i % 3}-0{1 + i % 9}-15", f"{CANARY} {ill[i]}") for i in range(40)]


@functools.cache
def table_csv() -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("town", "age", "born", "ill"), *rows()])
    return text.getvalue().encode()


@functools.cache
def arrow() -> pa.Table:
    return pa.table(dict(zip(("town", "age", "born", "ill"), map(list, zip(*rows(), strict=True)), strict=True)))


@functools.cache
def table_parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(arrow(), sink)
    return sink.getvalue()


@functools.cache
def protocol() -> pf.Protocol:
    joint = pf.Joint.from_table(arrow(), secret="ill", attributes=["town", "age"])
    return pf.optimise(joint, pf.LIP(0.5))


@st.composite
def damaged(draw: st.DrawFn, whole: bytes, most: int = 4) -> bytes:
    """The file with some bytes changed, cut, moved, repeated or put in."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, most))):
        place = draw(st.integers(0, len(data)))
        end = min(len(data), place + draw(st.integers(0, 30)))
        kind = draw(st.sampled_from(["change", "put", "cut", "repeat", "stop"]))
        if kind == "change" and place < len(data):
            data[place] = draw(st.integers(0, 255))
        elif kind == "put":
            data[place:place] = draw(st.sampled_from(PIECES) | st.binary(max_size=8))
        elif kind == "cut":
            del data[place:end]
        elif kind == "repeat":
            data[place:place] = data[place:end] * draw(st.integers(1, 3))
        elif kind == "stop" and place:
            del data[place:]
    return bytes(data)


def outcome(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `funnel`."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(list(arguments))
    return code, out.getvalue(), err.getvalue()


def one_clear_line(code: int, err: str) -> None:
    """What a refused file must look like."""
    assert code == BAD_INPUT, err
    assert err.startswith("funnel: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert CANARY not in err


def refusal(table: Path) -> str:
    """What is said against counting this table; nothing, if it is a table."""
    try:
        joint = pf.Joint.from_table(table, secret="ill", attributes=["town", "age", "born"])
    except pf.PrivacyFunnelError as refused:
        return str(refused)
    assert joint.total > 0
    return ""


def try_table(name: str, content: bytes) -> bool:
    """Sanitise a damaged table, and count it; whether it was still one."""
    with TemporaryDirectory() as folder:
        table, output, known = (Path(folder, part) for part in (name, "open.csv", "protocol.json"))
        table.write_bytes(content)
        protocol().save(known)
        code, out, err = outcome(
            "sanitise", str(table), "--protocol", str(known), "-o", str(output), "--unseen", "draw", "--json"
        )
        if code == 0:
            with output.open(encoding="utf-8", newline="") as file:
                released = list(csv.reader(file))
            assert released[0] == ["town", "age"]
            assert len(released) - 1 == json.loads(out)["rows"] > 0
            output.unlink()
            Path(folder, "open.csv.metadata.json").unlink()  # rows of this protocol are not to be counted as they stand
        else:
            one_clear_line(code, err)
        assert sorted(path.name for path in Path(folder).iterdir()) == sorted([name, "protocol.json"])
        complaint = refusal(table)
        assert "\n" not in complaint
        assert CANARY not in complaint
        return code == 0


@given(damaged(table_csv()))
@fuzz
def test_a_damaged_csv_is_released_whole_or_refused_in_a_line(content):
    try_table("table.csv", content)


@given(st.binary(min_size=1, max_size=200) | st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join))
@fuzz
def test_bytes_that_never_were_a_table_are_refused_in_a_line(content):
    try_table("table.csv", content)
    try_table("table.csv", b"town,age,born,ill\n" + content)


@given(damaged(gzip.compress(table_csv(), mtime=0)))
@fuzz
def test_a_damaged_gzip_is_released_whole_or_refused_in_a_line(content):
    try_table("table.csv.gz", content)


@given(damaged(table_parquet()))
@fuzz
def test_a_damaged_parquet_is_released_whole_or_refused_in_a_line(content):
    try_table("table.parquet", content)


@given(damaged(to_text(protocol()).encode()), st.booleans())
@fuzz
def test_a_damaged_protocol_is_refused_in_a_line(content, forged):
    if forged:  # with a digest that fits: what is checked now is what the file says
        try:
            inside = json.loads(content)
            inside.pop("digest", None)
            content = written({**inside, "digest": digest_of_content(inside)}).encode("utf-8", "surrogatepass")
        except (ValueError, AttributeError, RecursionError):
            pass
    unchanged = content.replace(b"\r\n", b"\n") == to_text(protocol()).encode()
    with TemporaryDirectory() as folder:
        table, output, known = (Path(folder, part) for part in ("table.csv", "open.csv", "protocol.json"))
        table.write_bytes(table_csv())
        known.write_bytes(content)
        code, _, err = outcome("sanitise", str(table), "--protocol", str(known), "-o", str(output))
        if code == 0:
            assert unchanged or forged
            assert output.read_text(encoding="utf-8").count("\n") > len(rows())
        else:
            assert not unchanged
            one_clear_line(code, err)
            assert not output.exists()
        beside = {"open.csv", "open.csv.metadata.json"} if code == 0 else set()
        assert {path.name for path in Path(folder).iterdir()} - beside == {"table.csv", "protocol.json"}


UNDAMAGED = {"table.csv": table_csv(), "table.csv.gz": gzip.compress(table_csv()), "table.parquet": table_parquet()}


@pytest.mark.parametrize("name", UNDAMAGED)
def test_the_undamaged_file_is_released(name):
    assert try_table(name, UNDAMAGED[name])


# --- what atheris checks, without atheris ------------------------------------------------------------

FOUND = {
    "a name of two thousand letters in the file": {"x" * 2_000: 1},
    "a name that moves the cursor": {"\x1b[31m\n": 1},
    "a promise in a promise in a promise": {
        "promise": functools.reduce(
            lambda inner, _: {"notion": "robust", "promise": inner}, range(900), {"notion": "lip", "epsilon": 0.5}
        )
    },
}
"""Changes of a protocol's content."""


@pytest.mark.parametrize("target", [protocol_bytes, csv_bytes], ids=["protocol", "csv"])
def test_the_claims_of_the_fuzzer_hold_for_its_seeds(target):
    for seed in target.seeds():
        target.check(seed)


@pytest.mark.parametrize("what", FOUND)
def test_what_the_fuzzer_found_is_refused_in_a_line(what):
    content = {**json.loads(to_text(protocol())), **FOUND[what]}
    protocol_bytes.check(json.dumps(content).encode())


@pytest.mark.parametrize("target", [protocol_bytes, csv_bytes], ids=["protocol", "csv"])
def test_the_fuzzer_notices_when_a_claim_is_broken(target, monkeypatch):
    """A loader that raises what it should not, and a count that loses somebody."""
    monkeypatch.setattr(protocol_bytes.pf.Protocol, "load", lambda _: 1 / 0)
    monkeypatch.setattr(csv_bytes, "_rows_as_python_reads", lambda _: 10**9)
    with pytest.raises((ZeroDivisionError, AssertionError)):
        target.check(target.seeds()[0])
