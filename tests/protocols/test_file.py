"""The protocol file: an exact round trip, nothing of the people in it, and no changed digit gets through."""

import json
import math
import re
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import privacyfunnel as pf
from privacyfunnel.errors import InvalidProtocol
from privacyfunnel.protocols import json_file
from privacyfunnel.protocols.block import block_of
from privacyfunnel.protocols.channel import Channel
from privacyfunnel.protocols.digits import step_for
from privacyfunnel.protocols.file import digest_of, from_text, to_text
from privacyfunnel.protocols.published import published
from privacyfunnel.tables.auditing import audited_joint
from strategies import joints, notions

CANARY = "CANARY-VALUE-OF-THE-SECRET"


def a_table(n=3_001):
    rng = np.random.default_rng(4)
    x, z = rng.integers(0, 4, n), rng.integers(0, 90, n)
    sick = rng.random(n) < 0.2 + 0.1 * x
    return pa.table(
        {
            "diagnosis": np.where(sick, f"{CANARY} 1", f"{CANARY} 2"),
            "town": np.array(["Ash", "Birch é", 'C "q"', "Ελ\n"])[x],
            "age": z,
            "born": [f"19{50 + i % 40}-02-03" if i % 50 else None for i in range(n)],
            "smoker": [bool(i % 3) for i in range(n)],
            "name": [f"RECORD-{i}" for i in range(n)],
        }
    )


@pytest.fixture(scope="module")
def protocol():
    joint = pf.Joint.from_table(
        a_table(),
        "diagnosis",
        ["town", "age", "smoker", "born"],
        dates={"born": "year"},
        bins={"age": 3},
        top={"town": 2},
    )
    return pf.optimise(joint, pf.LIP(0.1), time_limit=5)


@pytest.fixture(scope="module")
def small():
    joint = pf.Joint([[30, 10, 7], [10, 50, 13]])
    return pf.optimise(joint, pf.LIP(0.2))


def same(one, other):
    one = published(one)
    assert other.notion == one.notion
    mine, theirs = one.block, other.block
    assert mine.columns == theirs.columns
    assert mine.channel.n_outputs == theirs.channel.n_outputs
    for field in ("starts", "outputs", "numerators"):
        assert np.array_equal(getattr(mine.channel, field), getattr(theirs.channel, field))
    for field in ("codes", "labels", "marginal", "draw"):
        assert np.array_equal(getattr(mine, field), getattr(theirs, field))
    assert mine.values.tolist() == theirs.values.tolist()
    for field in ("utility", "upper_bound", "entropy", "how", "secret", "secret_readings", "attributes", "fitted"):
        assert getattr(one, field) == getattr(other, field)


# --- the round trip ----------------------------------------------------------------------------------


def test_a_saved_protocol_comes_back_exactly(protocol, tmp_path):
    protocol.save(tmp_path / "p.json")
    loaded = pf.Protocol.load(tmp_path / "p.json")
    same(protocol, loaded)
    assert to_text(loaded) == to_text(protocol)
    assert pf.certify(loaded, pf.Joint.from_table(a_table(), "diagnosis", **_reading())).holds


def _reading():
    return {
        "attributes": ["town", "age", "smoker", "born"],
        "dates": {"born": "year"},
        "bins": {"age": 3},
        "top": {"town": 2},
    }


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(joints(), notions())
def test_any_protocol_comes_back_exactly(joint, notion):
    protocol = pf.optimise(joint, notion, time_limit=2)
    same(protocol, from_text(to_text(protocol)))


@pytest.mark.parametrize("notion", [pf.ALIP(0.1, 0.7), pf.PerfectPrivacy(), pf.LDP(0), pf.PML(1e-300), pf.LIP(700)])
def test_every_kind_of_promise_comes_back(notion):
    protocol = pf.optimise(pf.Joint([[3, 1, 2], [1, 2, 3]]), notion)
    assert from_text(to_text(protocol)).notion == notion


def test_line_ends_of_another_system_are_no_change(small, tmp_path):
    path = tmp_path / "p.json"
    path.write_bytes(to_text(small).replace("\n", "\r\n").encode())
    same(small, pf.Protocol.load(path))


def test_saving_keeps_an_existing_file_unless_forced(small, tmp_path):
    path = tmp_path / "p.json"
    path.write_text("precious")
    with pytest.raises(pf.PrivacyFunnelError, match="--force"):
        small.save(path, force=False)
    assert path.read_text() == "precious"
    small.save(path, force=True)
    same(small, pf.Protocol.load(path))


# --- nothing of the people ---------------------------------------------------------------------------


def test_no_value_of_the_secret_no_record_and_no_count_is_in_the_file(protocol):
    text = to_text(protocol)
    assert CANARY not in text
    assert "RECORD" not in text
    content = json.loads(text)
    assert set(content) == {
        *("schema", "guarantee", "promise", "secret", "secret_readings", "utility_nats", "upper_bound_nats"),
        *(
            "entropy_nats",
            "how",
            "chain",
            "digest",
            "fitted",
            "people",
            "objective",
            "likeness",
            "at_least",
            "noise",
            "aim",
        ),
        *("precision", "before"),
    }
    assert content["noise"] is None  # the fit was on exact counts
    parts = {
        "step",
        "columns",
        "values",
        "outputs",
        "channel",
        "labels",
        "marginal",
        "draw",
        "nearest",
        "variants",
        "exact",
    }
    assert set(content["chain"][0]) == parts
    assert all("labels" not in reading for reading in content["secret_readings"])
    joint = pf.Joint.from_table(a_table(), "diagnosis", **_reading())
    numbers = {int(digits) for digits in re.findall(r"\d{4,}", text)}
    assert content["people"] == joint.total  # as many as the released table has rows
    assert not numbers & {int(w) for w in joint.weights.sum(axis=1)}


@pytest.mark.parametrize("times", [1, 1_000])
def test_the_published_marginal_tells_shares_and_not_the_counts(times):
    """P(y) = Σ_x Q[y, x] P(x) in full precision would: Q is published, and n·P(x) are whole numbers."""
    weights = times * np.array([[310, 120, 75, 211], [96, 540, 134, 88]]) + np.arange(8).reshape(2, 4)
    Q = np.array([[5, 1, 1, 1], [1, 5, 1, 1], [1, 1, 5, 1], [1, 1, 1, 5]]) / 8
    block = block_of(pf.Joint(weights), Channel.from_dense(Q))
    n, counts, Q = weights.sum(), weights.sum(axis=0), block.channel.dense()
    exactly = np.floor(Q @ counts / n * 2**32) / 2**32
    assert np.rint(n * np.linalg.solve(Q, exactly)).tolist() == counts.tolist()
    off = np.abs(n * np.linalg.solve(Q, block.marginal / 2**32) - counts)
    assert off.max() > np.sqrt(n) / 4  # much as from the released rows, of which there are n
    assert (off > 1).all()
    assert block.marginal / 2**32 == pytest.approx(Q @ counts / n, abs=2 / min(1_000, np.sqrt(n)))  # near enough


def test_the_published_marginal_of_many_rare_outputs_is_still_near():
    counts = 1 + np.random.default_rng(0).multinomial(44_600, np.random.default_rng(1).dirichlet(np.ones(400)))
    block = block_of(pf.Joint(np.stack([counts, counts])), Channel.from_dense(np.eye(400)))
    told = block.marginal[np.argsort(block.labels)] / 2**32 * 90_000
    assert np.abs(told - 2 * counts).max() < 2 * np.sqrt(2 * counts.max())
    assert (np.rint(told) != 2 * counts).mean() > 0.9


def test_the_guarantee_is_in_words(protocol):
    assert json.loads(to_text(protocol))["guarantee"] == pf.LIP(0.1).words()


# --- changes -----------------------------------------------------------------------------------------


def test_every_changed_digit_is_refused(small):
    text = to_text(small)
    places = [match.start() for match in re.finditer(r"\d", text)]
    assert len(places) > 150
    for place in places:
        other = str((int(text[place]) + 1 + place % 9) % 10)
        with pytest.raises(InvalidProtocol):
            from_text(text[:place] + other + text[place + 1 :])


def test_several_hundred_changed_digits_of_a_large_protocol_are_refused(protocol):
    text = to_text(protocol)
    places = [match.start() for match in re.finditer(r"\d", text)]
    for place in np.random.default_rng(1).choice(places, 300, replace=False).tolist():
        other = str((int(text[place]) + 5) % 10)
        with pytest.raises(InvalidProtocol):
            from_text(text[:place] + other + text[place + 1 :])


@pytest.mark.parametrize("old_new", [(" ", ""), (" ", "  "), ("\n", ""), ("e", "E"), ("[", "[0, "), ("0", "0.0")])
def test_any_other_change_of_the_text_is_refused(small, old_new):
    text = to_text(small)
    changed = text.replace(*old_new, 1)
    assert changed != text
    with pytest.raises(InvalidProtocol):
        from_text(changed)


def test_a_file_that_was_cut_short_is_refused_wherever_it_was_cut(small, tmp_path):
    data = to_text(small).encode()
    path = tmp_path / "p.json"
    for end in range(0, len(data) - 1, 7):
        path.write_bytes(data[:end])
        with pytest.raises(InvalidProtocol):
            pf.Protocol.load(path)


def test_something_after_the_end_is_refused(small):
    for more in (" ", "\n", "{}", "\x00", to_text(small)):
        with pytest.raises(InvalidProtocol):
            from_text(to_text(small) + more)


def test_the_error_says_that_the_file_was_changed_and_names_it(small, tmp_path):
    path = tmp_path / "edited.json"
    path.write_text(to_text(small).replace('"epsilon": 0.2', '"epsilon": 0.1'))
    with pytest.raises(InvalidProtocol, match=r"edited\.json was changed"):
        pf.Protocol.load(path)


# --- files that are no protocol ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "JSON"),
        (b"{", "JSON"),
        (b"not json", "JSON"),
        (b"\x00\xff\xfe\x01", "not text"),
        (bytes(range(256)), "not text"),
        (b"[]", "not a protocol"),
        (b"null", "not a protocol"),
        (b"{}", "not a protocol"),
        (b'"privacyfunnel-protocol/1"', "not a protocol"),
        (b'{"schema": "privacyfunnel/2"}', "schema"),
        (b'{"schema": "privacyfunnel-protocol/3"}', "this version reads"),
        (b'{"schema": "privacyfunnel/1"}', "changed"),
        (b'{"schema": ["privacyfunnel-protocol/1"]}', "not a protocol"),
        (b'{"schema": NaN}', "JSON"),
        (b"\xef\xbb\xbf{}", "JSON"),
        (b"[" * 100_000, "JSON"),
        (b'{"schema": ' * 50_000, "JSON"),
        (b"9" * 10_000, "JSON"),
    ],
    ids=range(18),
)
def test_a_file_that_is_no_protocol_is_refused_in_words(content, says, tmp_path):
    path = tmp_path / "p.json"
    path.write_bytes(content)
    with pytest.raises(InvalidProtocol, match=says):
        pf.Protocol.load(path)


@pytest.mark.parametrize("depth", [10, 200, 500, 800, 900, 950, 990, 2_000, 100_000])
def test_nested_brackets_never_break_the_reader(depth):
    nest = "[" * depth + "]" * depth
    for text in (nest, f'{{"schema": {nest}}}', f'{{"schema": "privacyfunnel/1", "x": {nest}}}'):
        with pytest.raises(InvalidProtocol):
            from_text(text)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(json_file.MOST_BYTES + 1)
    with pytest.raises(InvalidProtocol, match="larger than"):
        pf.Protocol.load(path)


def test_a_missing_file_and_a_folder_are_refused_in_words(tmp_path):
    with pytest.raises(InvalidProtocol, match="no file"):
        pf.Protocol.load(tmp_path / "none.json")
    with pytest.raises(InvalidProtocol, match="cannot be read"):
        pf.Protocol.load(tmp_path)


# --- forged files: the digest fits, the content does not ---------------------------------------------


def forge(content):
    """The text of a file with any content and the digest that fits it."""
    content = {key: value for key, value in content.items() if key != "digest"}
    return json_file.written({**content, "digest": json_file.digest_of_content(content)})


def test_a_forged_file_without_a_change_is_the_file(small):
    assert forge(json.loads(to_text(small))) == to_text(small)


def _set(*path, to):
    def change(content):
        place = content
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return change


BLOCK = ("chain", 0)
FORGERIES = {
    "extra key": _set("extra", to=1),
    "extra key in a step": _set(*BLOCK, "extra", to=1),
    "extra key in a column": _set(*BLOCK, "columns", 0, "extra", to=1),
    "no steps": _set("chain", to=[]),
    "step is no object": _set("chain", to=[1]),
    "text for a number": _set("utility_nats", to="1"),
    "negative utility": _set("utility_nats", to=-1.0),
    "utility above its bound": _set("utility_nats", to=9.0),
    "notion is a list": _set("promise", to={"notion": [], "epsilon": 1}),
    "notion is an object": _set("promise", to={"notion": {}, "epsilon": 1}),
    "notion unknown": _set("promise", to={"notion": "trust me", "epsilon": 1}),
    "no notion": _set("promise", to={}),
    "ε is huge": _set("promise", to={"notion": "lip", "epsilon": 10**400}),
    "ε is text": _set("promise", to={"notion": "lip", "epsilon": "1"}),
    "ε is negative": _set("promise", to={"notion": "lip", "epsilon": -1}),
    "ε is missing": _set("promise", to={"notion": "lip"}),
    "ε is null": _set("promise", to={"notion": "lip", "epsilon": None}),
    "ε is a list": _set("promise", to={"notion": "lip", "epsilon": [1]}),
    "other words than the promise": _set("guarantee", to="Perfectly anonymous."),
    "label out of range": _set(*BLOCK, "labels", 0, to=99),
    "label negative": _set(*BLOCK, "labels", 0, to=-1),
    "label huge": _set(*BLOCK, "labels", 0, to=10**30),
    "label true": _set(*BLOCK, "labels", 0, to=True),
    "label float": _set(*BLOCK, "labels", 0, to=0.0),
    "value out of range": _set(*BLOCK, "values", 0, to=[99]),
    "value huge": _set(*BLOCK, "values", 0, to=[10**30]),
    "value negative": _set(*BLOCK, "values", 0, to=[-1]),
    "values uneven": _set(*BLOCK, "values", 0, to=[0, 0]),
    "value twice": _set(*BLOCK, "values", 0, to=[1]),
    "no values": _set(*BLOCK, "values", to=[]),
    "empty value": _set(*BLOCK, "values", to=[[]]),
    "outputs too many": _set(*BLOCK, "outputs", to=4_000_000),
    "outputs too few": _set(*BLOCK, "outputs", to=1),
    "outputs huge": _set(*BLOCK, "outputs", to=10**30),
    "probability 2": _set(*BLOCK, "channel", 0, to=[0, 2**33]),
    "probability negative": _set(*BLOCK, "channel", 0, to=[0, -(2**32), 1, 2**33]),
    "probability huge": _set(*BLOCK, "channel", 0, to=[0, 10**30]),
    "probability zero": _set(*BLOCK, "channel", 0, to=[0, 2**32, 1, 0]),
    "output twice": _set(*BLOCK, "channel", 0, to=[0, 2**31, 0, 2**31]),
    "outputs out of order": _set(*BLOCK, "channel", 0, to=[1, 2**31, 0, 2**31]),
    "column empty": _set(*BLOCK, "channel", 0, to=[]),
    "column odd": _set(*BLOCK, "channel", 0, to=[0]),
    "column sums to less": _set(*BLOCK, "channel", 0, to=[0, 2**31]),
    "marginal negative": _set(*BLOCK, "marginal", 0, to=-1),
    "marginal huge": _set(*BLOCK, "marginal", 0, to=10**30),
    "marginal wraps round": _set(*BLOCK, "marginal", to=[2**63 - 1, 2**63 - 1, 2**32 + 2]),
    "marginal empty": _set(*BLOCK, "marginal", to=[]),
    "labels of another kind": _set(*BLOCK, "columns", 0, "kind", to="boolean"),
    "labels of text in a column of integers": _set(*BLOCK, "columns", 0, "labels", to=["a", "b", "c"]),
    "label of a column huge": _set(*BLOCK, "columns", 0, "labels", to=[0, 1, 10**30]),
    "label of a column twice": _set(*BLOCK, "columns", 0, "labels", to=[0, 0, 1]),
    "labels of a column few": _set(*BLOCK, "columns", 0, "labels", to=[0]),
    "name too long": _set(*BLOCK, "columns", 0, "name", to="x" * 2_000),
    "secret is a number": _set("secret", to=1),
    "half a letter": _set("secret", to="\ud800"),
    "two steps": lambda content: content["chain"].append(content["chain"][0]),
    "bound missing": lambda content: content.pop("upper_bound_nats"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_a_forged_file_is_refused(what, small):
    content = json.loads(to_text(small))
    FORGERIES[what](content)
    with pytest.raises(InvalidProtocol):
        from_text(forge(content))


@pytest.fixture(scope="module")
def numbers():
    """A protocol for numbers that tell the secret, read from a table."""
    table = pa.table({"v": [1.0, 1.0, 2.0, 2.0] * 10, "s": ["a", "a", "b", "b"] * 10})
    return table, pf.optimise(pf.Joint.from_table(table, "s"), pf.LIP(0.1))


def test_a_forged_file_that_lists_a_number_as_1_and_as_1_0_is_refused(numbers):
    """The check would look at the column of the one, and rows be drawn from that of the other."""
    _, protocol = numbers
    content = json.loads(to_text(protocol))
    block, whole = content["chain"][0], 2**32
    block["columns"][0]["labels"] = [1, 1.0, 2.0]
    block |= {"values": [[0], [1], [2]], "channel": [[1, whole], [0, whole], [0, whole]], "labels": [0, 2]}
    with pytest.raises(InvalidProtocol):
        from_text(forge(content))
    block["columns"][0]["labels"] = [1, 1.5, 2.0]
    from_text(forge(content))


def test_a_forged_file_that_names_one_secret_and_reads_another_is_refused(numbers):
    table, protocol = numbers
    content = json.loads(to_text(protocol))
    content["secret_readings"][0]["name"] = "v"
    with pytest.raises(InvalidProtocol, match="secret"):
        from_text(forge(content))
    content["secret"] = "v"  # now everybody sees which secret the file speaks of
    assert audited_joint(from_text(forge(content)), table).secret == "v"


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none_are_refused(constant, small):
    content = json.loads(to_text(small))
    content["utility_nats"] = float(constant)
    with pytest.raises(InvalidProtocol):
        from_text(forge(content))
    text = re.sub(r'"utility_nats": [^,]*,', f'"utility_nats": {constant},', to_text(small))
    with pytest.raises(InvalidProtocol):
        from_text(text)


def test_a_key_given_twice_is_refused(small):
    text = to_text(small).replace('"how":', '"secret": "other",\n"how":', 1)
    with pytest.raises(InvalidProtocol):
        from_text(text)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.sampled_from([0, 1, 2**31, 2**32, 2**63, 10**400, -1])
    | st.floats()
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def _places(value, here=()):
    """Every place in a JSON value."""
    found = [here] if here else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += _places(inner, (*here, key))
    return found


@settings(max_examples=400)
@given(st.data())
def test_only_invalid_protocol_is_ever_raised_for_mutated_files(small, data):
    content = json.loads(to_text(small))
    content.pop("digest")
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(_places(content)))
        parent = content
        for key in place[:-1]:
            parent = parent[key]
        if data.draw(st.booleans()) or isinstance(parent, list):
            parent[place[-1]] = data.draw(json_values)
        else:
            parent.pop(place[-1])
    try:
        loaded = from_text(forge(content))
    except InvalidProtocol:
        return
    # What is let through must be usable: nothing later may fail but on purpose.
    assert math.isfinite(loaded.notion.epsilon)
    assert to_text(loaded)
    with suppress(pf.PrivacyFunnelError):
        loaded.sanitise(pa.table({name: ["0", "1", "2"] for name in loaded.attributes}), unseen="draw")


@settings(max_examples=200)
@given(st.data())
def test_only_invalid_protocol_is_ever_raised_for_mutated_bytes(small, data):
    raw = bytearray(to_text(small).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    text = raw.decode("utf-8", "surrogateescape")
    if text == to_text(small):
        return
    with pytest.raises(InvalidProtocol):
        from_text(text)


def test_the_digest_tells_protocols_apart(small, protocol):
    assert digest_of(small) != digest_of(protocol)
    assert digest_of(small) == digest_of(from_text(to_text(small)))


PLAIN = pf.optimise(pf.Joint([[3, 2], [1, 4]]), pf.LIP(0.5))


@pytest.mark.parametrize(("people", "step"), [(100, 0.1), (101, 0.1), (400, 0.05), (48_842, 0.005), (10**6, 0.001)])
def test_the_step_is_the_error_of_an_entropy_of_so_many_people(people, step):
    assert step_for(people) == step
    assert 1 / np.sqrt(people) <= step * (1 + 1e-9)


def test_utility_bound_and_entropy_are_published_as_precisely_as_the_people_support():
    joint = pf.Joint([[310, 120, 75, 211], [96, 540, 134, 88]])
    protocol = pf.optimise(joint, pf.LIP(0.3))
    content, loaded = json.loads(to_text(protocol)), from_text(to_text(protocol))
    for name in ("utility_nats", "upper_bound_nats", "entropy_nats"):
        assert content[name] == round(content[name], 2)
        assert content[name] / 0.05 == pytest.approx(round(content[name] / 0.05), abs=1e-9)
    assert protocol.utility - 0.05 < loaded.utility <= protocol.utility
    assert protocol.upper_bound <= loaded.upper_bound < protocol.upper_bound + 0.05
    assert joint.entropy <= loaded.entropy < joint.entropy + 0.05
    assert protocol.entropy == joint.entropy  # in memory, nothing is rounded
    assert protocol.gap < 1e-6
    assert to_text(loaded) == to_text(protocol)


@given(st.integers(1, 10**7), st.floats(0, 20), st.floats(0, 1), st.floats(0, 1))
def test_what_is_published_never_claims_more(people, entropy, most, kept):
    bound = entropy * most
    exact = replace(PLAIN, utility=bound * kept, upper_bound=bound, entropy=entropy, digits=step_for(people))
    told = published(exact)
    assert 0 <= told.utility <= exact.utility
    assert told.upper_bound >= exact.upper_bound
    assert told.entropy >= exact.entropy
    assert told.utility <= told.upper_bound <= told.entropy
    assert max(exact.utility - told.utility, told.entropy - exact.entropy) <= exact.digits * (1 + 1e-9)
    assert published(told) is told
