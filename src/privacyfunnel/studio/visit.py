"""Visit: what one tab of the studio has open, has chosen and is searching for."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from shiny import Inputs, Session, reactive, ui

from privacyfunnel.errors import PrivacyFunnelError
from privacyfunnel.promises.notion import Notion
from privacyfunnel.protocols.protocol import Objective
from privacyfunnel.report.curves import Comparison
from privacyfunnel.spec.spec import Spec
from privacyfunnel.studio import actions as desk
from privacyfunnel.studio import others, page
from privacyfunnel.studio.asked import spec_of
from privacyfunnel.studio.more import More, more_on
from privacyfunnel.studio.protecting import Counts, Protection
from privacyfunnel.studio.reopening import Start
from privacyfunnel.studio.work import Work

POLL_SECONDS = 0.2
"""Progress looks steady at this pace, and asking more often would take time from the search."""


Choice = tuple[Notion | None, Objective, Protection, tuple[str, ...], tuple[tuple[str, str], ...]]
"""What is searched for: a promise, what is kept the most of, how the protocol is protected, exact columns, the rest."""
Kind = tuple[Objective, Protection]
"""What curves are of."""


@dataclass(frozen=True)
class Notice:
    """What a search does, in words, and whether it was asked to stop."""

    doing: str
    words: str
    stopping: bool


class Visit:
    """One tab: its own table, its own choices, its own searches."""

    def __init__(
        self,
        given: Inputs,
        session: Session,
        table: Path | None,
        folder: Path,
        most_bytes: int,
        time_limit: float | None,
        start: Start | None = None,
    ) -> None:
        self.input, self.session, self.folder = given, session, folder
        self.table, self.most_bytes, self.time_limit, self.start = table, most_bytes, time_limit, start
        self.opened: reactive.Value[desk.Opened | None] = reactive.Value(None)
        self.counted: reactive.Value[Counts | None] = reactive.Value(None)
        self.solved: reactive.Value[desk.Solved | None] = reactive.Value(None)
        self.compared: reactive.Value[Comparison] = reactive.Value(Comparison((), {}))
        self.troubles: reactive.Value[dict[str, str]] = reactive.Value({})
        self.search: reactive.Value[Work[desk.Solved] | None] = reactive.Value(None)
        self.notice: reactive.Value[Notice | None] = reactive.Value(None)
        self.old: reactive.Value[bool] = reactive.Value(False)
        """Whether what is shown is not for what is chosen: something else is searched for, or was refused."""
        self.tick: reactive.Value[int] = reactive.Value(0)
        self.watching: set[str] = set()
        """What is to be looked at at every tick: a search, curves."""
        self.ended = False
        self.opening: Callable[..., desk.Opened] | None = None
        """How the last table is opened."""
        self.read: dict[str, str] = {}
        """How it was read."""
        self.known: dict[Choice, desk.Solved] = {}
        self.curves: Work[None] | None = None
        self.following: tuple[Counts, Kind] | None = None
        """What the curves are of."""
        self.found: dict[Kind, list[Comparison]] = {}
        """The curves so far, for what readers may get; the last of each holds all before it."""
        self.first_kind = ""
        """The kind of promise that is chosen, whose curve comes first."""
        self.promised: Choice | None = None
        self.sought: Kind | None = None
        """What the last search keeps the most of, and from which counts."""

    def begin(self) -> None:
        """Let the page look at what runs in other threads, until the tab is closed."""
        self.session.on_ended(self.end)
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
        self.leave()
        shutil.rmtree(self.folder, ignore_errors=True)

    def leave(self) -> None:
        """Wait no more for what runs."""
        for work in (self.running(), self.curves):
            if work is not None:
                work.leave()

    def started(self) -> Start | None:
        """What a recipe chose for the table that is open."""
        with reactive.isolate():
            now = self.opened.get()
        return now.start if now is not None else None

    def running(self) -> Work[desk.Solved] | None:
        """The last search that was begun."""
        with reactive.isolate():
            return self.search.get()

    def say(self, step: str, words: str | None) -> None:
        """Remember what went wrong at a step, or that nothing does any more."""
        with reactive.isolate():
            rest = {key: value for key, value in self.troubles.get().items() if key != step}
        self.troubles.set(rest | ({step: words} if words else {}))

    async def attempt(self, step: str, call: Callable[[], Any]) -> Any:
        """Run what may take a while in a thread; None, and words for the page, if it fails."""
        try:
            result = await asyncio.to_thread(call)
        except PrivacyFunnelError as trouble:
            self.say(step, others.with_labels(str(trouble)))
            return None
        except Exception as trouble:  # its message may quote data, so only its kind is told
            self.say(step, f"unforeseen {type(trouble).__name__}; please report it")
            return None
        self.say(step, None)
        return result

    def no_table(self) -> None:
        """What was to be opened cannot be."""
        self.opening = None
        self.opened.set(None)

    async def open(self, call: Callable[..., desk.Opened]) -> None:
        """Open another table, as the controls say that it is read."""
        self.forget()
        self.opened.set(None)
        with reactive.isolate():
            self.read = self.said("table")
        self.opening = call
        self.opened.set(await self.attempt("table", partial(call, said=self.read)))

    async def open_again(self) -> None:
        """The same table, if it is now to be read otherwise."""
        if self.said("table") != self.read and self.opening is not None:
            await self.open(self.opening)

    def forget(self) -> None:
        """A new table or other columns: nothing of the old ones stays."""
        self.leave()
        self.known.clear()
        self.found.clear()
        self.following = None
        self.promised = None
        self.counted.set(None)
        self.solved.set(None)
        self.old.set(False)
        self.search.set(None)
        self.notice.set(None)
        self.compared.set(Comparison((), {}))

    def asked(self, more: More, secret: str, keep: float | None = None) -> Spec | None:
        """What is chosen, or with `keep` what is looked for; None, and words for the page, if it makes no sense."""
        with reactive.isolate():
            now = self.counted.get()
        epsilon = self.input.epsilon() if keep is None else None
        chosen = {
            "notion": self.input.notion(),
            "epsilon": "" if epsilon is None else repr(epsilon),
            "keep": "" if keep is None else repr(keep),
            "known": self.attackers(),
            "private": self.input.private(),
            "confidence": self.input.people(),
            "within": self.input.within() if "within" in self.input else "",
            "objective": self.objective(),
            "time_limit": self.seconds(),
        }
        try:
            return spec_of(secret, chosen, more, now.said if now is not None else {})
        except PrivacyFunnelError as trouble:
            self.say("promise", others.with_labels(str(trouble)))
            return None

    def more(self, counts: Counts) -> More:
        """What is chosen beside a kind of promise and its ε."""
        joint = counts.exact.joint
        return more_on(self.input, joint.secret_names, joint.attributes, self.said("promise"))

    def said(self, step: others.Step) -> dict[str, str]:
        """What the controls of a step say that are made from their fields."""
        start = self.started() if step != "table" else self.start
        return others.chosen(self.input, step, start.others if start is not None else {})

    def named(self) -> dict[str, str]:
        """What their owner calls the files that were uploaded beside the table."""
        with reactive.isolate():
            return others.uploaded(self.input)

    def seconds(self) -> str:
        """How long each search may take, as chosen."""
        typed = self.input.time_limit() if "time_limit" in self.input else self.time_limit
        return "" if typed is None else repr(typed)

    def attackers(self) -> str:
        """How many columns attackers may know, as chosen."""
        return str(self.input.known()) if "known" in self.input else "any"

    def protection(self) -> Protection | None:
        """How the protocol is protected, as chosen; None, and words for the page, if that makes no sense."""
        given = self.input
        try:
            return desk.protection_of(given.private(), given.at_least(), given.notion(), given.people(), given.insist())
        except PrivacyFunnelError as trouble:
            self.say("promise", str(trouble))
            return None

    def objective(self) -> Objective:
        """What readers get, as chosen."""
        chosen = str(self.input.objective()) if "objective" in self.input else ""
        return "information" if chosen == "information" else desk.FIRST_OBJECTIVE

    def begin_search(self, task: Callable[..., desk.Solved], objective: Objective, protection: Protection) -> None:
        """Search for something else."""
        self.sought = objective, protection
        self.drop_search()
        self.notice.set(Notice("", "", False))
        self.old.set(True)
        self.search.set(Work(partial(task, objective=objective, protection=protection)))

    def drop_search(self) -> None:
        """Wait no more for the last search: something else is chosen."""
        work = self.running()
        if work is not None:
            work.leave()
            self.search.set(None)
        self.watching.discard("search")
        self.notice.set(None)

    def refuse(self) -> None:
        """What is chosen makes no sense: what is shown is not for it."""
        self.drop_search()
        self.promised = None
        self.old.set(True)

    def tell(self, work: Work[desk.Solved]) -> None:
        """Tell how far a search is."""
        with reactive.isolate():
            counts, now = self.counted.get(), work.progress
        words = page.seconds_words(time.monotonic() - work.begun)
        if now is not None and counts is not None and self.sought is not None and work.doing == desk.SEARCHING:
            objective, protection = self.sought
            whole = counts.used(protection).joint.entropy if objective == "information" else 1.0
            if whole > 0:
                most = min(1.0, now.upper_bound / whole)
                words = page.progress_words(now.utility / whole, most, now.seconds, objective)
        self.notice.set(Notice(work.doing, words, work.stopped))

    def ended_without(self, trouble: str | None) -> None:
        """A search found nothing: what is shown stays old, unless it is what is chosen, as after a wish."""
        self.say("promise", trouble)
        with reactive.isolate():
            now = self.solved.get()
        self.old.set(now is None or _choice(now) != self.promised)

    def show(self, solved: desk.Solved) -> None:
        """Show what was found."""
        choice = _choice(solved)
        self.known[choice] = solved
        self.solved.set(solved)
        self.old.set(False)
        if solved.wish is not None and self.promised != choice:
            self.promised = choice
            ui.update_numeric("epsilon", value=solved.wish.epsilon, session=self.session)

    def follow_curves(self, counts: Counts, objective: Objective, protection: Protection) -> None:
        """Curves of all kinds of promise, one after the other, while nothing else is searched for."""
        kind = objective, protection
        if self.following == (counts, kind):
            return
        if self.curves is not None:
            self.curves.leave()
        self.following = counts, kind
        found = self.found.setdefault(kind, [Comparison((), {})])
        own: list[Work[None]] = []

        def stopped() -> bool:
            return bool(own) and own[0].stopped

        def task(follow: Callable[..., None]) -> None:
            while not stopped():
                while _busy(searching) and not stopped():
                    time.sleep(POLL_SECONDS)
                joint = counts.used(protection).joint
                more = desk.next_curve(joint, found[-1], follow, first=self.first_kind, objective=objective)
                if more is None or stopped():  # a curve that was cut short is begun again
                    return
                found.append(more)

        searching: list[Work[desk.Solved] | None] = [None]
        self.curves = work = Work(task)
        own.append(work)

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


def _choice(solved: desk.Solved) -> Choice:
    """What a result is for."""
    return solved.asked, solved.account.objective, solved.protection, solved.more.exact, solved.more.others


def _busy(searching: list[Work[desk.Solved] | None]) -> bool:
    return searching[0] is not None and searching[0].running
