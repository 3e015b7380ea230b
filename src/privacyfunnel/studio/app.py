"""The app: what happens when something on the page is touched. Parse, call, render; nothing is computed here."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar, cast

from htmltools import HTML
from shiny import App, Inputs, Outputs, Session, reactive, render, req, ui

from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.promise import Notion
from privacyfunnel.protocol_file import to_text
from privacyfunnel.report.charts import tradeoff_chart
from privacyfunnel.report.curves import Comparison
from privacyfunnel.report.html import figure
from privacyfunnel.report.page import kept_part
from privacyfunnel.studio import desk, page
from privacyfunnel.studio.work import Work
from privacyfunnel.tables.counting import Counted

T = TypeVar("T")
POLL_SECONDS = 0.2
ASSETS = Path(__file__).parent


def studio_app(table: Path | None, folder: Path, most_bytes: int, time_limit: float | None) -> App:
    """The studio, with a table already open if there is one; files lie in `folder`."""
    assets = {
        "/assets/page.css": ASSETS.parent / "report" / "page.css",
        "/assets/studio.css": ASSETS / "studio.css",
        "/assets/studio.js": ASSETS / "studio.js",
    }

    def server(input: Inputs, output: Outputs, session: Session) -> None:  # noqa: A002 - Shiny's name
        _Visit(input, session, table, Path(mkdtemp(dir=folder)), most_bytes, time_limit).begin()

    app = App(page.whole_page(most_bytes), server, static_assets=assets)
    app.sanitize_errors = True  # what goes wrong unforeseen may quote data
    return app


def page_of(app: App) -> str:
    """The text of the page as it is served."""
    return str(app.ui["html"]) if isinstance(app.ui, dict) else ""


class _Visit:
    """One tab: its own table, its own choices, its own searches."""

    def __init__(
        self,
        given: Inputs,
        session: Session,
        table: Path | None,
        folder: Path,
        most_bytes: int,
        time_limit: float | None,
    ) -> None:
        self.input, self.session, self.folder = given, session, folder
        self.table, self.most_bytes, self.time_limit = table, most_bytes, time_limit
        self.opened: reactive.Value[desk.Opened | None] = reactive.Value(None)
        self.counted: reactive.Value[Counted | None] = reactive.Value(None)
        self.solved: reactive.Value[desk.Solved | None] = reactive.Value(None)
        self.compared: reactive.Value[Comparison] = reactive.Value(Comparison((), {}))
        self.troubles: reactive.Value[dict[str, str]] = reactive.Value({})
        self.search: reactive.Value[Work[desk.Solved] | None] = reactive.Value(None)
        self.told: reactive.Value[tuple[str, bool] | None] = reactive.Value(None)
        self.tick: reactive.Value[int] = reactive.Value(0)
        self.watching: set[str] = set()
        """What is to be looked at at every tick: a search, curves."""
        self.ended = False
        self.known: dict[Notion, desk.Solved] = {}
        self.curves: Work[None] | None = None
        self.promised: Notion | None = None

    def begin(self) -> None:
        """Connect everything."""
        self.session.on_ended(self.end)
        self._tables()
        self._columns()
        self._promises()
        self._searches()
        self._results()
        self._files()
        self.clock = asyncio.create_task(self._ticks())

    async def _ticks(self) -> None:
        """Let the page look at what runs in other threads."""
        beats = 0
        while not self.ended:
            await asyncio.sleep(POLL_SECONDS)
            if self.watching:
                beats += 1
                async with reactive.lock():
                    self.tick.set(beats)
                    await reactive.flush()

    def end(self) -> None:
        """The tab was closed: stop what runs, and delete its files."""
        self.ended = True
        self._stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _stop(self) -> None:
        for work in (self._running(), self.curves):
            if work is not None:
                work.stop()

    def _running(self) -> Work[desk.Solved] | None:
        with reactive.isolate():
            return self.search.get()

    def _say(self, step: str, words: str | None) -> None:
        """Remember what went wrong at a step, or that nothing does any more."""
        with reactive.isolate():
            rest = {key: value for key, value in self.troubles.get().items() if key != step}
        self.troubles.set(rest | ({step: words} if words else {}))

    async def _try(self, step: str, call: Callable[[], Any]) -> Any:
        """Run what may take a while in a thread; None, and words for the page, if it fails."""
        try:
            result = await asyncio.to_thread(call)
        except PrivacyFunnelError as trouble:
            self._say(step, str(trouble))
            return None
        self._say(step, None)
        return result

    # --- 1. the table ------------------------------------------------------------------------------

    def _tables(self) -> None:
        @reactive.effect
        async def _start() -> None:
            if self.table is not None:
                await self._open(partial(desk.open_table, self.table, self.table.name))

        @reactive.effect
        @reactive.event(self.input.file)
        async def _uploaded() -> None:
            given = self.input.file()
            if given:
                path, name = Path(given[0]["datapath"]), given[0]["name"]
                await self._open(
                    lambda: desk.open_table(desk.take_upload(path, name, Path(mkdtemp(dir=self.folder))), name)
                )

        @reactive.effect
        @reactive.event(self.input.too_large)
        def _too_large() -> None:
            self.opened.set(None)
            self._say("table", f"the file is larger than {self.most_bytes / 2**20:g} MiB; start with --upload-limit")

        @render.ui
        def opened() -> Any:
            words, now = self.troubles.get().get("table"), self.opened.get()
            return page.trouble(words) if words else (page.opened_part(now) if now else None)

    async def _open(self, call: Callable[[], desk.Opened]) -> None:
        self._forget()
        self.opened.set(None)
        self.opened.set(await self._try("table", call))

    def _forget(self) -> None:
        """A new table or other columns: nothing of the old ones stays."""
        self._stop()
        self.known.clear()
        self.promised = None
        self.counted.set(None)
        self.solved.set(None)
        self.search.set(None)
        self.told.set(None)
        self.compared.set(Comparison((), {}))

    # --- 2. the columns ----------------------------------------------------------------------------

    def _columns(self) -> None:
        @render.ui
        def columns() -> Any:
            now = self.opened.get()
            return page.columns_part(now) if now else None

        @reactive.effect
        @reactive.event(self.input.count)
        async def _count() -> None:
            now = _there(self.opened.get())
            secret, chosen = self.input.secret(), [n for n in self.input.attributes() if n != self.input.secret()]
            self._forget()
            if not secret or not chosen:
                self._say("columns", "choose one secret and at least one other column to release")
                return
            found = await self._try("columns", partial(desk.count, now, secret, chosen))
            self.counted.set(found)
            if found is not None:
                self._follow_curves(found)

        @render.ui
        def counted() -> Any:
            words, now = self.troubles.get().get("columns"), self.counted.get()
            return page.trouble(words) if words else (page.counted_part(now) if now else None)

    # --- 3. the promise ----------------------------------------------------------------------------

    def _promises(self) -> None:
        @render.ui
        def promise() -> Any:
            return page.promise_step() if self.counted.get() else None

        @render.ui
        def attackers() -> Any:
            kind = next((kind for kind in page.kinds() if kind.name == self.input.notion()), None)
            return page.attackers_part() if kind is not None and "known" in kind.parameters() else None

        @reactive.effect
        def _chosen() -> None:
            now, opened = self.counted.get(), self.opened.get()
            if now is None or opened is None:
                return
            promise = self._promise(self.input.epsilon())
            if promise is None or promise == self.promised:
                return
            self.promised = promise
            if promise in self.known:
                self._show(self.known[promise])
            else:
                self._start_search(partial(desk.solve, now, opened, promise, self.time_limit))

        @reactive.effect
        @reactive.event(self.input.wish)
        def _wish() -> None:
            now, opened = _there(self.counted.get()), _there(self.opened.get())
            keep = self.input.keep()
            if not isinstance(keep, int | float):
                self._say("promise", "say which share is to be kept, in per cent")
                return
            make = partial(desk.notion_of, self.input.notion(), known=self._attackers())
            self._start_search(partial(desk.grant, now, opened, make, keep / 100, self.time_limit))

    def _promise(self, epsilon: Any) -> Notion | None:
        try:
            promise = desk.notion_of(self.input.notion(), epsilon, self._attackers())
        except PrivacyFunnelError as trouble:
            self._say("promise", str(trouble))
            return None
        self._say("promise", None)
        return promise

    def _attackers(self) -> str:
        return str(self.input.known()) if "known" in self.input else "any"

    # --- searches ----------------------------------------------------------------------------------

    def _start_search(self, task: Callable[[Callable[..., None]], desk.Solved]) -> None:
        old = self._running()
        if old is not None:
            old.stop()
        self.told.set(("", False))
        self.search.set(Work(task))

    def _searches(self) -> None:
        @reactive.effect
        def _watch() -> None:
            work = self.search.get()
            if work is None:
                return
            if work.running:
                self.watching.add("search")
                self.tick.get()
                self._tell(work)
                return
            self.watching.discard("search")
            self.told.set(None)
            self._say("promise", work.trouble)
            if work.result is not None:
                self._show(work.result)

        @reactive.effect
        @reactive.event(self.input.cancel)
        def _cancel() -> None:
            work = self._running()
            if work is not None:
                work.stop()

        @render.ui
        def status() -> Any:
            words, told = self.troubles.get().get("promise"), self.told.get()
            if told is not None:
                return page.progress_part(*told)
            return page.trouble(words) if words else None

    def _tell(self, work: Work[desk.Solved]) -> None:
        with reactive.isolate():
            counted, now = self.counted.get(), work.progress
        words = ""
        if now is not None and counted is not None and counted.joint.entropy > 0:
            most = counted.joint.entropy
            words = page.progress_words(now.utility / most, min(1.0, now.upper_bound / most), now.seconds)
        self.told.set((words, work.stopped))

    def _show(self, solved: desk.Solved) -> None:
        promise = solved.account.protocol.notion
        self.known[promise] = solved
        self.solved.set(solved)
        if solved.wish is not None and self.promised != promise:
            self.promised = promise
            ui.update_numeric("epsilon", value=solved.wish.epsilon, session=self.session)

    def _follow_curves(self, counted: Counted) -> None:
        """Curves of all kinds of promise, one after the other, while nothing else is searched for."""
        found: list[Comparison] = [Comparison((), {})]

        def task(follow: Callable[..., None]) -> None:
            while self.curves is None or not self.curves.stopped:
                while _busy(searching):
                    time.sleep(POLL_SECONDS)
                more = desk.next_curve(counted.joint, found[-1], follow)
                if more is None:
                    return
                found.append(more)

        searching: list[Work[desk.Solved] | None] = [None]
        self.curves = work = Work(task)

        @reactive.effect
        def _watch() -> None:
            searching[0] = self.search.get()
            if self.curves is not work:
                return
            if work.running:
                self.watching.add("curves")
                self.tick.get()
            else:
                self.watching.discard("curves")
            self.compared.set(found[-1])

    # --- 4. the result -----------------------------------------------------------------------------

    def _results(self) -> None:
        @render.ui
        def result() -> Any:
            now = self.solved.get()
            return page.result_part(now) if now else None

        @render.ui
        async def kept() -> Any:
            return HTML(await asyncio.to_thread(kept_part, _there(self.solved.get()).account))

        @render.ui
        async def risk() -> Any:
            return HTML(await asyncio.to_thread(page.risk_part, _there(self.solved.get()).account))

        @render.ui
        async def curve() -> Any:
            compared, now = self.compared.get(), self.solved.get()
            if not compared.curves or now is None:
                return None
            epsilon = now.account.protocol.notion.epsilon
            chosen = (epsilon, now.account.kept_share) if epsilon > 0 else None
            return HTML(figure(await asyncio.to_thread(tradeoff_chart, compared.curves, chosen)))

    # --- 5. the files ------------------------------------------------------------------------------

    def _files(self) -> None:
        @render.ui
        def downloads() -> Any:
            now, opened = self.solved.get(), self.opened.get()
            return page.downloads_part(now, opened) if now and opened else None

        def here() -> tuple[desk.Solved, desk.Opened]:
            with reactive.isolate():
                return _there(self.solved.get()), _there(self.opened.get())

        @render.download_button(filename="released.csv")
        async def get_released() -> Any:
            yield (await asyncio.to_thread(desk.release, *here(), self.folder)).read_bytes()

        @render.download_button(filename="protocol.json")
        def get_protocol() -> Iterator[str]:
            yield to_text(here()[0].account.protocol)

        @render.download_button(filename="certificate.json")
        def get_certificate() -> Iterator[str]:
            yield here()[0].account.as_json()

        @render.download_button(filename="report.html")
        async def get_report() -> Any:
            with reactive.isolate():
                compared = self.compared.get()
            known = compared if compared.curves else None
            yield await asyncio.to_thread(desk.report_text, *here(), known, public=False)

        @render.download_button(filename="privacy-statement.html")
        async def get_public() -> Any:
            yield await asyncio.to_thread(desk.report_text, *here(), None, public=True)


def _there(value: T | None) -> T:
    """The value, or a silent end of what is being done where there is none."""
    req(value is not None)
    return cast(T, value)


def _busy(searching: list[Work[desk.Solved] | None]) -> bool:
    return searching[0] is not None and searching[0].running
