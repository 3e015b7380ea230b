"""The report in a real browser: offline, silent, for everybody, on every screen and on paper."""

import pytest

import privacyfunnel as pf
from pages import barriers, chromium, listen, too_wide
from privacyfunnel.cli.app import run

pytestmark = pytest.mark.long

MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def chrome():
    with chromium("axe_playwright_python") as browser:
        yield browser


@pytest.fixture(scope="module")
def reports(shared, tmp_path_factory):
    """The report of a real table, and its public page."""
    folder = tmp_path_factory.mktemp("adult")
    table = shared / "data" / "adult.csv.gz"
    if not table.exists():
        pytest.skip("the Adult table is not among the shared data")
    columns = ["education", "occupation", "sex"]
    joint = pf.Joint.from_table(table, "income", columns, private=1.0, at_least=10)
    pf.optimise(joint, pf.LIP(0.5), objective="faithful", time_limit=60).save(folder / "protocol.json")
    protocol = str(folder / "protocol.json")
    full = ["report", protocol, "--table", str(table), "--time-limit", "5", "-o", str(folder / "full.html")]
    assert run(full) == 0
    assert run(["report", protocol, "--public", "-o", str(folder / "public.html")]) == 0
    return folder


def test_the_report_of_a_real_table_is_small(reports):
    assert (reports / "full.html").stat().st_size < MOST_BYTES


@pytest.mark.parametrize("name", ["full.html", "public.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 380])
def test_a_report_opens_offline_without_a_complaint_or_a_barrier(chrome, reports, name, scheme, width):
    context = chrome.new_context(offline=True, color_scheme=scheme, viewport={"width": width, "height": 800})
    page = context.new_page()
    heard = listen(page)
    address = (reports / name).as_uri()
    page.goto(address)
    assert heard["errors"] == []
    assert [url for url in heard["asked"] if url.split("#")[0] != address and not url.startswith("data:")] == []
    assert too_wide(page) <= 0
    assert page.locator("svg:visible").count() > 3
    assert barriers(page) == []
    context.close()


def test_axe_would_find_a_barrier(chrome, reports):
    context = chrome.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto((reports / "public.html").as_uri())
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<main><img src=\"data:,\"></main>')")
    assert any(line.startswith("image-alt") for line in barriers(page))
    context.close()


def test_the_numbers_behind_a_chart_unfold_by_keyboard(chrome, reports):
    page = chrome.new_page()
    page.goto((reports / "full.html").as_uri())
    fold = page.locator("figure details").first
    assert not fold.locator("table").is_visible()
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    assert fold.locator("table").is_visible()
    page.close()


def test_the_report_prints_on_few_pages(chrome, reports):
    page = chrome.new_page(color_scheme="dark")
    page.goto((reports / "full.html").as_uri())
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()") == "#ffffff"
    pdf = page.pdf(format="A4")
    assert 3 <= pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") + pdf.count(b"/Type /Page/") <= 25
    page.close()
