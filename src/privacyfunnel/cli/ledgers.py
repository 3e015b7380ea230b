"""funnel ledger: what was released about the people of a key, and what all of it may come to."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from rich.markup import escape
from rich.table import Table

from privacyfunnel.cli import next_command, show
from privacyfunnel.cli.steward import marked_table
from privacyfunnel.errors import InvalidInput, InvalidLedger
from privacyfunnel.promises.notion import Notion
from privacyfunnel.promises.notions import notion_from
from privacyfunnel.spec import as_flags
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.remembered.ledger import Ledger, open_ledger, read_ledger

ACTIONS = ("show", "verify", "limit")
SHOWN = 8
"""Digits of a digest that tell protocols apart for people."""


def tell_ledger(action: str, key: Path, epsilon: float | None, notion: str, head: str | None, json: bool) -> None:
    """Show what was released with a key and what everything comes to, verify it, or fix what it may come to."""
    if action not in ACTIONS:
        raise InvalidInput(f"funnel ledger takes {', '.join(ACTIONS)}; got {action!r}")
    if (epsilon is None) == (action == "limit"):
        raise InvalidInput("funnel ledger limit needs --epsilon, and only limit takes it")
    if head is not None and action != "verify":
        raise InvalidInput("--head goes with funnel ledger verify")
    if action == "limit":
        asked = as_flags.again(Spec, {"secret": "the secret", "notion": notion, "epsilon": epsilon})
        found = open_ledger(key).fix(cast(Notion, asked.promise()))
    else:
        found = read_ledger(key)
    files = _verified(found, head) if action == "verify" else None
    content = _content(found, files)
    then = next_command.verify(key, found.lines.head) if action != "verify" else None
    if json:
        show.as_json(content | next_command.data(then))
        return
    _show(found, content)
    next_command.say(then)


def _verified(found: Ledger, head: str | None) -> int:
    if head is not None and head not in found.lines.digests:
        raise InvalidLedger(f"no line of the ledger {found.chain.path} has the digest that was noted: lines are gone")
    return found.verify()


def _content(found: Ledger, files: int | None) -> dict[str, Any]:
    """Everything but the key."""
    releases = [
        {name: value for name, value in line.items() if name not in ("before", "what")} for line in found.releases
    ]
    return {
        "ledger": str(found.chain.path),
        "lines": len(found.lines.contents),
        "head": found.lines.head,
        "torn_bytes": found.lines.torn,
        "limit": found.limit.as_dict() if found.limit is not None else None,
        **({"verified_files": files} if files is not None else {}),
        "steward_only": {"releases": releases},
    }


def _show(found: Ledger, content: dict[str, Any]) -> None:
    screen = show.console()
    if found.limit is None:
        screen.print("No limit is fixed: funnel ledger limit fixes what everything together may come to.")
    else:
        screen.print(f"Everything together must keep {found.limit.name} {found.limit.epsilon:g}.", markup=False)
    if found.releases:
        screen.print(marked_table(_table(content["steward_only"]["releases"])))
    if found.lines.torn:
        screen.print(f"A last line was torn off by a crash ({found.lines.torn} bytes): the next one replaces it.")
    if "verified_files" in content:
        screen.print(f"All {content['lines']} lines and {content['verified_files']} files are as they were written.")
    screen.print(f"Head: {found.lines.head}. Note it elsewhere: --head finds lines that were lost since.", markup=False)


def _table(releases: list[dict[str, Any]]) -> Table:
    table = Table(title="Releases", title_justify="left", header_style="bold")
    for heading in ("when", "protocol", "new", "again", "unchanged", "changed", "left", "level of everything"):
        table.add_column(heading, justify="left" if heading in ("when", "protocol") else "right", overflow="fold")
    for line in releases:
        people = line["people"]
        counts = [f"{people[name]:,}" for name in ("new", "again", "unchanged")]
        changed = f"{people['changed']:,}" + (f" ({people['changed_were']})" if people["changed"] else "")
        when = escape(str(line["at"])[:16].replace("T", " "))
        table.add_row(when, line["drawing"][:SHOWN], *counts, changed, f"{people['left']:,}", _level(line))
    return table


def _level(line: dict[str, Any]) -> str:
    """The largest level of people of whom something new was told."""
    levels = [history["level"] for history in line["histories"]]
    if not levels:
        return "nothing new"
    return f"{notion_from(line['promise']).name} {max(levels):.4g}"
