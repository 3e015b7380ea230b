"""The page of the studio: native controls, our own style sheet, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from htmltools import HTML, Tag, TagList, tags
from shiny import ui

from privacyfunnel.protocols.everything import NO_BOUND
from privacyfunnel.protocols.miscounting import counting_words
from privacyfunnel.protocols.protocol import Objective
from privacyfunnel.report.account import Account
from privacyfunnel.report.commands import in_lines, steps
from privacyfunnel.report.counting import how_to_count
from privacyfunnel.report.html import code, paragraph
from privacyfunnel.report.measured import text_of
from privacyfunnel.report.page import aside_part, attack_part, columns_part, side_channels_part
from privacyfunnel.report.promised import glance_part, promise_part
from privacyfunnel.report.words import again_words, exact_words, kept_words, percent, threshold_words
from privacyfunnel.studio.actions import ENDINGS, Opened, Solved
from privacyfunnel.studio.others import others_part
from privacyfunnel.tables.for_steward import NOT_MEASURED
from privacyfunnel.tables.preview import Preview


def whole_page(most_bytes: int, said: Mapping[str, str]) -> TagList:
    """The page as it is before anything happened; `said` is what a recipe says of the table."""
    return TagList(
        ui.head_content(
            tags.meta(name="viewport", content="width=device-width, initial-scale=1"),
            tags.meta(name="color-scheme", content="light dark"),
            tags.title("privacyfunnel studio"),
            tags.link(rel="icon", href="data:,"),
            tags.link(rel="stylesheet", href="assets/page.css"),
            tags.link(rel="stylesheet", href="assets/studio.css"),
            tags.script(src="assets/studio.js", defer=""),
        ),
        ui.busy_indicators.use(spinners=False, pulse=True),  # that it works, in a moving line; how far, in words
        tags.a("To the table", href="#table", class_="skip"),
        tags.header(
            tags.h1("privacyfunnel studio"),
            tags.p("Publish a table without giving away the secret in it.", class_="lead"),
            tags.p("Everything happens on this computer. Nothing is sent anywhere.", class_="meta"),
        ),
        tags.main(
            section("table", "1. The table", *_table_step(most_bytes), others_part("table", said)),
            ui.output_ui("columns"),
            ui.output_ui("promise"),
            tags.div(ui.output_ui("status"), aria_live="polite", role="status"),
            ui.output_ui("curve"),
            ui.output_ui("old"),
            ui.output_ui("result"),
            ui.output_ui("downloads"),
            id="main",
        ),
    )


def _table_step(most_bytes: int) -> tuple[Tag, ...]:
    limit = f"{most_bytes / 2**20:g} MiB"
    return (
        tags.p(f"CSV, CSV.GZ, Parquet or JSON lines, with column names; up to {limit}.", class_="meta"),
        tags.div(
            ui.input_file("file", "Choose a table", accept=[*ENDINGS, ".gz"], width="100%"),
            data_most_bytes=str(most_bytes),
            id="upload",
        ),
        tags.div(ui.output_ui("opened"), aria_live="polite"),
    )


def section(name: str, title: str, *parts: Any) -> Tag:
    """One step."""
    return tags.section(tags.h2(title, id=name), *parts, aria_labelledby=name)


def trouble(words: str) -> Tag:
    """What went wrong, and what to do."""
    return tags.p(tags.strong("This did not work: "), words, class_="verdict broken", role="alert")


def opened_part(opened: Opened) -> Tag:
    """Which table is open."""
    shown = f"{opened.name}: {opened.rows:,} rows, {len(opened.columns)} columns."
    return tags.p(tags.strong("Open: "), shown, class_="verdict kept")


def progress_part(doing: str, words: str, stopping: bool) -> Tag:
    """A search that runs."""
    label = "Leave it, with no result" if stopping else "Stop and take the best so far"
    return tags.div(
        tags.p(tags.strong("Stopping… " if stopping else ""), tags.strong(doing), " ", words),
        tags.progress(aria_label="searching"),
        ui.input_action_button("cancel", label),
        class_="searching",
    )


def old_part(searching: bool) -> Tag:
    """That what is shown below is not for what is chosen above."""
    why = "another one is being looked for" if searching else "what you chose since was refused"
    words = f"This is for what you chose before; {why}. It does not show what holds now."
    return tags.p(tags.strong("Old result. "), words, class_="verdict old")


def nothing_to_take() -> Tag:
    """The last step while the result is old."""
    words = "Nothing to take: the result above is old. Wait for the new one, or go back to what you chose before."
    return section("download-step", "5. Take it with you", tags.p(words))


def result_part(solved: Solved) -> Tag:
    """What the protocol promises, keeps and gives away."""
    shown = solved.account
    wish = [tags.p(solved.wish.words())] if solved.wish else []
    threshold = threshold_words(shown)
    said = (shown.population and shown.population.words(), exact_words(shown), threshold, shown.emptied.words())
    more = [tags.p(words) for words in said if words]
    return section(
        "result-step",
        "4. What it means",
        *wish,
        HTML(glance_part(shown)),
        tags.p(readers_words(shown), class_="lead"),
        HTML(promise_part(shown)),
        *more,
        tags.h3("A few rows, and what they might be released as"),
        HTML(preview_table(solved.preview, shown.cells_unchanged)),
        tags.h3("Each column, before and after"),
        HTML(aside_part(shown)),
        ui.output_ui("bars"),
        tags.details(tags.summary("What was kept of each column"), ui.output_ui("kept")),
        tags.details(tags.summary("How sharply readers will know each column"), ui.output_ui("knowing")),
        tags.details(tags.summary("What an attacker gains"), ui.output_ui("risk")),
    )


def readers_words(shown: Account) -> str:
    """What readers get, in the words of the command line."""
    about = shown.public or shown.measured
    return counting_words(shown.protocol, about.joint) if about is not None else how_to_count(shown)


def kept_part(shown: Account) -> str:
    """What was kept and lost, in all and for each column; the bars stand elsewhere."""
    return paragraph(kept_words(shown)) + paragraph(how_to_count(shown)) + aside_part(shown) + columns_part(shown)


def risk_part(shown: Account) -> str:
    """What is left of the risk."""
    return attack_part(shown.measured) + side_channels_part(shown) if shown.measured is not None else ""


def preview_table(shown: Preview | None, unchanged: float | None) -> str:
    """Rows before and after; what changed is marked, and not by colour alone."""
    if shown is None:
        return paragraph(NOT_MEASURED)
    pairs = [pair for rows in zip(shown.before, shown.after, strict=True) for pair in zip(*rows, strict=True)]
    few = f"Changed: {sum(text_of(a) != text_of(b) for a, b in pairs)} of these {len(pairs)} cells"
    all_cells = f", {percent(1 - unchanged)} of all cells on average" if unchanged is not None else ""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in shown.columns)
    body = ""
    for before, after in zip(shown.before, shown.after, strict=True):
        cells = "".join(_cell(text_of(a), text_of(b)) for a, b in zip(before, after, strict=True))
        body += f"<tr>{cells}</tr>"
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Rows before and after">'
        f'<table class="texts preview"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        + paragraph(
            f"{few}{all_cells}. An example: the release is drawn anew, and shuffled. This is for you alone.",
            "muted",
        )
    )


def _cell(before: str, after: str) -> str:
    if before == after:
        return f"<td>{escape(before)}</td>"
    return f'<td class="changed"><del>{escape(before)}</del> <ins>{escape(after)}</ins></td>'


def downloads_part(solved: Solved, opened: Opened) -> Tag:
    """Files, and the same as commands and as Python."""
    typed = steps(solved.account.protocol, opened.name)
    commands = "\n".join(map(in_lines, (typed.fit, typed.sanitise, typed.audit)))
    files = (
        ("released", "Released table"),
        ("protocol", "Protocol"),
        ("recipe", "Recipe"),
        ("certificate", "Certificate"),
        ("report", "Report"),
        ("public", "Page to publish"),
    )
    return section(
        "download-step",
        "5. Take it with you",
        tags.p(publishing_words(solved.account)),
        tags.div(*(ui.download_button(f"get_{name}", label) for name, label in files), class_="files"),
        tags.details(
            tags.summary("The same on the command line and in Python"),
            HTML(code(commands, "Command lines") + code(typed.python, "Python")),
            tags.p(again_words(solved.account), class_="meta"),
        ),
    )


def publishing_words(shown: Account) -> str:
    """What may leave the house."""
    keep = "Keep the certificate and the report inside: they tell shares of the secret."
    if shown.public is not None:
        return (
            "Publish the released table, the protocol and the page to publish: with the protocol, anybody can check "
            f"the promise. {keep} Publish one protocol and one release only: others of the same people tell more."
        )
    exposed = shown.measured.exposed if shown.measured is not None else None
    why = exposed.words() if exposed is not None and exposed.few else NO_BOUND
    return f"Publish the released table. {keep} Publish one release only. {why}"


def seconds_words(seconds: float) -> str:
    """For how long something runs."""
    return f"{seconds:.0f} s."


def progress_words(kept: float, most: float, seconds: float, sought: Objective) -> str:
    """How far a search is."""
    of = "cells, near values in part" if sought == "faithful" else "the information"
    return f"Kept so far: {percent(kept)} of {of}; at most possible: {percent(most)}; {seconds:.0f} s."
