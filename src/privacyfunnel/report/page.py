"""The report: one file with the promise, its proof, what was kept, and what is left of the risk."""

from __future__ import annotations

from datetime import date
from html import escape
from importlib.metadata import version
from pathlib import Path

from privacyfunnel.attacks.findings import Leakage
from privacyfunnel.protocols.everything import EXACT_COUNTS
from privacyfunnel.report import charts, checking, risks, words
from privacyfunnel.report.account import Account, Own
from privacyfunnel.report.commands import in_lines, steps
from privacyfunnel.report.counting import how_to_count
from privacyfunnel.report.curves import Comparison
from privacyfunnel.report.html import code, definitions, figure, page, paragraph, section, table
from privacyfunnel.report.measured import FromTable
from privacyfunnel.report.officers import officers_part
from privacyfunnel.report.other_noise import OtherNoise
from privacyfunnel.report.promised import checkable, glance_part, promise_part, proof_part
from privacyfunnel.report.words import percent

MOST_ATTRIBUTES = 24
"""Columns that get a chart of their own."""


def report_page(
    account: Account,
    *,
    table_name: str | None = None,
    protocol_name: str = "protocol.json",
    compared: Comparison | None = None,
    noise: OtherNoise | None = None,
) -> str:
    """The page for an account. What was measured on the table is told only if the account holds it."""
    measured = account.measured
    name = table_name or "TABLE.csv"
    parts = [
        *([("own", "Your own table", own_part(account.own))] if account.own else []),
        ("promise", "The promise", promise_part(account)),
        ("proof", "The proof", proof_part(account, protocol_name)),
        ("kept", "What was kept and what was lost", kept_part(account)),
        ("columns", "How the columns were read", _encoders(account)),
        *([("attack", "What an attacker gains", attack_part(measured))] if measured else []),
        ("side-channels", "Side channels", side_channels_part(account)),
        *([("choice", "Other promises, other ε", _choice(account, compared))] if compared else []),
        *([("noise", "Other ε₀", noise.part())] if noise else []),
        ("officers", "For data-protection officers", officers_part(account)),
        ("limits", "What is not promised", definitions(words.limit_words(account))),
        ("again", "How to do it again" if measured else "How to check it", _again(account, name, protocol_name)),
    ]
    links = "".join(f'<li><a href="#{key}">{escape(title)}</a></li>' for key, title, _ in parts)
    title = "Privacy report" if measured or account.own else "Privacy statement"
    what = f"{', '.join(account.protocol.table_columns)} — without giving away “{account.protocol.secret}”"
    body = (
        '<a class="skip" href="#main">To the report</a>\n<header>\n'
        f"<h1>{title}</h1>\n{paragraph(what, 'lead')}\n{paragraph(_made(account), 'meta')}\n</header>\n"
        f'<nav aria-label="Parts of this report"><ul>{links}</ul></nav>\n<main id="main">\n{glance_part(account)}\n'
        + "\n".join(section(*part) for part in parts)
        + "\n</main>"
    )
    script = checking.script() if checkable(account) else ""
    return page(f"{title}: {', '.join(account.protocol.attributes)}", body, script)


def _made(account: Account) -> str:
    reader = (
        "It tells shares of the secret: keep it inside."
        if account.measured or account.own
        else "It holds nothing of the table but what the published protocol says."
    )
    return f"Made by privacyfunnel {version('privacyfunnel')} on {date.today().isoformat()}. {reader}"


def own_part(own: Own) -> str:
    """What is for the owner of the table alone."""
    return "\n".join(map(paragraph, ("For you alone: do not publish this page.", *own.lines)))


def kept_part(account: Account) -> str:
    """What was kept and lost, in all and for each column."""
    text = [aside_part(account), paragraph(words.kept_words(account)), paragraph(how_to_count(account))]
    if account.public is not None and account.public.own is not None:
        shares = account.public.own.shares_words()
        text.append(paragraph(f"By the published counts: {shares[0].lower()}{shares[1:]}"))
    exact = words.exact_words(account)
    if exact is not None:
        text.append(paragraph(exact))
    if account.emptied.columns:
        text.append(paragraph(account.emptied.words(public=account.measured is None)))
    return "\n".join([*text, bars_part(account), columns_part(account)])


def aside_part(account: Account) -> str:
    """Of a private fit with its table: what follows is measured on exact counts."""
    said = words.aside_words(account)
    return paragraph(said, "muted") if said is not None else ""


def bars_part(account: Account) -> str:
    """How often each value of each column occurs, before and after."""
    counts, alike = "published counts" if account.private else "table", account.countable and not account.merges
    shown = [figure(charts.attribute_chart(a, alike, counts)) for a in account.attributes[:MOST_ATTRIBUTES]]
    return '<div class="pair">' + "\n".join(shown) + "</div>"


def columns_part(account: Account) -> str:
    """What became of each column, and of each value."""
    text = [_columns(account)] if account.measured is not None else []
    if all(a.unchanged is not None for a in account.attributes):
        text.append(figure(charts.unchanged_chart(account.attributes, about=account.measured is None)))
    if account.protocol.step.listed:
        text.append(figure(charts.channel_chart(account.protocol.block)))
    return "\n".join(text)


def _columns(account: Account) -> str:
    rows = [
        (
            a.name,
            percent(a.unchanged or 0.0),
            f"{words.points_off(a.miscounted or 0.0)} points",
            percent(a.kept_share or 0.0),
            f"{a.kept_bits:.3f} of {a.entropy_bits:.3f}",
        )
        for a in account.attributes
    ]
    headings = ("column", "cells unchanged", "counted shares off by", "information kept", "bits kept")
    text = (
        "A cell is unchanged if its released value is its own. Counted shares are off by so much on average over all "
        "releases, at the value where that is most. The information kept is what a released column tells by itself; "
        "columns are changed together, so whole rows tell more."
    )
    return table("What became of each column", headings, rows) + paragraph(text, "muted")


def _encoders(account: Account) -> str:
    rows = [(e.column, e.how, str(e.values)) for e in account.encoders]
    secret = account.protocol.secret_readings
    fill = account.protocol.fill
    rows += [] if fill is None else [(name, "filled: drawn from a private model", "") for name in fill.names]
    text = f"The secret ({account.protocol.secret}) and all other columns are not released."
    text += "" if fill is None else f" {fill.words()} What this page says of columns is about the kept ones."
    if any(reading.edges for reading in secret):
        text += " The secret was cut into ranges, whose borders are in the protocol."
    threshold = words.threshold_words(account)
    more = paragraph(threshold) if threshold is not None else ""
    return table("Released columns", ("column", "how", "values"), rows, texts=True) + paragraph(text) + more


def attack_part(measured: FromTable) -> str:
    """What an attacker gains."""
    found = measured.findings
    headings = ("seen", "bits about the secret", "belief grows at most", "belief falls at most", "best guess right")
    rows = [
        ("nothing", "0", "×1", "×1", percent(found.blind_guess)),
        ("the released row", *_leakage(found.released)),
        ("the original row", *_leakage(found.original)),
    ]
    text = (
        "The best guess is that of somebody who knows the whole distribution of the table and the protocol, and sees "
        "one row."
    )
    return (
        (paragraph(EXACT_COUNTS) if measured.aside else "")
        + figure(risks.attack_chart(measured))
        + table("What a row tells about the secret", headings, rows)
        + paragraph(text, "muted")
        + figure(risks.beliefs_chart(measured))
        + figure(risks.outputs_chart(measured))
        + _again_and_again(measured)
    )


def _again_and_again(measured: FromTable) -> str:
    """What several releases of the same table would give away."""
    rows = [
        (
            f"{each.releases:g}",
            words.within_words(each.within, aside=measured.aside),
            words.level_words(each.level),
            percent(float(each.best_guess)),
        )
        for each in measured.repeated
    ]
    headings = (
        "releases",
        "the promised factor" if measured.aside else "promise",
        "belief moves at most",
        "best guess right",
    )
    text = "".join(paragraph(remark, "muted") for remark in measured.remarks)
    return (
        table("If the same table were released again, with fresh randomness", headings, rows) if rows else ""
    ) + text


def _leakage(found: Leakage) -> tuple[str, str, str, str]:
    falls = f"×{found.smallest_lift:.3g}" if found.smallest_lift > 0 else "to nothing"
    return f"{found.leakage_bits:.3g}", f"×{found.largest_lift:.4g}", falls, percent(found.best_guess)


def side_channels_part(account: Account) -> str:
    """What those gain who know something beforehand."""
    text = paragraph(
        "Somebody may know part of a person's row already, a neighbour's age and sex, say. What a released row then "
        "adds about the secret can be more than it adds for a stranger."
    )
    if account.objective == "faithful":
        text += paragraph(words.LINKING)
    about = account.public or account.measured
    if account.measured is None:
        text += paragraph(
            "The promise covers such people only if it names them, and only if they know columns in the ranges above: "
            + account.protocol.notion.words()
        )
    if about is None:
        return text
    if about.attack is None:
        unknown = ("What attackers gain who know columns beforehand was too much to compute.",)
        return text + "".join(map(paragraph, about.remarks if account.measured is not None else unknown))
    shown = words.shown_attackers(about.attack.attackers)
    headings = ("known beforehand", "promised to them", "belief moves at most", "guess before", "with the release")
    rows = [
        (
            words.known_words(each),
            words.promised_words(each),
            words.level_words(each.level),
            percent(float(each.before)),
            percent(float(each.after)),
        )
        for each in shown
    ]
    return (
        text
        + paragraph(words.side_channel_words(shown, public=account.measured is None))
        + table(
            "What somebody learns who knows columns beforehand"
            + (", by the published counts" if account.public is not None else ""),
            headings,
            rows,
        )
    )


def _choice(account: Account, compared: Comparison) -> str:
    text = curves_part(account, compared) if compared.curves else ""
    return text + "".join(
        paragraph(f"Left out: {name}, since {why}.", "muted") for name, why in compared.left_out.items()
    )


def curves_part(account: Account, compared: Comparison) -> str:
    """What other promises and other ε would keep, with the protocol at hand among them where it fits."""
    epsilon, curves = account.protocol.notion.epsilon, compared.curves
    faithful = all(curve.objective == "faithful" for curve in curves)
    kept = account.protocol.fidelity if faithful else account.kept_share
    text = figure(charts.tradeoff_chart(curves, (epsilon, kept) if epsilon > 0 and kept is not None else None))
    if not faithful and account.objective == "faithful":
        text += paragraph(
            "The curves are those of protocols that keep the most information. The one at hand keeps the most cells, "
            "in rows that can be counted as they stand, and so tells a little less.",
            "muted",
        )
    return text


def _again(account: Account, table_name: str, protocol_name: str) -> str:
    name = Path(table_name).name
    typed = steps(account.protocol, name, protocol_name)
    if account.measured is None:
        if not account.protocol.carries_counts:
            return paragraph(words.WHO_CHECKS)
        checked = "Anybody who has the file of the protocol can check the promise:"
        return paragraph(checked) + code(in_lines(typed.audit), "Command line")
    commands = "\n".join(map(in_lines, (typed.fit, typed.sanitise, typed.audit)))
    return (
        paragraph("On the command line: find the protocol, make the release, prove the promise.")
        + code(commands, "Command lines")
        + paragraph("The same in Python:")
        + code(typed.python, "Python")
        + paragraph(typed.to_add, "muted")
        + paragraph(words.again_words(account), "muted")
    )
