"""funnel fit: from a table to the protocol. What reads a table is loaded only to read it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacyfunnel.cli import shared
from privacyfunnel.cli.asking import asked, table_of
from privacyfunnel.cli.loading import loaded
from privacyfunnel.errors import InvalidInput
from privacyfunnel.spec.key import PANELS
from privacyfunnel.spec.spec import Spec

Output = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", help="Where to write the protocol (JSON).", rich_help_panel=PANELS["basics"],
        show_default=False,
    ),
]  # fmt: skip


@asked()
def fit(spec: Spec, output: Output = None, force: shared.Force = False, json: shared.Json = False) -> None:
    """Find the protocol that keeps the most of a table's columns without giving away its secret.

    Example: funnel fit people.csv --secret diagnosis --columns age,sex,town --epsilon 0.5 -o protocol.json

    Without a promise it shows what every ε would keep, proposes one, and writes nothing.
    """
    table = table_of(spec, "fit")
    if spec.promised or spec.improve is not None:
        if output is None:
            raise InvalidInput("where is the protocol to be written? Add -o protocol.json")
        with loaded():
            from privacyfunnel.cli.fitting import fit_spec
        fit_spec(spec, table, output, force, json)
        return
<<<<<<< HEAD
    costs = knowing.costs_for(counted.joint, asked.known_of(), time_limit)
    if not json:
        knowing.say(costs)
    found = _search(asked, counted)
    finer = merging.level_for_finer(coarser, found.protocol)
    with warnings.catch_warnings():  # what it says is told below
        warnings.simplefilter("ignore", ExactFit)
        found.protocol.save(output, force=force)
    own, advice = steward_only.told(steward, found.protocol, advise)
    if json:
        alone = {"steward_only": {"own_table": own.data, "advice": advice.data}}
        told_of = data(found)
        told_of["search"] |= knowing.data(costs)  # which also hang on the clock
        show.as_json({"protocol": str(output), **alone, **told_of, **merging.data(coarser, finer)})
        return
    some = ["--where", where] if where is not None else []
    again = shlex.join(["funnel", "sanitise", str(table), *some, "--protocol", str(output), "-o", "OUT.csv"])
    advice.say()
    own.say()
    screen = show.console()
    for part in (*told(found), *filter(None, [merging.level_words(finer)])):
        screen.print(part, markup=False)
    screen.print(f"Written: {output}. Next:", markup=False)
    screen.print(again, markup=False, soft_wrap=True)  # a line that can be copied


def _search(asked: Sought, counted: Counted) -> Found:
    begun = time.monotonic()
    with show.search_progress(asked.objective) as progress, noticing_stops() as stopped:
        protocol, wish = asked.best(counted.joint, progress)
    seconds = time.monotonic() - begun
    late = asked.time_limit is not None and seconds >= asked.time_limit
    with show.working("measuring what was found"):
        return Found.of(counted, protocol, wish, show.Ending(seconds, stopped.is_set() or late), asked.time_limit)
=======
    with loaded():
        from privacyfunnel.cli.proposing import propose
    propose(spec, table, output, json)
>>>>>>> main
