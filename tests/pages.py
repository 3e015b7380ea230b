"""A real browser for tests, and what every page of ours must keep to."""

import atexit
import importlib.util
import os
import shutil
from contextlib import contextmanager
from functools import cache

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
CONTRAST_AND_MORE = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


def required(*modules):
    """The path of a browser; where something is missing, the test is skipped, or fails where all must be there."""
    missing = [name for name in ("playwright", *modules) if importlib.util.find_spec(name) is None]
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        missing.append("Chromium")
    if missing:
        reason = f"needs {', '.join(missing)}, which is not installed"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return path


@contextmanager
def chromium(*modules):
    """A browser without a window."""
    path = required(*modules)
    browser = _playwright().chromium.launch(executable_path=path, args=["--no-sandbox"])
    try:
        yield browser
    finally:
        browser.close()


@cache
def _playwright():
    """Started once in a process: a second one beside it is refused, and several rooms may have a browser at once."""
    from playwright.sync_api import sync_playwright

    started = sync_playwright().start()
    atexit.register(started.stop)
    return started


def listen(page):
    """The list of what the page complains of and of what it asks for, filled while it is used."""
    heard = {"errors": [], "asked": []}
    page.on("console", lambda message: message.type in ("error", "warning") and heard["errors"].append(message.text))
    page.on("pageerror", lambda error: heard["errors"].append(str(error)))
    page.on("request", lambda request: heard["asked"].append(request.url))
    return heard


def barriers(page):
    """What axe-core finds that keeps people out, as short lines."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"runOnly": CONTRAST_AND_MORE}).response["violations"]
    return [f"{v['id']}: {node['html'][:120]}" for v in found for node in v["nodes"][:3]]


def too_wide(page):
    """By how many pixels the page is wider than the screen."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
