"""The app: a page, and a visit of its own for every tab."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

from shiny import App, Inputs, Outputs, Session

from privacyfunnel.studio import page, steps
from privacyfunnel.studio.reopening import Start
from privacyfunnel.studio.visit import Visit

ASSETS = Path(__file__).parent


def studio_app(
    table: Path | None, folder: Path, most_bytes: int, time_limit: float | None, start: Start | None = None
) -> App:
    """The studio, with a table already open if there is one, and what a recipe chooses; files lie in `folder`."""
    assets = {
        "/assets/page.css": ASSETS.parent / "report" / "page.css",
        "/assets/studio.css": ASSETS / "studio.css",
        "/assets/studio.js": ASSETS / "studio.js",
    }

    def server(input: Inputs, output: Outputs, session: Session) -> None:  # noqa: A002 - Shiny's name
        visit = Visit(input, session, table, Path(mkdtemp(dir=folder)), most_bytes, time_limit, start)
        for step in (steps.tables, steps.columns, steps.promises, steps.searches, steps.results, steps.files):
            step(visit)
        visit.begin()

    app = App(page.whole_page(most_bytes, start.others if start is not None else {}), server, static_assets=assets)
    app.sanitize_errors = True  # what goes wrong unforeseen may quote data
    return app


def page_of(app: App) -> str:
    """The text of the page as it is served."""
    return str(app.ui["html"]) if isinstance(app.ui, dict) else ""
