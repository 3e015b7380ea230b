"""What the studio does behind its page: looking at tables, taking uploads, releasing once."""

import threading

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import privacyfunnel as pf
from privacyfunnel.errors import InvalidTable
from privacyfunnel.report.curves import Comparison
from privacyfunnel.tables.preview import preview
from privacyfunnel.tables.sources import open_source
from privacyfunnel.tables.suggesting import suggest

asked = pytest.importorskip("privacyfunnel.studio.asked")
more = pytest.importorskip("privacyfunnel.studio.more")
desk = pytest.importorskip("privacyfunnel.studio.actions")
work = pytest.importorskip("privacyfunnel.studio.work")
Protection = pytest.importorskip("privacyfunnel.studio.protecting").Protection


def test_suggestions_leave_out_what_names_people_and_find_the_secret(table):
    found = {s.column: s for s in suggest(open_source(table))}
    assert {name: s.part for name, s in found.items()} == {
        "name": "leave out",
        "sex": "release",
        "age": "release",
        "town": "leave out",
        "height": "leave out",
        "weight": "leave out",
        "obese": "secret",
    }
    assert found["town"].how.startswith("with it, too many people share")
    assert (found["town"].values, found["sex"].values, found["name"].distinct) == (5, 2, 2_000)


def parts(**columns):
    """What is suggested for columns by these names."""
    return {s.column: s.part for s in suggest(open_source(pa.table(columns)))}


TWO, FOUR, OTHERS = ["a", "b"] * 50, ["a", "b", "c", "d"] * 25, ["a", "a", "b", "b"] * 25
HALVES = ["p"] * 50 + ["q"] * 50


def test_what_looks_like_a_secret_is_suggested_as_the_secret_and_not_for_release():
    found = parts(race=HALVES, diagnosis=TWO, town=OTHERS, income=TWO, split=HALVES)
    assert found == {
        "race": "release",
        "diagnosis": "leave out",
        "town": "release",
        "income": "secret",
        "split": "release",
    }
    assert parts(race=FOUR, town=OTHERS, target=TWO, split=TWO)["target"] == "secret"
    assert parts(race=FOUR, town=OTHERS, sex=FOUR)["race"] == "secret"


def test_a_secret_with_few_values_is_suggested_before_one_with_many():
    many = [f"code {i % 30}" for i in range(100)]
    assert parts(diabetes=TWO, diag_1=many, town=OTHERS) == {
        "diabetes": "secret",
        "diag_1": "leave out",
        "town": "release",
    }
    assert parts(diag_1=many, town=OTHERS)["diag_1"] == "secret"


def test_a_last_column_of_two_values_may_be_the_secret_and_else_none_is_suggested():
    assert parts(town=FOUR, sex=TWO, active=TWO)["active"] == "secret"
    assert "secret" not in parts(town=FOUR, sex=TWO, street=FOUR).values()
    assert "secret" not in parts(active=TWO).values()
    assert "secret" not in parts(town=FOUR, same=["s"] * 100).values()


def test_a_suggestion_says_why():
    (town, income, debt) = suggest(open_source(pa.table({"town": HALVES, "income": OTHERS, "debt": TWO})))
    assert "secret" not in town.how
    assert income.how.startswith("its name is often that of a secret, too; ")
    assert debt.how.endswith("its name is often that of a secret")


def test_how_columns_are_cut_is_what_is_counted_and_other_columns_do_not_matter(table):
    opened = desk.open_table(table, "people.csv")
    cuts = {"weight": ("bins", "0, 75, 400"), "town": ("top", "2"), "sex": ("automatic", ""), "age": ("bins", "none")}
    counts = desk.count(opened, "obese", ["weight", "town", "sex"], cuts)
    assert [len(column) for column in counts.exact.joint.columns] == [2, 3, 2]
    assert desk.count(opened, "obese", ["sex", "town", "weight"], cuts) is counts  # the same noise
    assert desk.count(opened, "obese", ["sex", "town", "weight"]) is not counts
    each = desk.count(opened, "obese", ["weight"], {"weight": ("each", "")}).exact.joint
    assert each.n_x > 20
    for cut, words in ((("bins", " "), "into how many ranges"), (("top", "x"), "whole number"), (("no", ""), "list")):
        with pytest.raises(InvalidTable, match=words):
            desk.count(opened, "obese", ["weight"], {"weight": cut})


def test_dates_are_kept_as_chosen():
    table = pa.table({"ill": TWO, "born": [f"19{50 + i % 40}-0{1 + i % 9}-15" for i in range(100)]})
    opened = desk.Opened(table, "table", 100, ())
    for by in ("year", "month", "day"):
        (column,) = desk.count(opened, "ill", ["born"], {"born": (by, "")}).exact.joint.columns
        assert column.kind == by


def test_the_curve_of_the_chosen_promise_is_found_and_shown_first(table):
    opened = desk.open_table(table, "people.csv")
    joint = desk.count(opened, "obese", ["sex"]).exact.joint
    found = desk.next_curve(joint, Comparison((), {}), lambda _: None, first="pml")
    assert [curve.kind.name for curve in found.curves] == ["pml"]
    found = desk.next_curve(joint, found, lambda _: None, first="pml")
    found = desk.next_curve(joint, found, lambda _: None, first="pml")
    assert [curve.kind.name for curve in found.with_first("lip").curves] == ["lip", "ldp", "pml"]


def test_columns_that_cannot_be_used_or_say_nothing_are_left_out():
    table = pa.table({"x": HALVES, "same": ["s"] * 100, "nested": [[1]] * 100, "income": [1, 2] * 50})
    found = {s.column: (s.part, s.usable) for s in suggest(open_source(table))}
    assert found == {
        "x": ("release", True),
        "same": ("leave out", True),
        "nested": ("leave out", False),
        "income": ("secret", True),
    }


def test_uploads_keep_the_ending_that_says_what_they_are(tmp_path):
    for name, taken in (("a.csv", "table.csv"), ("../B.CSV.GZ", "table.csv.gz"), ("c d.parquet", "table.parquet")):
        upload = tmp_path / "0.part"
        upload.write_text("x")
        folder = tmp_path / taken
        folder.mkdir()
        assert desk.take_upload(upload, name, folder) == folder / taken
    upload.write_text("x")
    with pytest.raises(InvalidTable, match="should end in"):
        desk.take_upload(upload, "table.exe", tmp_path)


def test_a_release_is_drawn_once(table, tmp_path):
    opened = desk.open_table(table, "people.csv")
    counted = desk.count(opened, "obese", ["sex", "town"])
    solved = desk.solve(counted, opened, pf.LIP(0.1), None, lambda progress: None)
    first = desk.release(solved, opened, tmp_path).read_bytes()
    assert desk.release(solved, opened, tmp_path).read_bytes() == first
    assert pa_csv.read_csv(tmp_path / next(tmp_path.iterdir()).name).num_rows == 2_000


def test_rows_to_be_counted_are_what_is_released_unless_somebody_chooses_otherwise(table):
    opened = desk.open_table(table, "people.csv")
    counts = desk.count(opened, "obese", ["sex", "town"])
    told = [desk.solve(counts, opened, pf.LIP(0.1), None, lambda _: None, **more).account for more in CHOICES]
    assert [one.objective for one in told] == ["faithful", "faithful", "information"]
    assert [one.countable for one in told] == [False, True, False]  # of exact counts, up to noise for the first
    wish = desk.grant(counts, opened, pf.LIP, 0.9, None, lambda _: None).wish
    assert wish.protocol.objective == "faithful"
    assert wish.kept >= 0.9 - 1e-9
    joint = counts.used(Protection.usual(pf.LIP(0.1))).joint
    curves = desk.next_curve(joint, Comparison((), {}), lambda _: None)
    assert [curve.objective for curve in curves.curves] == ["faithful"]


EXACT = Protection(None, 0)
CHOICES = ({}, {"protection": EXACT}, {"protection": EXACT, "objective": "information"})


def test_a_preview_shows_the_first_rows_and_values_they_can_be_released_as(table):
    joint = pf.Joint.from_table(table, "obese", ["sex", "town"])
    protocol = pf.optimise(joint, pf.LIP(0.05))
    shown = preview(protocol, open_source(table), rows=50)
    rows = pa_csv.read_csv(table).select(["sex", "town"]).slice(0, 50).to_pylist()
    assert shown.columns == ("sex", "town")
    assert list(shown.before) == [(row["sex"], row["town"]) for row in rows]
    block = protocol.block
    Q, values = block.channel.dense(), [tuple(v) for v in block.values.tolist()]
    written = [values[x] for x in block.labels]
    for before, after in zip(shown.before, shown.after, strict=True):
        assert Q[written.index(after), values.index(before)] > 0


@pytest.mark.long
def test_work_tells_its_progress_and_stops_when_asked():
    joint = pf.Joint.from_support(*_many())
    begun = threading.Event()

    def task(follow):
        def both(progress):
            follow(progress)
            begun.set()

        return pf.optimise(joint, pf.SRLIP(0.2), gap=1e-12, progress=both)

    running = work.Work(task)
    assert begun.wait(120)
    assert running.running
    running.stop()
    running.join(120)
    assert not running.running
    assert running.progress is not None
    assert running.trouble is None
    assert pf.certify(running.result, joint).holds


@pytest.mark.long
def test_when_the_studio_ends_work_is_stopped_and_waited_for():
    """A process that ends while a thread is in a compiled library is aborted."""
    joint = pf.Joint.from_support(*_many())
    begun = threading.Event()
    running = work.Work(lambda _: pf.optimise(joint, pf.SRLIP(0.2), gap=1e-12, progress=lambda _: begun.set()))
    idle = work.Work(lambda _: 1)
    assert begun.wait(120)
    assert work.end_all(120)
    assert not running.running
    assert not idle.running
    assert (running.result, running.trouble) == (None, work.LEFT)  # nobody waits for it to be proven


def test_work_that_is_left_ends_without_a_result_also_while_a_protocol_is_proven():
    joint = pf.Joint.from_support(*_many())
    protocol = pf.optimise(joint, pf.SRLIP(0.2), time_limit=1)
    begun = threading.Event()

    def task(_):
        while True:
            begun.set()
            pf.certify(protocol, joint)

    proving = work.Work(task)
    assert begun.wait(120)
    proving.stop()  # proves the best it has
    proving.join(0.5)
    assert proving.running
    proving.leave()
    proving.join(120)
    assert (proving.result, proving.trouble) == (None, work.LEFT)


def test_work_says_what_it_does():
    counts, opened, said = *_wide_counts(), []
    insisted = desk.protection_of("1", "10", "lip", "", True)  # of so few people
    desk.solve(
        counts,
        opened,
        pf.LIP(0.5),
        None,
        lambda now: said.append(now) if isinstance(now, str) else None,
        protection=insisted,
    )
    assert said == [desk.COUNTING, desk.SEARCHING, desk.MEASURING]


@pytest.mark.parametrize(("sets", "most"), [(10**9, 8), (2, 10**9)])
def test_too_many_attackers_are_refused_before_anything_is_searched_in_words_of_the_page(monkeypatch, sets, most):
    counts, opened = _wide_counts()
    monkeypatch.setattr(desk, "MOST_FAMILIES", sets)
    monkeypatch.setattr(desk, "MOST_MEASURED", most)
    monkeypatch.setattr(desk, "optimise", None)
    with pytest.raises(pf.PrivacyFunnelError, match="3 sets of columns") as refused:
        desk.solve(counts, opened, pf.SRLIP(0.5), None, lambda _: None)
    assert "under “Attackers may know” choose “" in str(refused.value)
    assert "--known" not in str(refused.value)


def _wide_counts():
    table = pa.table({"s": ["a", "b"] * 50, "x": ["c", "c", "d", "d"] * 25, "y": ["e", "e", "e", "f"] * 25})
    opened = desk.Opened(table, "table", 100, ())
    return desk.count(opened, "s", ["x", "y"]), opened


def _many():
    import numpy as np

    rng = np.random.default_rng(0)
    values = np.stack(np.unravel_index(np.arange(120), (4, 5, 6)), axis=1)
    return rng.integers(1, 100, (3, 120)), values


def test_work_that_fails_says_why_without_quoting_anything():
    def known(follow):
        raise InvalidTable("the table is odd")

    def unknown(follow):
        raise ValueError("a record of somebody")

    for task, words in ((known, "the table is odd"), (unknown, "unforeseen ValueError; please report it")):
        done = work.Work(task)
        done.join(60)
        assert (done.result, done.trouble) == (None, words)


def test_a_promise_is_kept_for_those_who_are_chosen():
    def promise(confidence, within):
        chosen = {"notion": "lip", "epsilon": "0.5", "known": "any", "confidence": confidence, "within": within}
        chosen["private"] = "exact"
        return asked.spec_of("ill", chosen, more.More()).promise()

    assert promise("", "nested") == pf.LIP(0.5)
    assert promise("0.9", "") == pf.robust(pf.LIP(0.5), 0.9)
    assert promise("0.9", "nested") == pf.robust(pf.LIP(0.5), 0.9, "nested")
    with pytest.raises(pf.PrivacyFunnelError, match="“How chance is bounded” should be nested or intervals"):
        promise("0.9", "<script>")
