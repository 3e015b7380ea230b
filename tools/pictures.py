"""The pictures of the documentation, taken in a real browser: `make pictures`.

The people in them do not exist (privacyfunnel.population); the released rows are drawn anew each time.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from privacyfunnel.population import as_csv, people

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
FUNNEL = [sys.executable, "-c", "from privacyfunnel.cli.main import main; main()"]
COLUMNS = ("sex", "town", "height", "weight")
DESK, PHONE = {"width": 900, "height": 760}, {"width": 380, "height": 760}
PATIENCE = 180_000


def main() -> None:
    """Take all pictures."""
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(exist_ok=True)
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        sys.exit("make pictures needs Chromium")
    with TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        (folder / "people.csv").write_text(as_csv(people(20_000, seed=1)), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        with _studio(folder) as address:
            _visit(browser, address, folder)
        _report(browser, folder)
        browser.close()


@contextmanager
def _studio(folder: Path) -> Iterator[str]:
    command = [*FUNNEL, "studio", "--no-browser", "--json", "--folder", str(folder), str(folder / "people.csv")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own command
    assert process.stdout is not None  # noqa: S101 - it was asked for
    try:
        yield json.loads(process.stdout.readline())["address"]
    finally:
        process.terminate()
        process.wait(60)


def _visit(browser: Any, address: str, folder: Path) -> None:
    """Every step of the studio, on a desk and, in the dark, on a phone."""
    context = browser.new_context(viewport=DESK)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.wait_for_selector("#columns-step")
    page.screenshot(path=PICTURES / "studio-columns.png")
    _solve(page)
    page.wait_for_function("() => document.querySelectorAll('#curve tbody tr').length >= 18")
    page.locator("#promise-step").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('#promise-step').scrollIntoView()")
    page.screenshot(path=PICTURES / "studio-promise.png")
    page.evaluate("document.querySelector('#result-step').scrollIntoView()")
    page.screenshot(path=PICTURES / "studio-result.png")
    page.get_by_text("What an attacker gains").first.click()
    page.wait_for_selector("#risk figure")
    page.evaluate("document.querySelector('#download-step').scrollIntoView()")
    page.screenshot(path=PICTURES / "studio-download.png")
    with page.expect_download() as coming:
        page.get_by_role("link", name="Protocol", exact=True).click()
    coming.value.save_as(folder / "protocol.json")
    phone = context.new_page()
    phone.set_viewport_size(PHONE)
    phone.emulate_media(color_scheme="dark")
    phone.set_default_timeout(PATIENCE)
    phone.goto(address.split("?")[0])
    _solve(phone)
    phone.evaluate("document.querySelector('#result-step').scrollIntoView()")
    phone.screenshot(path=PICTURES / "studio-phone.png")
    context.close()


def _solve(page: Any) -> None:
    page.wait_for_selector("#columns-step")
    for box in page.get_by_role("checkbox").all():
        box.set_checked(box.get_attribute("value") in COLUMNS)
    page.click("#count")
    page.wait_for_selector("#promise-step")
    page.fill("#epsilon", "0.2")
    page.dispatch_event("#epsilon", "change")
    page.wait_for_function("() => document.querySelector('#result')?.innerText.includes('1.23')")


def _report(browser: Any, folder: Path) -> None:
    arguments = ["report", str(folder / "protocol.json"), "--table", str(folder / "people.csv"), "--time-limit", "10"]
    subprocess.run([*FUNNEL, *arguments, "-o", str(folder / "report.html")], check=True)  # noqa: S603 - our own command
    page = browser.new_page(viewport=DESK)
    page.goto((folder / "report.html").as_uri())
    page.screenshot(path=PICTURES / "report.png")
    page.locator("#attack").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('#attack').scrollIntoView()")
    page.screenshot(path=PICTURES / "report-attack.png")
    page.close()


if __name__ == "__main__":
    main()
