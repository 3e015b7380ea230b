"""The steps of the studio: what happens when something on the page is touched. Parse, call, render."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar, cast

from htmltools import HTML
from shiny import reactive, render, req
from starlette.exceptions import HTTPException

from privacyfunnel.promises.belief import Belief
from privacyfunnel.protocols.file import to_text
from privacyfunnel.report.page import bars_part, curves_part
from privacyfunnel.studio import actions as desk
from privacyfunnel.studio import choosing, page
from privacyfunnel.studio import columns as choices
from privacyfunnel.studio.asked import promise_of, sought_of
from privacyfunnel.studio.knowing import knowing_part
from privacyfunnel.studio.more import NO_WISH, More, beliefs_part
from privacyfunnel.studio.visit import Visit
from privacyfunnel.studio.wishing import cuts_on

S = TypeVar("S")
T = TypeVar("T")
GONE = 410
"""HTTP: what was asked for is no longer there."""


def tables(visit: Visit) -> None:
    """1. The table, from the command line or uploaded."""

    @reactive.effect
    async def _start() -> None:
        if visit.table is not None:
            await visit.open(partial(desk.open_table, visit.table, visit.table.name, visit.start))

    @reactive.effect
    async def _read_again() -> None:
        await visit.open_again()

    @reactive.effect
    @reactive.event(visit.input.file)
    async def _uploaded() -> None:
        given = visit.input.file()
        if given:
            path, name = Path(given[0]["datapath"]), given[0]["name"]
            taken = await visit.attempt("table", lambda: desk.take_upload(path, name, Path(mkdtemp(dir=visit.folder))))
            if taken is None:
                visit.no_table()
            else:
                await visit.open(partial(desk.open_table, taken, name))

    @reactive.effect
    @reactive.event(visit.input.too_large)
    def _too_large() -> None:
        visit.no_table()
        visit.say("table", f"the file is larger than {visit.most_bytes / 2**20:g} MiB; start with --upload-limit")

    @render.ui
    def opened() -> Any:
        words, now = visit.troubles.get().get("table"), visit.opened.get()
        return page.trouble(words) if words else (page.opened_part(now) if now else None)


def columns(visit: Visit) -> None:
    """2. The secret and the columns to release."""

    @render.ui
    def columns() -> Any:
        now = visit.opened.get()
        return choices.columns_step(now) if now else None

    @reactive.effect
    @reactive.event(visit.input.count)
    async def _count() -> None:
        now = _there(visit.opened.get())
        secret, second = visit.input.secret(), visit.input.second() if "second" in visit.input else ""
        second = "" if second == secret else second
        chosen = [name for name in visit.input.attributes() if name not in (secret, second)]
        cuts, said = cuts_on(visit.input, now.columns), visit.said("columns")
        visit.forget()
        if not secret or not chosen:
            visit.say("columns", "choose one secret and at least one other column to release")
            return
        found = await visit.attempt("columns", partial(desk.count, now, secret, chosen, cuts, second, said))
        visit.counted.set(found)

    @render.ui
    def counted() -> Any:
        words, now = visit.troubles.get().get("columns"), visit.counted.get()
        return page.trouble(words) if words else (choices.counted_part(now) if now else None)


def promises(visit: Visit) -> None:
    """3. The promise, or what is to be kept."""

    @render.ui
    def promise() -> Any:
        now = visit.counted.get()
        if now is None:
            return None
        joint = now.exact.joint
        return choosing.promise_step(
            visit.started(), joint.attributes, "".join(joint.secret_names[1:]), visit.time_limit
        )

    @render.ui
    def attackers() -> Any:
        kind = next((kind for kind in choosing.kinds() if kind.name == visit.input.notion()), None)
        return choosing.attackers_part(visit.started()) if kind is not None and "known" in kind.parameters() else None

    @render.ui
    def limits_on_belief() -> Any:
        return beliefs_part(visit.started()) if visit.input.notion() == Belief.name else None

    @render.ui
    def chance() -> Any:
        return choosing.chance_part(visit.started()) if visit.input.people() else None

    @render.ui
    def threshold() -> Any:
        return choosing.threshold_part(visit.input.notion(), visit.input.people())

    @reactive.effect
    def _curves() -> None:
        visit.first_kind = visit.input.notion()
        now, protection = visit.counted.get(), visit.protection()
        if now is not None and protection is not None and len(now.exact.joint.secret_names) == 1:
            visit.follow_curves(now, visit.objective(), protection)

    @render.ui
    def share() -> Any:
        return choosing.share_part(visit.objective())

    @reactive.effect
    def _chosen() -> None:
        now, opened = visit.counted.get(), visit.opened.get()
        if now is None or opened is None:
            return
        more, objective, protection = visit.more(now), visit.objective(), visit.protection()
        spec = visit.asked(more, now.exact.joint.secret_names[0])
        if spec is None or protection is None:
            visit.refuse()
            return
        promise = promise_of(spec)
        choice = promise, objective, protection, more.exact, more.others
        if choice == visit.promised:
            return
        visit.promised = choice
        visit.say("promise", None)
        if visit.promised in visit.known:
            visit.drop_search()
            visit.show(visit.known[visit.promised])
        else:
            task = partial(desk.solve, now, opened, promise, visit.time_limit, more=more, spec=spec)
            visit.begin_search(task, objective, protection)

    @reactive.effect
    @reactive.event(visit.input.wish)
    def _wish() -> None:
        now, opened = _there(visit.counted.get()), _there(visit.opened.get())
        keep = visit.input.keep()
        if not isinstance(keep, int | float):
            visit.say("promise", "say which share is to be kept, in per cent")
            return
        if visit.more(now) != More():
            visit.say("promise", NO_WISH)
            return
        if visit.input.people():
            visit.say("promise", "the smallest ε is found for the people in the table only; choose them, or an ε")
            return
        spec = visit.asked(More(), now.exact.joint.secret_names[0], keep / 100)
        if spec is not None:
            task = partial(desk.grant, now, opened, sought_of(spec), keep / 100, visit.time_limit, spec=spec)
            visit.begin_search(task, visit.objective(), _there(visit.protection()))


def searches(visit: Visit) -> None:
    """What is searched for, how far it is, and how to stop it."""

    @reactive.effect
    def _watch() -> None:
        work = visit.search.get()
        if work is None:
            return
        if work.running:
            visit.watching.add("search")
            visit.tick.get()
            visit.tell(work)
            return
        visit.watching.discard("search")
        visit.notice.set(None)
        if work.result is None:
            visit.ended_without(work.trouble)
            return
        visit.say("promise", None)
        visit.show(work.result)

    @reactive.effect
    @reactive.event(visit.input.cancel)
    def _cancel() -> None:
        work = visit.running()
        if work is not None and work.stopped:
            work.leave()
        elif work is not None:
            work.stop()

    @render.ui
    def status() -> Any:
        words, notice = visit.troubles.get().get("promise"), visit.notice.get()
        if notice is not None:
            return page.progress_part(notice.doing, notice.words, notice.stopping)
        return page.trouble(words) if words else None


def results(visit: Visit) -> None:
    """4. What it means."""

    @render.ui
    def old() -> Any:
        return page.old_part(visit.notice.get() is not None) if visit.old.get() and visit.solved.get() else None

    @render.ui
    def result() -> Any:
        now = visit.solved.get()
        return page.result_part(now) if now else None

    @render.ui
    async def bars() -> Any:
        return HTML(await asyncio.to_thread(bars_part, _there(visit.solved.get()).account))

    @render.ui
    async def kept() -> Any:
        return HTML(await asyncio.to_thread(page.kept_part, _there(visit.solved.get()).account))

    @render.ui
    async def knowing() -> Any:
        return HTML(await asyncio.to_thread(knowing_part, _there(visit.solved.get()).account))

    @render.ui
    async def risk() -> Any:
        return HTML(await asyncio.to_thread(page.risk_part, _there(visit.solved.get()).account))

    @render.ui
    async def curve() -> Any:
        compared, now = visit.compared.get(), visit.solved.get()
        if not compared.curves or now is None or now.more != More():  # they are of one promise with one ε
            return None
        shown = compared.with_first(visit.input.notion())
        return HTML(await asyncio.to_thread(curves_part, now.account, shown))


def files(visit: Visit) -> None:
    """5. The files."""

    @render.ui
    def downloads() -> Any:
        now, opened = visit.solved.get(), visit.opened.get()
        if visit.old.get():
            return page.nothing_to_take() if now else None
        return page.downloads_part(now, opened) if now and opened else None

    def here() -> tuple[desk.Solved, desk.Opened]:
        """What there is to take; an old link is refused before anything of it is sent."""
        with reactive.isolate():
            solved, opened, old = visit.solved.get(), visit.opened.get(), visit.old.get()
        if old or solved is None or opened is None:
            raise HTTPException(GONE, "This result is old.")
        return solved, opened

    @render.download_button(filename="released.csv")
    def get_released() -> Any:
        return _when_done(lambda found: desk.release(*found, visit.folder).read_bytes(), here())

    @render.download_button(filename="protocol.json")
    def get_protocol() -> Any:
        return iter([to_text(here()[0].account.protocol)])

    @render.download_button(filename="recipe.toml")
    def get_recipe() -> Any:
        with reactive.isolate():
            counts = _there(visit.counted.get())
        return iter([desk.recipe_of(*here(), counts, visit.time_limit, visit.named())])

    @render.download_button(filename="certificate.json")
    def get_certificate() -> Any:
        return iter([here()[0].account.as_json()])

    @render.download_button(filename="report.html")
    def get_report() -> Any:
        with reactive.isolate():
            compared = visit.compared.get().with_first(visit.first_kind)
        found = here()
        known = compared if compared.curves and found[0].more == More() else None
        return _when_done(lambda found: desk.report_text(*found, known, public=False), found)

    @render.download_button(filename="privacy-statement.html")
    def get_public() -> Any:
        return _when_done(lambda found: desk.report_text(*found, None, public=True), here())


async def _when_done(call: Callable[[S], T], given: S) -> AsyncIterator[T]:
    """What a call gives that takes a while, in a thread."""
    yield await asyncio.to_thread(call, given)


def _there(value: T | None) -> T:
    """The value, or a silent end of what is being done where there is none."""
    req(value is not None)
    return cast(T, value)
