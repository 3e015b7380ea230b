"""funnel ledger: what was released about the people of a key, and what all of it may come to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.cli import shared
from privacyfunnel.cli.loading import loaded


def ledger(
    action: Annotated[str, typer.Argument(help="show, verify (every line and file), or limit (fix what may be told).")],
    key: Annotated[
        Path, typer.Argument(help="The key file, as given to sanitise --remember; its ledger lies beside it.")
    ],
    epsilon: Annotated[float | None, typer.Option(help="limit: the ε that everything together must keep.")] = None,
    notion: Annotated[str, typer.Option(help="limit: the kind of promise, as for funnel fit.")] = "lip",
    head: Annotated[
        str | None, typer.Option(help="verify: a digest noted earlier, which must be in the chain.")
    ] = None,
    json: shared.Json = False,
) -> None:
    """Show what was released with a key and what everything comes to, verify it, or fix what it may come to.

    Example: funnel ledger limit people.key --epsilon 0.8
    """
    with loaded():
        from privacyfunnel.cli.ledgers import tell_ledger
    tell_ledger(action, key, epsilon, notion, head, json)
