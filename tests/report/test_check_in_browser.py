"""The button on a public page: a real browser checks the proof, served and from disk, as check.py does."""

import io
import json
import threading
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import checked_files as files
import forged_files
import privacyfunnel as pf
from pages import barriers, chromium, listen, too_wide
from privacyfunnel.protocols.file import to_text
from privacyfunnel.publishing import check
from privacyfunnel.report.account import account
from privacyfunnel.report.checking import script
from privacyfunnel.report.page import report_page

pytestmark = pytest.mark.long

COUNTS = np.array([[[900, 300, 40], [200, 400, 10]], [[100, 600, 30], [300, 50, 250]]])
FILES = 200
"""Random files that the page and check.py both judge."""


@pytest.fixture(scope="module")
def chrome():
    with chromium("axe_playwright_python") as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A page with its protocol beside it, and a forged protocol elsewhere."""
    made = tmp_path_factory.mktemp("page")
    protocol = pf.optimise(files.noise_joint(COUNTS, ["sex", "town"]), pf.LIP(0.4))
    (made / "report.html").write_text(report_page(account(protocol)), encoding="utf-8")
    (made / "protocol.json").write_text(to_text(protocol), encoding="utf-8")
    content = json.loads(to_text(protocol))
    n = len(content["chain"][0]["values"])
    content["chain"][0].update(outputs=n, labels=list(range(n)), channel=[[x, 2**32] for x in range(n)], draw=None)
    content["chain"][0]["marginal"] = [2**32 - n + 1, *[1] * (n - 1)]
    (made / "forged").mkdir()
    (made / "forged" / "report.html").write_text(report_page(account(protocol)), encoding="utf-8")
    (made / "forged" / "protocol.json").write_text(files.sealed(content), encoding="utf-8")
    return made


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    """The address of a folder on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def pressed(page):
    """What the page says once the button was pressed, and has an answer."""
    page.get_by_role("button", name="Check the proof now").click()
    return answer(page)


def answer(page):
    page.locator("[data-protocol] button:enabled").wait_for()
    return page.locator("[data-protocol] [role=status]").inner_text()


def test_a_served_page_proves_its_protocol_at_the_push_of_a_button(chrome, folder):
    with served(folder) as address:
        page = chrome.new_page()
        heard = listen(page)
        page.goto(f"{address}/report.html")
        said = pressed(page)
        assert said.startswith("Kept.")
        assert "belief rises" in said
        assert "belief falls" in said
        assert "holds" in said
        level = float(page.locator("[data-protocol] tbody tr:nth-child(2) td").first.inner_text())
        assert 0.39 < level <= 0.4
        page.locator("[data-protocol] summary").first.click()
        assert "≤ e^0.4 ·" in page.locator("[data-protocol] code").first.inner_text()
        assert {url.split("?")[0] for url in heard["asked"] if not url.startswith("data:")} == {
            f"{address}/report.html",
            f"{address}/protocol.json",
        }
        assert heard["errors"] == []
        assert too_wide(page) <= 0
        assert barriers(page) == []
        page.close()


def test_a_forged_protocol_beside_the_page_is_found_out(chrome, folder):
    with served(folder / "forged") as address:
        page = chrome.new_page()
        page.goto(f"{address}/report.html")
        said = pressed(page)
        assert said.startswith("Another file.")
        assert "BROKEN, a row tells more than is promised" in said
        assert "does not hold" in said
        page.close()


def test_a_page_about_a_broken_protocol_says_so(chrome, folder):
    with served(folder / "forged") as address:
        page = chrome.new_page()
        page.goto(f"{address}/report.html")
        content = json.loads((folder / "forged" / "protocol.json").read_text(encoding="utf-8"))
        page.evaluate(
            "digest => { document.querySelector('[data-protocol]').dataset.digest = digest; }", content["digest"]
        )
        assert pressed(page).startswith("Broken.")
        page.close()


def test_a_page_on_disk_asks_for_the_file(chrome, folder):
    page = chrome.new_page()
    heard = listen(page)
    page.goto((folder / "report.html").as_uri())
    chooser = page.locator("[data-protocol] input[type=file]")
    assert not chooser.is_visible()
    assert "Choose protocol.json" in pressed(page)
    assert chooser.is_visible()
    chooser.set_input_files(folder / "protocol.json")
    page.locator("[data-protocol] .verdict").wait_for()
    assert answer(page).startswith("Kept.")
    chooser.set_input_files(folder / "forged" / "protocol.json")
    page.get_by_text("Another file.").wait_for()
    assert "BROKEN" in answer(page)
    assert heard["errors"] == []
    assert barriers(page) == []
    page.close()


def test_without_the_protocol_beside_it_a_served_page_asks_for_it(chrome, folder, tmp_path):
    (tmp_path / "report.html").write_bytes((folder / "report.html").read_bytes())
    with served(tmp_path) as address:
        page = chrome.new_page()
        page.goto(f"{address}/report.html")
        assert "Choose protocol.json" in pressed(page)
        page.close()


def test_no_other_script_runs_on_the_page(chrome, folder, tmp_path):
    text = (folder / "report.html").read_text(encoding="utf-8")
    (tmp_path / "report.html").write_text(text.replace("</body>", "<script>document.title = 'other'</script></body>"))
    page = chrome.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    assert page.title() != "other"
    page.close()


def spoken(text, folder):
    """The verdict and the levels of check.py."""
    (folder / "one.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        check.main([str(folder / "one.json")])
    lines = out.getvalue().splitlines()
    levels = [line.rpartition(" of ")[0].rpartition(" ")[2] for line in lines if line.startswith("level")]
    return lines[0].split(":")[0].split(",")[0], [one.replace("inf", "infinite") for one in levels]


def test_the_page_and_check_py_have_one_verdict_and_one_level_on_random_files(chrome, tmp_path):
    texts, seed = [], 0
    while len(texts) < FILES:
        rng, seed = np.random.default_rng(seed), seed + 1
        protocol = files.random_protocol(rng)
        if protocol is None:
            continue
        text = files.random_follow_up(rng, protocol) if seed % 5 == 0 else to_text(protocol)
        if text is not None:
            texts.append(files.forged(rng, text))
    page = chrome.new_page()
    page.goto("about:blank")
    page.add_script_tag(content=script())
    judge = "texts => texts.map(checkProtocol).map(({verdict, rows}) => [verdict, rows.map(row => row.level)])"
    found = page.evaluate(judge, texts)
    own = [list(spoken(text, tmp_path)) for text in texts]
    assert found == own
    verdicts = [verdict for verdict, _ in own]
    assert min(verdicts.count("KEPT"), verdicts.count("BROKEN")) > FILES / 8
    page.close()


@pytest.mark.parametrize("kind", forged_files.FORGERIES)
def test_the_page_and_check_py_have_one_verdict_on_forged_files(chrome, tmp_path, kind):
    found = dict([*forged_files.forged(kind), *forged_files.told_beside(kind)])
    page = chrome.new_page()
    page.goto("about:blank")
    page.add_script_tag(content=script())
    verdicts = page.evaluate("texts => texts.map((text) => checkProtocol(text).verdict)", [*found.values()])
    own = [spoken(text, tmp_path)[0] for text in found.values()]
    assert [name for name, mine, its in zip(found, own, verdicts, strict=True) if mine != its] == []
    page.close()


def test_the_page_refuses_what_is_no_strict_json(chrome, folder):
    good = (folder / "protocol.json").read_text(encoding="utf-8")
    page = chrome.new_page()
    page.goto("about:blank")
    page.add_script_tag(content=script())
    ways = [good + "\n", good[:-3], good.replace(": ", ":", 1), good.replace('"how"', '"fitted"'), "", "[]", "{}"]
    ways += [
        "[" * 10**5,
        good.replace("0.4}", "0.40}"),
        good.replace("0.4}", "4e-1}"),
        good.replace("[0, 0]", "[00, 0]"),
    ]
    assert good not in ways
    verdicts = page.evaluate("texts => texts.map((text) => checkProtocol(text).verdict)", [good, *ways])
    assert verdicts[0] == "KEPT"
    assert set(verdicts[1:]) <= {"BROKEN", "UNREADABLE"}
    page.close()
