"""The studio in a real browser: the whole way, and everything that may go wrong on it."""

import json
import re

import numpy as np
import pyarrow.csv as pa_csv
import pytest

import privacyfunnel as pf
from pages import barriers, listen, too_wide
from privacyfunnel.attacks.exposure import exposure
from privacyfunnel.proof.certificate import audit_publicly
from privacyfunnel.proof.public import published_joint
from privacyfunnel.protocols.everything import NO_BOUND, everything
from privacyfunnel.protocols.miscounting import counting_words
from privacyfunnel.report.account import account
from privacyfunnel.report.words import percent
from processes import seconds_to_end, soon

PATIENCE = 120_000
"""Milliseconds for what takes moments on a machine that is not busy."""


@pytest.fixture
def visit(chrome):
    """New pages, each in a browser profile of its own unless it is given one."""
    contexts = []

    def enter(address, context=None, **how):
        if context is None:
            context = chrome.new_context(**how)
            contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        heard = listen(page)
        page.goto(address)
        return page, heard

    yield enter
    for context in contexts:
        context.close()


def upload(page, table):
    page.set_input_files("#file", table)
    page.wait_for_selector("#columns-step")


def choose(page, secret, columns):
    page.get_by_role("radio", name=f"{secret} is the secret").check()
    for box in page.locator("#attributes").get_by_role("checkbox").all():
        name = box.get_attribute("value")
        if box.is_enabled():
            box.set_checked(name in columns)
    page.evaluate("document.querySelector('#promise-step')?.setAttribute('id', 'promise-step-before')")
    page.click("#count")
    page.wait_for_selector("#promise-step")


def set_epsilon(page, epsilon):
    page.fill("#epsilon", str(epsilon))
    page.dispatch_event("#epsilon", "change")


def exactly(page):
    """Fit on exact counts, without a threshold."""
    page.select_option("#at_least", "1")
    page.select_option("#private", "exact")
    shows(page, "Everything that is published: no bound.")


def shows(page, words):
    """Wait until the result says this."""
    page.wait_for_function("words => document.querySelector('#result')?.innerText.includes(words)", arg=words)


def bars(page, column):
    """The shares of a column's values, in the original and as released, from the table below its bars."""
    figure = page.locator("#bars figure").filter(has=page.locator("figcaption strong", has_text=column))
    rows = figure.locator("tbody tr")
    return tuple([row.locator("td").nth(which).text_content() for row in rows.all()] for which in (0, 1))


def get(page, label, folder):
    with page.expect_download() as coming:
        page.get_by_role("link", name=label, exact=True).click()
    path = folder / coming.value.suggested_filename
    coming.value.save_as(path)
    return path


@pytest.mark.long
@pytest.mark.every_turn
def test_the_whole_way_from_upload_to_download_gives_what_the_library_does(open_studio, visit, table, tmp_path):
    with open_studio() as (address, _):
        page, heard = visit(address)
        upload(page, table)
        assert page.get_by_role("radio", name="obese is the secret").is_checked()
        choose(page, "obese", ["sex", "town", "weight"])
        set_epsilon(page, 0.3)
        promise = pf.LIP(0.3)
        shows(page, promise.words())
        first = pf.Protocol.load(get(page, "Protocol", tmp_path))
        assert (first.fitted, first.noise.epsilon, first.at_least) == ("private counts", 1.0, 0)
        joint = published_joint(first)  # what everybody may know
        expected = pf.optimise(joint, promise, objective="faithful")
        released = expected.channel_on(joint) @ joint.p.T
        told = page.inner_text("#result")
        assert percent(expected.likeness.cells_unchanged) in told
        assert counting_words(expected, joint) in told
        assert percent(float(released.max(axis=1).sum())) in told
        assert "Kept." in told
        assert everything(first).words() in told
        assert everything(first).whom() in told
        page.get_by_text("How sharply readers will know each column").first.click()
        page.wait_for_selector("#knowing table")
        assert "estimated, whatever the table" in page.inner_text("#knowing")
        assert barriers(page) == []

        page.select_option("#notion", "ldp")
        shows(page, pf.LDP(0.3).words())
        best = pf.optimise(joint, pf.LDP(0.3), objective="faithful")
        shows(page, percent(best.likeness.cells_unchanged))

        protocol = pf.Protocol.load(get(page, "Protocol", tmp_path))
        assert protocol.notion == pf.LDP(0.3)
        assert protocol.objective == "faithful"
        assert protocol.fidelity == pytest.approx(best.fidelity, abs=1e-3)
        assert (protocol.noise.counts == first.noise.counts).all()  # drawn once
        assert pf.certify(protocol, joint).holds
        rows = pa_csv.read_csv(get(page, "Released table", tmp_path))
        assert rows.column_names == ["sex", "town", "weight"]
        assert rows.num_rows == 2_000
        again = tmp_path / "again"
        again.mkdir()
        assert get(page, "Released table", again).read_bytes() == (tmp_path / "released.csv").read_bytes()
        certificate = json.loads(get(page, "Certificate", tmp_path).read_text())
        assert certificate["findings"]["holds"] is True
        assert certificate["findings"]["level"] == pf.certify(protocol, joint).level
        assert certificate["likeness"]["fidelity"] == pytest.approx(best.fidelity, abs=1e-3)
        report = get(page, "Report", tmp_path).read_text()
        assert certificate["digest"] in report
        public = get(page, "Page to publish", tmp_path).read_text()
        assert "What an attacker gains" in report
        assert "What an attacker gains" not in public

        page.get_by_text("The same on the command line and in Python").click()
        typed = " ".join(page.inner_text("#downloads").replace("\\", " ").split())
        assert "--notion ldp --epsilon 0.3 --private 1 -o protocol.json" in typed
        page.get_by_text("What an attacker gains").first.click()
        page.wait_for_selector("#risk figure")
        page.wait_for_selector("#curve figure")
        assert heard["errors"] == []
        own = address.split("?")[0]
        assert [url for url in heard["asked"] if not url.startswith((own, own.replace("http", "ws"), "data:"))] == []


@pytest.mark.long
def test_exact_counts_come_with_a_warning_and_noise_stays_the_same(open_studio, visit, table, tmp_path):
    joint = pf.Joint.from_table(table, "obese", ["sex", "town", "weight"])
    with open_studio(table) as (address, _):
        page, heard = visit(address)
        choose(page, "obese", ["sex", "town", "weight"])
        shows(page, pf.LIP(0.5).words())
        assert (page.input_value("#private"), page.input_value("#at_least")) == ("1", "1")
        first = pf.Protocol.load(get(page, "Protocol", tmp_path))
        exactly(page)
        shown = pf.Protocol.load(get(page, "Protocol", tmp_path))
        assert shown.fitted == "exact counts"
        people = exposure(shown, joint)
        told = page.inner_text("#result")
        assert NO_BOUND in told
        assert people.few > 0
        assert people.words() in told
        assert people.words() in page.inner_text("#downloads")
        assert barriers(page) == []

        page.select_option("#private", "0.5")
        shows(page, "ε₀ = 0.5")
        page.select_option("#private", "1")
        page.check("#insist")  # by chance the noise makes more than 5% of the people rare
        page.select_option("#at_least", "10")
        shows(page, "stands for fewer than 10 people")
        choose(page, "obese", ["sex", "town", "weight"])  # once more: the same noise
        shows(page, pf.LIP(0.5).words())
        again = pf.Protocol.load(get(page, "Protocol", tmp_path))
        assert (again.noise.counts == first.noise.counts).all()
        page.select_option("#notion", "srlip")
        page.locator("#threshold", has_text="goes without a threshold").wait_for()
        assert heard["errors"] == []


@pytest.mark.long
def test_a_promise_can_be_kept_for_the_population(open_studio, visit, table, tmp_path):
    joint = pf.Joint.from_table(table, "obese", ["sex"])
    with open_studio(table) as (address, _):
        page, heard = visit(address)
        page.wait_for_selector("#columns-step")
        choose(page, "obese", ["sex"])
        shows(page, pf.LIP(0.5).words())
        exactly(page)
        assert "random sample" not in page.inner_text("#result")
        assert page.locator("#within").count() == 0

        set_epsilon(page, 0.3)
        page.select_option("#people", "0.95")
        over = pf.robust(pf.LIP(0.3), 0.95)
        shows(page, over.words())
        told = page.inner_text("#result")
        found = pf.population_findings(pf.optimise(joint, over, objective="faithful"), joint)
        assert f"{found.population_level:.4g} for the population with 95% confidence" in told
        assert barriers(page) == []

        page.select_option("#within", "nested")
        nested = pf.robust(pf.LIP(0.3), 0.95, "nested")
        shows(page, nested.words())
        protocol = pf.Protocol.load(get(page, "Protocol", tmp_path))
        assert protocol.notion == nested
        assert pf.certify(protocol, joint).holds
        page.get_by_text("The same on the command line and in Python").click()
        assert "--confidence 0.95 --set within=nested" in " ".join(
            page.inner_text("#downloads").replace("\\", " ").split()
        )

        page.get_by_text("Or say how much is to be kept").click()
        page.click("#wish")
        page.locator("#status", has_text="people in the table only").wait_for()
        page.select_option("#notion", "perfect")
        page.locator("#status", has_text="give a positive ε").wait_for()
        page.select_option("#people", "")
        shows(page, pf.PerfectPrivacy().words())
        assert heard["errors"] == []


@pytest.mark.long
def test_what_readers_get_can_be_chosen_and_the_bars_show_the_difference(open_studio, visit, table, tmp_path):
    joint = pf.Joint.from_table(table, "obese", ["sex", "weight"])
    with open_studio(table) as (address, _):
        page, heard = visit(address)
        choose(page, "obese", ["sex", "weight"])
        shows(page, pf.LIP(0.5).words())
        exactly(page)
        assert page.input_value("#objective") == "faithful"
        shows(page, "on average, in the release: the same.")
        assert page.locator("#bars figure").count() == 2
        before, after = bars(page, "weight")
        assert after == before
        changed = page.locator("#result table.preview td.changed").count()
        assert f"Changed: {changed} of these 12 cells, " in page.inner_text("#result")

        page.select_option("#objective", "information")
        protocol = pf.optimise(joint, pf.LIP(0.5))
        shows(page, percent(protocol.utility / joint.entropy) + "\nof the information kept")
        shows(page, "Counting released rows misleads")
        shows(page, "on average, in the release: off by up to")
        told = account(protocol, joint).attributes[1]
        assert bars(page, "weight") == ([percent(p) for p in told.before], [percent(p) for p in told.after])
        assert barriers(page) == []
        page.wait_for_function("() => document.querySelector('#curve')?.innerText.includes('How much information')")
        assert pf.Protocol.load(get(page, "Protocol", tmp_path)).objective == "information"

        page.select_option("#objective", "faithful")  # known already
        shows(page, "Readers can count rows as they stand")
        page.wait_for_function("() => document.querySelector('#curve')?.innerText.includes('How many cells')")
        assert heard["errors"] == []


@pytest.mark.long
def test_a_wish_finds_the_smallest_epsilon_and_moves_the_slider(open_studio, visit, table):
    joint = pf.Joint.from_table(table, "obese", ["town", "weight"])
    with open_studio(table) as (address, _):  # opened from the command line
        page, _ = visit(address)
        choose(page, "obese", ["town", "weight"])
        shows(page, pf.LIP(0.5).words())
        exactly(page)
        page.get_by_text("Or say how much is to be kept").click()
        page.select_option("#objective", "information")
        page.get_by_label("Keep at least this share of the information (%)").fill("90")
        page.click("#wish")
        shows(page, "Keeping 0.9 of the information takes")
        told = page.inner_text("#result")
        found = float(re.search(r"takes ε = ([\d.]+)", told).group(1))
        page.wait_for_function("e => Number(document.querySelector('#epsilon').value) === e", arg=found)
        assert pf.optimise(joint, pf.LIP(found)).utility >= 0.9 * joint.entropy - 1e-9
        assert pf.optimise(joint, pf.LIP(found - 0.001)).upper_bound < 0.9 * joint.entropy

        page.select_option("#objective", "faithful")
        page.get_by_label("Keep at least this share of the cells, near values counted in part (%)").fill("95")
        page.click("#wish")
        shows(page, "Keeping 0.95 of the cells")
        found = float(re.search(r"takes ε = ([\d.]+)", page.inner_text("#result")).group(1))
        assert pf.optimise(joint, pf.LIP(found), objective="faithful").fidelity >= 0.95 - 1e-9


@pytest.mark.long
def test_a_wrong_file_is_explained_and_another_one_can_be_tried(open_studio, visit, table, tmp_path):
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "broken.parquet").write_bytes(b"not parquet")
    (tmp_path / "empty.csv").write_text("")
    with open_studio("--upload-limit", "1") as (address, _):
        page, _ = visit(address)
        for name, words in (
            ("picture.png", "should end in .csv"),
            ("broken.parquet", "cannot be read as a table"),
            ("empty.csv", "is empty"),
        ):
            page.set_input_files("#file", tmp_path / name)
            page.get_by_role("alert").filter(has_text=words).wait_for()
            assert "Traceback" not in page.inner_text("body")
        (tmp_path / "large.csv").write_text("a,b\n" + "1,2\n" * 400_000)
        page.set_input_files("#file", tmp_path / "large.csv")
        page.get_by_role("alert").filter(has_text="larger than 1 MiB").wait_for()
        upload(page, table)
        assert page.get_by_role("alert").count() == 0


@pytest.mark.long
def test_choosing_no_column_is_explained(open_studio, visit, table):
    with open_studio(table) as (address, _):
        page, _ = visit(address)
        page.wait_for_selector("#columns-step")
        for box in page.get_by_role("checkbox").all():
            if box.is_enabled():
                box.set_checked(False)
        page.click("#count")
        page.get_by_role("alert").filter(has_text="at least one other column").wait_for()


@pytest.mark.long
def test_a_long_search_is_followed_and_stopped_with_a_protocol_that_holds(open_studio, visit, table, tmp_path):
    with open_studio(table) as (address, _):
        page, _ = visit(address)
        choose(page, "obese", ["sex", "town", "height", "weight"])
        shows(page, pf.LIP(0.5).words())
        page.select_option("#notion", "srlip")
        page.get_by_text("Kept so far:").wait_for()
        page.get_by_role("button", name="Stop and take the best so far").click()
        shows(page, pf.SRLIP(0.5).words())
        assert page.locator("progress").count() == 0
        protocol = pf.Protocol.load(get(page, "Protocol", tmp_path))
        assert protocol.notion == pf.SRLIP(0.5)
        assert protocol.at_least == 0
        assert audit_publicly(protocol)[1].holds


def takeable(page):
    """Whether anything can be downloaded."""
    return page.locator("#downloads a").count() > 0


def arrives(page, link):
    """Whether a download is sent, whole."""
    from playwright.sync_api import Error

    try:
        return page.request.get(link).ok
    except Error:  # broken off
        return False


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A table with thirteen columns to release: 8,191 sets of them that an attacker may know."""
    rng = np.random.default_rng(0)
    columns = {f"c{j}": rng.integers(0, 2 if j < 3 else 1, 400) for j in range(13)}  # most say nothing
    lines = [",".join([*columns, "ill"])]
    ill = rng.random(400) < 0.2 + 0.4 * columns["c0"]
    for i in range(400):
        lines.append(",".join([*(str(codes[i]) for codes in columns.values()), "yn"[int(ill[i])]]))
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.long
def test_after_a_refusal_the_result_is_marked_as_old_and_cannot_be_downloaded(open_studio, visit, wide, tmp_path):
    with open_studio(wide) as (address, _):
        page, heard = visit(address)
        choose(page, "ill", [f"c{j}" for j in range(13)])
        shows(page, pf.LIP(0.5).words())
        assert "Kept." in page.inner_text("#result")
        assert takeable(page)
        page.locator("#get_protocol[href*=download]").wait_for()
        link = address.split("?")[0] + page.locator("#get_protocol").get_attribute("href")
        assert arrives(page, link)

        page.select_option("#notion", "srlip")
        refusal = page.locator("#status").get_by_role("alert")
        refusal.filter(has_text="8,191 sets of columns that an attacker may know are too many").wait_for(timeout=60_000)
        assert "under “Attackers may know” choose “two columns at most”" in refusal.inner_text()
        assert "This is for what you chose before; what you chose since was refused" in page.inner_text("#old")
        assert not takeable(page)
        assert not arrives(page, link)  # an old link is of no use
        assert page.evaluate("getComputedStyle(document.querySelector('#result')).filter") == "grayscale(1)"
        assert barriers(page) == []

        page.get_by_label("Attackers may know").select_option("1")
        shows(page, pf.SRLIP(0.5, known=1).words())
        page.locator("#get_protocol").wait_for()
        assert page.inner_text("#old") == ""
        assert pf.Protocol.load(get(page, "Protocol", tmp_path)).notion == pf.SRLIP(0.5, known=1)
        page.fill("#epsilon", "-1")
        page.dispatch_event("#epsilon", "change")
        page.locator("#old", has_text="was refused").wait_for()
        assert not takeable(page)
        set_epsilon(page, 0.5)
        page.locator("#get_protocol").wait_for()
        assert page.inner_text("#old") == ""
        assert heard["errors"] == []


@pytest.mark.long
def test_while_another_search_runs_the_result_is_marked_as_old_and_comes_back_with_its_choice(
    open_studio, visit, table
):
    with open_studio(table) as (address, _):
        page, heard = visit(address)
        choose(page, "obese", ["sex", "town", "height", "weight"])
        shows(page, pf.LIP(0.5).words())
        page.select_option("#notion", "srlip")  # takes minutes
        page.locator("#old", has_text="another one is being looked for").wait_for(timeout=60_000)
        assert not takeable(page)
        page.get_by_text("Looking for the best protocol.").wait_for()
        page.select_option("#notion", "lip")
        page.locator("#get_protocol").wait_for()
        assert page.inner_text("#old") == ""
        assert page.locator("progress").count() == 0
        page.wait_for_timeout(2_000)  # what was left does not come after all
        assert pf.LIP(0.5).words() in page.inner_text("#result")
        assert heard["errors"] == []


@pytest.mark.long
def test_the_box_of_the_secret_is_empty_and_cannot_be_ticked(open_studio, visit, table):
    with open_studio(table) as (address, _):
        page, heard = visit(address)
        page.wait_for_selector("#columns-step")
        assert "obese looks like the secret" in page.inner_text("#columns")
        boxes = {name: page.get_by_role("checkbox", name=f"release {name}", exact=True) for name in ("obese", "sex")}
        assert not boxes["obese"].is_checked()
        assert boxes["obese"].is_disabled()
        assert boxes["sex"].is_checked()
        page.get_by_role("radio", name="sex is the secret").check()
        assert not boxes["sex"].is_checked()
        assert boxes["sex"].is_disabled()
        assert boxes["obese"].is_enabled()
        assert not boxes["obese"].is_checked()  # it is not released unless somebody says so
        page.click("#count")
        page.locator("#counted", has_text="2 values of sex").wait_for()
        assert heard["errors"] == []


@pytest.mark.long
def test_how_columns_are_cut_can_be_chosen_and_mistakes_are_explained(open_studio, visit, table, tmp_path):
    with open_studio(table) as (address, _):
        page, heard = visit(address)
        page.wait_for_selector("#columns-step")
        assert page.get_by_label("a number or borders for weight").is_hidden()
        page.get_by_role("checkbox", name="release weight").check()
        page.get_by_role("checkbox", name="release town").check()
        page.get_by_label("how weight is cut").select_option("bins")
        page.get_by_label("how town is cut").select_option("top")
        mistakes = {
            "": "into how many ranges",
            "60, x": "are not numbers",
            "0": "“Ranges”.weight should be for each column a number of ranges",
            "60, 75, 90": "lie outside its bins 60…90; widen them",
        }
        for typed, words in mistakes.items():
            page.get_by_label("a number or borders for weight").fill(typed)
            page.get_by_label("a number or borders for town").fill("2")
            page.click("#count")
            page.get_by_role("alert").filter(has_text=words).wait_for()
        page.get_by_label("a number or borders for weight").fill("0, 75, 400")
        assert barriers(page) == []
        assert too_wide(page) <= 0
        choose(page, "obese", ["weight", "town"])
        shows(page, pf.LIP(0.5).words())
        block = pf.Protocol.load(get(page, "Protocol", tmp_path)).block
        columns = {column.name: column for column in block.columns}
        assert columns["weight"].edges == (0, 75, 400)
        assert len(columns["town"]) == 3  # with the others
        page.get_by_text("The same on the command line and in Python").click()
        typed = " ".join(page.inner_text("#downloads").replace("\\", " ").split())
        assert "--set top=town=2" in typed
        assert heard["errors"] == []


@pytest.mark.long
def test_columns_that_are_too_fine_or_emptied_are_pointed_out(open_studio, visit, tmp_path):
    rng = np.random.default_rng(0)
    fine, copy = rng.integers(0, 300, 600), rng.integers(0, 2, 600)
    lines = ["town,copy,ill", *(f"town {a},{'yn'[b]},{'yn'[b]}" for a, b in zip(fine, copy, strict=True))]
    (tmp_path / "fine.csv").write_text("\n".join(lines) + "\n")
    with open_studio(tmp_path / "fine.csv") as (address, _):
        page, heard = visit(address)
        page.wait_for_selector("#columns-step")
        page.get_by_label("how town is cut").select_option("top")
        page.get_by_label("a number or borders for town").fill("290")
        choose(page, "ill", ["town", "copy"])
        told = page.inner_text("#counted")
        assert "Counted, but too fine:" in told
        assert "without town: 2 combinations" in told
        assert re.search(r"the \d+ most frequent values of town: \d+ combinations", told)
        assert "--set" not in told
        page.get_by_label("a number or borders for town").fill("2")
        choose(page, "ill", ["town", "copy"])
        page.locator("#counted .kept").wait_for()
        set_epsilon(page, 0.05)
        shows(page, "Emptied: copy: its released values say next to nothing of the original ones.")
        assert heard["errors"] == []


@pytest.mark.long
def test_the_curve_of_the_promise_that_is_chosen_comes_first(open_studio, visit, table):
    with open_studio(table) as (address, _):
        page, _ = visit(address)
        choose(page, "obese", ["sex", "weight"])
        shows(page, pf.LIP(0.5).words())
        first = "() => document.querySelector('#curve tbody tr')?.firstElementChild.textContent === '%s'"
        page.wait_for_function(first % "LIP")
        page.wait_for_function("() => document.querySelector('#curve')?.textContent.includes('PML')")
        page.wait_for_function(first % "LIP")
        page.select_option("#notion", "pml")
        page.wait_for_function(first % "PML")


@pytest.mark.long
def test_ctrl_c_ends_the_studio_within_two_seconds_during_a_search(open_studio, visit, table):
    def attempt():
        with open_studio(table) as (address, process):
            page, _ = visit(address)
            choose(page, "obese", ["sex", "town", "height", "weight"])
            shows(page, pf.LIP(0.5).words())
            page.select_option("#notion", "srlip")  # takes minutes
            page.get_by_text("Kept so far:").wait_for()
            return seconds_to_end(process, "SIGINT")

    assert soon(attempt)


@pytest.mark.long
def test_two_tabs_share_nothing(open_studio, visit, table, chrome):
    with open_studio(table) as (address, _):
        first, _ = visit(address)
        second, _ = visit(address.split("?")[0], context=first.context)
        choose(first, "obese", ["sex", "town"])
        choose(second, "town", ["sex", "weight"])
        set_epsilon(first, 0.2)
        set_epsilon(second, 0.7)
        shows(first, pf.LIP(0.2).words())
        shows(second, pf.LIP(0.7).words())
        assert "town" not in second.inner_text("#result table.preview thead")
        assert "town" in first.inner_text("#result table.preview thead")
        assert "every value of obese" in first.inner_text("#result")
        assert "obese" not in second.inner_text("#result")
        second.close()
        set_epsilon(first, 0.1)
        shows(first, pf.LIP(0.1).words())

        stranger = chrome.new_context()
        page = stranger.new_page()
        assert page.goto(address).status == 403
        assert page.goto(address.split("?")[0]).status == 403
        stranger.close()


@pytest.mark.long
def test_everything_can_be_done_by_keyboard_alone(open_studio, visit, table):
    with open_studio(table) as (address, _):
        page, _ = visit(address)
        page.wait_for_selector("#columns-step")

        def tab_to(selector):
            for _ in range(60):
                if page.evaluate("s => document.activeElement?.matches(s) ?? false", selector):
                    return
                page.keyboard.press("Tab")
            raise AssertionError(f"the Tab key never reaches {selector}")

        tab_to("#file")
        assert page.evaluate("getComputedStyle(document.activeElement.closest('.btn')).outlineStyle") == "solid"
        tab_to("#release-2")
        page.keyboard.press("Space")  # the age is left out
        assert not page.is_checked("#release-2")
        tab_to("#count")
        page.keyboard.press("Enter")
        shows(page, pf.LIP(0.5).words())
        tab_to("#slider")
        page.keyboard.press("ArrowLeft")
        shows(page, pf.LIP(0.3).words())
        tab_to("#get_protocol")
        with page.expect_download() as coming:
            page.keyboard.press("Enter")
        assert coming.value.suggested_filename == "protocol.json"


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_shows_everything_without_sideways_scrolling(open_studio, visit, table, scheme):
    with open_studio(table) as (address, _):
        page, _ = visit(address, viewport={"width": 380, "height": 740}, color_scheme=scheme)
        page.wait_for_selector("#columns-step")
        assert too_wide(page) <= 0
        choose(page, "obese", ["sex", "town", "weight"])
        shows(page, pf.LIP(0.5).words())
        for words in ("What was kept of each column", "What an attacker gains", "The same on the command line"):
            page.get_by_text(words).first.click()
        page.wait_for_selector("#risk figure")
        page.wait_for_selector("#kept figure")
        page.wait_for_selector("#bars figure")
        page.wait_for_selector("#curve figure")
        assert too_wide(page) <= 0
        assert barriers(page) == []


@pytest.mark.long
def test_more_can_be_promised_and_what_is_shown_is_what_was_chosen(open_studio, visit, table, tmp_path):
    with open_studio(table) as (address, _):
        page, heard = visit(address)
        choose(page, "obese", ["sex", "town"])
        shows(page, pf.LIP(0.5).words())
        levels = pf.LIP({"no": 1.0, "yes": 0.2})  # in the order of the table
        page.get_by_text("More about this promise").click()
        page.fill("#levels", "yes=0.2, no=1")
        page.locator("#levels").blur()
        shows(page, levels.words())
        assert pf.Protocol.load(get(page, "Protocol", tmp_path)).notion.words() == levels.words()
        page.fill("#levels", "yes=much")
        page.locator("#levels").blur()
        page.wait_for_function("() => document.querySelector('#status')?.innerText.includes('or one for each')")
        assert "Old result" in page.inner_text("#main")
        page.fill("#levels", "")
        page.locator("#levels").blur()
        shows(page, pf.LIP(0.5).words())

        page.locator("#exact").get_by_label("sex").check()
        shows(page, "Released exactly as they are: sex.")
        assert pf.Protocol.load(get(page, "Protocol", tmp_path)).block.exact == ("sex",)

        page.select_option("#second", "town")
        choose(page, "obese", ["sex", "town"])
        page.wait_for_selector("#second_epsilon")
        each = pf.Promises(obese=pf.LIP(0.5), town=pf.LIP(0.5))
        shows(page, each.words())
        page.fill("#second_epsilon", "0.3")
        page.dispatch_event("#second_epsilon", "change")
        shows(page, pf.Promises(obese=pf.LIP(0.5), town=pf.LIP(0.3)).words())
        assert pf.Protocol.load(get(page, "Protocol", tmp_path)).attributes == ("sex",)
        assert barriers(page) == []
        assert heard["errors"] == []


@pytest.mark.long
def test_a_belief_can_be_limited_by_keyboard_and_a_limit_below_the_statistics_is_refused(
    open_studio, visit, table, tmp_path
):
    with open_studio(table) as (address, _):
        page, heard = visit(address)
        choose(page, "obese", ["sex", "town"])
        shows(page, pf.LIP(0.5).words())
        assert page.locator("#beliefs").count() == 0
        page.locator("#notion").focus()
        page.keyboard.type("belief")  # chooses from the list by its first letters
        page.get_by_label("The most that anybody may believe").wait_for()
        page.locator("#status", has_text="each limit is a number between 0 and 1").wait_for()
        page.get_by_label("The most that anybody may believe").focus()
        page.keyboard.type("yes=0.0001")
        page.keyboard.press("Tab")
        page.locator("#status", has_text="obese = yes has a share of").wait_for()
        assert "Old result" in page.inner_text("#main")
        assert barriers(page) == []
        page.fill("#beliefs", "yes=0.6")
        page.keyboard.press("Tab")
        promise = pf.Belief({"yes": 0.6})
        shows(page, promise.words())
        assert "Kept." in page.inner_text("#result")
        assert barriers(page) == []
        protocol = pf.Protocol.load(get(page, "Protocol", tmp_path))
        assert protocol.notion.words() == promise.words()
        assert audit_publicly(protocol)[1].holds
        recipe = get(page, "Recipe", tmp_path)
        page.get_by_text("Or say how much is to be kept").click()
        page.click("#wish")
        page.locator("#status", has_text="another kind than limits on belief").wait_for()
        page.select_option("#notion", "lip")
        shows(page, pf.LIP(0.5).words())
        assert page.locator("#beliefs").count() == 0
        assert heard["errors"] == []
    (tmp_path / "people.csv").write_bytes(table.read_bytes())
    with open_studio("--recipe", recipe) as (address, _):
        page, heard = visit(address)
        page.wait_for_selector("#columns-step")
        page.click("#count")
        shows(page, promise.words())
        assert page.input_value("#notion") == "belief"
        assert page.input_value("#beliefs") == "yes=0.6"
        assert get(page, "Recipe", tmp_path).read_text() == recipe.read_text()
        assert heard["errors"] == []
