"""Every key that a fit can be asked for does in the studio what it does on the command line, or is refused as there."""

import random
import tomllib

import pytest
from hypothesis import HealthCheck, assume, given, settings

import privacyfunnel as pf
from privacyfunnel.cli.app import run
from privacyfunnel.errors import InvalidInput, InvalidTable
from privacyfunnel.recipes.recipe import Recipe, from_content
from privacyfunnel.spec.counting import noise_of
from privacyfunnel.spec.form import without_empty
from privacyfunnel.spec.key import keys_of
from privacyfunnel.spec.spec import Spec
from spec.random_specs import specs

pytest.importorskip("shiny")
from privacyfunnel.studio import actions as desk
from privacyfunnel.studio import asked, more, others, protecting, reopening, wishing

FIRST = {"notion": "lip", "epsilon": "0.5", "known": "any", "confidence": "", "within": "", "objective": "faithful"}
"""What is chosen on the page at first."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, a release of it with who rows are about, and the same people a year later."""
    place, draw = tmp_path_factory.mktemp("keys"), random.Random(1)  # noqa: S311 - a made-up table
    lines = []
    for number in range(600):
        age, ill = draw.randint(18, 79), draw.choices(["yes", "no"], [1, 3])[0]
        lines.append(f"{number},{age},{draw.choice('mf')},{draw.choice(['Ash', 'Birch', 'Dale'])},{ill}")
    (place / "people.csv").write_text("\n".join(["id,age,sex,town,ill", *lines]), encoding="utf-8")
    moved = [line.replace("Ash", "Birch") if number < 30 else line for number, line in enumerate(lines)]
    (place / "later.csv").write_text("\n".join(["id,age,sex,town,ill", *moved]), encoding="utf-8")
    first = pf.optimise(
        pf.Joint.from_table(place / "people.csv", "ill", ["sex", "town"], private=1.0),
        pf.LIP(0.5),
        objective="faithful",
    )
    first.save(place / "first.json")
    first.sanitise(place / "people.csv", place / "open.csv", internal=place / "kept.csv", person="id")
    declared = ["--columns", "sex,town,ill", "-o", str(place / "domain.json")]
    assert run(["domain", str(place / "people.csv"), *declared]) == 0
    return place


def of_steps(said):
    """What is said in each step of the page."""
    steps, keys = {step: {} for step in others.TITLES}, keys_of(Spec)
    for name, text in said.items():
        steps[others.step_of(keys[name])][name] = text
    return steps


def found(folder, tmp_path, said, chosen=None, private=1.0, table="people.csv", columns=("sex", "town")):
    """What comes of the controls: the result, the rows that can be downloaded, and the recipe."""
    said = {name: text.replace("FOLDER", str(folder)) for name, text in said.items()}
    by_step = of_steps(said)
    opened = desk.open_table(folder / table, table, None, by_step["table"])
    counts = desk.count(opened, "ill", list(columns), None, "", by_step["columns"])
    page = more.More(others=tuple(by_step["promise"].items()))
    first = FIRST | {"private": "exact" if private is None else "1", "time_limit": "5.0"}
    spec = asked.spec_of("ill", first | (chosen or {}), page, counts.said)
    how = {"protection": protecting.Protection(private, 1), "more": page, "spec": spec}
    solved = desk.solve(counts, opened, asked.promise_of(spec), 5.0, lambda _: None, **how)
    rows = desk.release(solved, opened, tmp_path).read_text(encoding="utf-8").splitlines()
    named = {str(folder / name): name for name in ("domain.json", "first.json", "kept.csv", "people.csv")}
    return solved, rows, from_content(tomllib.loads(desk.recipe_of(solved, opened, counts, 5.0, named)), "recipe").fit


AFTER = {"after": "FOLDER/first.json", "released": "FOLDER/kept.csv", "person": "id"}
SAID = {
    "where": ({"where": "sex = 'm'"}, {}, lambda one, rows, fit: len(rows) < 400 and fit.where == "sex = 'm'"),
    "delimiter": ({"delimiter": ","}, {}, lambda one, rows, fit: fit.delimiter == ","),
    "encoding": ({"encoding": "latin-1"}, {}, lambda one, rows, fit: fit.encoding == "latin-1"),
    "unit": ({"unit": "row"}, {}, lambda one, rows, fit: fit.unit == "row"),
    "written": (
        {"written": "age=point"},
        {"columns": ("age", "sex")},
        lambda one, rows, fit: one.columns[0].written == "point",
    ),
    "missing": ({"missing": "Dale"}, {}, lambda one, rows, fit: None in one.columns[1].labels),
    "group": (
        {"group": "town:north=Ash,Dale"},
        {},
        lambda one, rows, fit: "north" in one.columns[1].labels,
    ),
    "coarsen": (
        {"coarsen": "auto"},
        {"columns": ("age", "sex", "town")},
        lambda one, rows, fit: len(one.columns[0]) < 8 and fit.coarsen == "auto",
    ),
    "leave_out": ({"leave_out": "town"}, {}, lambda one, rows, fit: one.attributes == ("sex",)),
    "domain": ({"domain": "FOLDER/domain.json"}, {}, lambda one, rows, fit: one.spent.declared),
    "allow_secret_attribute": (
        {"allow_secret_attribute": "true"},
        {"private": None},
        lambda one, rows, fit: one.attributes[-1] == "ill",
    ),
    "fill": (
        {"fill": "town", "ranges": "true"},
        {"columns": ("sex",)},
        lambda one, rows, fit: one.fill.names == ("town",) and one.spent.epsilon == 1.0,
    ),
    "alip": (
        {"lower": "0.5", "upper": "1"},
        {"chosen": {"notion": "alip"}},
        lambda one, rows, fit: one.notion == pf.ALIP(lower=0.5, upper=1.0),
    ),
    "error": ({"error": "town=0.05"}, {}, lambda one, rows, fit: one.notion.epsilon < 0.5 and fit.epsilon is None),
    "delta": ({"delta": "0.001"}, {}, lambda one, rows, fit: one.noise.delta == 0.001),
    "readers": (
        {"readers": "shares", "give_up": "0.05"},
        {"chosen": {"objective": "information"}},
        lambda one, rows, fit: one.precision.give_up == 0.05,
    ),
    "improve": (
        {"improve": "FOLDER/first.json"},
        {},
        lambda one, rows, fit: one.noise.epsilon == 1.0 and fit.improve == "first.json",
    ),
    "after": (
        AFTER,
        {"chosen": {"epsilon": "0.9"}},
        lambda one, rows, fit: one.before is not None and fit.released == ("kept.csv",),
    ),
    "was": (
        AFTER | {"was": "FOLDER/people.csv", "unchanged": "draw"},
        {"chosen": {"epsilon": "0.9"}, "table": "later.csv"},
        lambda one, rows, fit: "town now" in one.attributes or "town" in one.attributes,
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_what_a_control_says_is_done_and_is_in_the_recipe(name, folder, tmp_path):
    said, how, holds = SAID[name]
    solved, rows, fit = found(folder, tmp_path, said, **how)
    protocol = solved.account.protocol
    assert len(rows) > 200
    assert holds(protocol, rows, fit)
    assert rows[0].split(",")[: len(protocol.released_columns)] == list(protocol.released_columns)


def test_noise_is_drawn_once_for_each_way_to_read_a_table(folder):
    opened = desk.open_table(folder / "people.csv", "people.csv")
    first = desk.count(opened, "ill", ["sex", "town"], None, "", {"unit": "row"})
    assert desk.count(opened, "ill", ["town", "sex"], None, "", {"unit": "row"}) is first
    assert desk.count(opened, "ill", ["sex", "town"], None, "", {"missing": "Dale"}) is not first
    with_delta = protecting.Protection(1.0, 1, delta=0.001)
    assert first.used(with_delta) is first.used(with_delta)
    assert first.used(with_delta).joint.noise.delta == 0.001
    assert first.used(protecting.Protection(1.0, 1)).joint.noise.delta == 0


def test_people_with_several_rows_are_refused_as_on_the_command_line(tmp_path):
    lines = ["person_id,sex,ill", *(f"P{i // 3},{'mf'[i % 2]},{'yn'[i % 5 == 0]}" for i in range(900))]
    (tmp_path / "visits.csv").write_text("\n".join(lines), encoding="utf-8")
    opened = desk.open_table(tmp_path / "visits.csv", "visits.csv")
    with pytest.raises(InvalidTable, match="people may have several rows each"):
        desk.count(opened, "ill", ["sex"])
    assert desk.count(opened, "ill", ["sex"], None, "", {"unit": "row"}).exact.unit == "row"


def test_what_cannot_be_combined_is_refused_by_the_names_of_controls(folder, tmp_path):
    for said, chosen, words in (
        ({"readers": "shares"}, {"objective": "information", "confidence": "0.95"}, "“At which confidence” cannot be"),
        ({"unchanged": "keep"}, {}, "“unchanged” needs “was”"),
        ({"lower": "0.5"}, {}, "“What may change” lip takes no “ε of falling beliefs”"),
        ({"improve": "FOLDER/first.json", "weight": "sex=3"}, {}, "“improve” cannot be combined with"),
    ):
        with pytest.raises(InvalidInput, match=words):
            found(folder, tmp_path, said, chosen=chosen)


def test_files_are_uploaded_and_stay_until_another_is():
    class Given(dict):
        """The controls of a page: each is asked for its value."""

    given = Given({"key_after": lambda: None, "key_gap": lambda: " 0.01 "})
    assert others.chosen(given, "promise", {"after": "old.json"}) == {"after": "old.json", "gap": "0.01"}
    given["key_after"] = lambda: [{"datapath": "/up/0.json", "name": "first.json"}]
    given["key_released"] = lambda: [
        {"datapath": "/up/a, b.csv", "name": "a.csv"},
        {"datapath": "/up/1.csv", "name": "b"},
    ]
    assert others.chosen(given, "promise", {})["released"] == '"/up/a, b.csv",/up/1.csv'
    assert others.uploaded(given) == {"/up/0.json": "first.json", "/up/a, b.csv": "a.csv", "/up/1.csv": "b"}


PAGE = ("notion", "epsilon", "known", "confidence", "within", "private", "objective")


def shown(start):
    """The Spec of a page that opens with these choices."""
    given = {name: str(getattr(start, name)) for name in PAGE}
    given |= {"time_limit": "" if start.time_limit is None else repr(start.time_limit)}
    keys = keys_of(Spec)
    by_step = {
        step: {n: t for n, t in start.others.items() if others.step_of(keys[n]) == step} for step in others.TITLES
    }
    beliefs = start.beliefs if start.notion == "belief" else None
    second = start.second_epsilon if start.second else None
    page = more.More(
        start.second, second, start.levels, start.ordered, start.exact, start.per_range, beliefs,
        tuple(by_step["promise"].items()),
    )  # fmt: skip
    of_columns = {**by_step["table"], **by_step["columns"], **wishing.typed(start.cuts)}
    if start.attributes is not None:
        of_columns["columns"] = ",".join(map(desk.quoted, start.attributes))
    return asked.spec_of(start.secret, given, page, of_columns)


ELSEWHERE = ("table", "at_least", "insist")
"""Said by the table that is open, and by how its counts are protected."""


@settings(max_examples=150, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(spec=specs())
def test_a_page_that_a_spec_opens_says_the_same_spec(spec):
    said = {name: value for name, value in spec.said().items() if name not in ELSEWHERE}
    try:
        wanted = Spec(**said)
        start = reopening.start_of(Recipe(recipe=1, output="o", fit=wanted))
    except ValueError:  # of what the page has no place for
        assume(False)
    again = shown(start)
    left_out = dict.fromkeys((*ELSEWHERE, "private", "objective", "notion"))
    assert without_empty(again.said() | left_out) == without_empty(said | left_out)
    assert (again.kinds, again.kept, noise_of(again)) == (wanted.kinds, wanted.kept, noise_of(wanted))


@pytest.mark.long
def test_controls_that_follow_from_their_fields_work_in_a_browser(open_studio, chrome, table, tmp_path):
    from studio.test_studio import choose, get, shows

    assert run(["domain", str(table), "--columns", "sex,town,obese", "-o", str(tmp_path / "public.json")]) == 0
    young = sum(int(line.split(",")[2]) < 40 for line in table.read_text(encoding="utf-8").splitlines()[1:])
    context = chrome.new_context()
    try:
        with open_studio(table) as (address, _):
            page = context.new_page()
            page.set_default_timeout(120_000)
            page.goto(address)
            page.wait_for_selector("#columns-step")
            page.get_by_text("More about the table").click()
            page.fill("#key_where", "age < 40")
            page.locator("#key_where").blur()
            page.get_by_text(f"{young:,} rows").wait_for()
            page.wait_for_selector("#columns-step")
            page.get_by_text("More about the columns").click()
            page.set_input_files("#key_domain", tmp_path / "public.json")
            page.get_by_text("Upload complete").wait_for()
            choose(page, "obese", ["sex", "town"])
            shows(page, pf.LIP(0.5).words())
            fit = from_content(tomllib.loads(get(page, "Recipe", tmp_path).read_text(encoding="utf-8")), "recipe").fit
            assert (fit.where, fit.domain, fit.columns) == ("age < 40", "public.json", ("sex", "town"))
            protocol = pf.Protocol.load(get(page, "Protocol", tmp_path))
            assert protocol.spent.declared
            rows = get(page, "Released table", tmp_path).read_text(encoding="utf-8").splitlines()
            assert len(rows) == young + 1
            page.close()
    finally:
        context.close()
