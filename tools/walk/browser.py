"""The walk in the studio, in a real browser."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.walk.steps import LOOK, PATIENCE, Step, resident
from tools.walk.tables import Walked

NAMES = ("chromium", "chromium-browser", "google-chrome")
SETTLED = 1.5
"""Seconds in which nothing moves and nothing is busy: the page is done."""
DRAWING = 30.0
"""Seconds after which a page that says nothing new, and only draws its curves, is done, too."""
NOTICED = 20.0
"""Seconds after which people click again."""
MOST_CLICKS = 3
SEEN = """() => ({
  text: document.body.innerText,
  busy: [document.documentElement, ...document.querySelectorAll('[aria-busy=true], progress')]
    .filter(part => part.tagName != 'HTML' || part.classList.contains('shiny-busy'))
    .map(part => part.tagName + ' ' + (part.id || part.getAttribute('aria-label') || '')).join(', '),
})"""


@contextmanager
def studio(folder: Path) -> Iterator[tuple[str, int]]:
    """The address of a studio and its process."""
    command = [sys.executable, "-c", "from privacyfunnel.cli.main import main; main()"]
    arguments = ["studio", "--no-browser", "--json", "--folder", str(folder), "--time-limit", "10"]
    process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["address"], process.pid
    finally:
        process.terminate()
        process.wait(60)


def walk(table: Walked, sizes: tuple[int, ...], folder: Path) -> Iterator[Step]:
    """Upload, choose, see the result of the usual promise, then of one against attackers who know columns."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, NAMES)), None)
    plain = folder / f"{table.file}.csv"
    plain.write_bytes(gzip.decompress(table.path.read_bytes()))
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for size in sizes:
            with studio(folder) as (address, pid):  # its address can be opened once
                page = chrome.new_page()
                page.set_default_timeout(PATIENCE * 1000)
                opened = page.goto(address)
                if opened is None or not opened.ok:
                    raise SystemExit(f"make walk: the studio does not open at {address}")
                yield from _visit(page, table, size, plain, pid)
                page.close()
        chrome.close()


def _visit(page: Any, table: Walked, size: int, plain: Path, pid: int) -> Iterator[Step]:
    columns = f"{size} columns" if size else "all columns"

    def step(what: str, part: str) -> Step:
        return _followed(page, Step(table.file, columns, "browser", what), part, pid)

    page.set_input_files("#file", str(plain))
    yield step("upload", "#columns-step")
    page.get_by_role("radio", name=f"{table.secret} is the secret").check()
    for box in page.get_by_role("checkbox").all():
        name = box.get_attribute("value")
        if box.is_enabled() and size:
            box.set_checked(name in table.columns[:size])
    clicks = _clicked(page, "#count")
    first = step("count and first result", "#promise-step, .trouble")
    first.said += [f"clicked {clicks} times until it was noticed"] if clicks > 1 else []
    yield first
    if page.query_selector("#notion") is None:
        return
    page.select_option("#notion", "srlip")
    yield step("choose srlip", "#promise-step")


def _clicked(page: Any, button: str) -> int:
    """Click until something moves, as people do; how often that took. On a page that is still being made, none may."""
    before, clicks = page.evaluate(SEEN), 0
    while clicks < MOST_CLICKS:
        page.click(button)
        clicks += 1
        begun = time.monotonic()
        while time.monotonic() - begun < NOTICED:
            page.wait_for_timeout(LOOK * 1000)
            if page.evaluate(SEEN) != before:
                return clicks
    return clicks


def _followed(page: Any, step: Step, part: str, pid: int) -> Step:
    """Wait until the page shows the part and has settled; how long nothing moved while it had not."""
    begun = moved = told = time.monotonic()
    text = ""
    while True:
        page.wait_for_timeout(LOOK * 1000)
        now = time.monotonic()
        step.mib = max(step.mib, resident(pid))
        seen = page.evaluate(SEEN)
        if seen["text"] != text or seen["busy"]:  # words change, or the line moves that shows that it works
            told = now if seen["text"] != text or "PROGRESS" in seen["busy"] else told
            step.silent, moved, text = max(step.silent, now - moved), now, seen["text"]
        if (now - moved > SETTLED or now - told > DRAWING) and page.query_selector(part):
            break
        if now - begun > PATIENCE:
            step.said += [*_lines(text), f"given up; still busy: {seen['busy'] or 'nothing'}"]
            return step
    step.seconds, step.code = min(moved, told + SETTLED) - begun, 0
    step.said += _lines(text)
    return step


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]
