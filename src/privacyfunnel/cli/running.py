"""funnel run: everything that a recipe says, by the commands that it stands for."""

from __future__ import annotations

import io
import json as json_text
import shlex
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager, nullcontext, redirect_stdout
from datetime import date
from pathlib import Path
from typing import Any, cast

import typer

from privacyfunnel.cli import next_command, show
from privacyfunnel.cli.app import function
from privacyfunnel.cli.publish import said_of
from privacyfunnel.errors import InvalidInput, OutputRefused, PrivacyFunnelError
from privacyfunnel.publishing.details import details_of
from privacyfunnel.recipes.log import Log, digests, versions
from privacyfunnel.recipes.recipe import LOG, PROTOCOL, PUBLISHED, RECIPE, Recipe, load
from privacyfunnel.recipes.steps import Step, inputs, steps
from privacyfunnel.tables.published_folder import sha256_of
from privacyfunnel.tables.whole_folder import check_folder, whole_folder


def run_recipe(recipe: Path, dry_run: bool, force: bool, json: bool) -> None:
    """Do all that a recipe says: fit, sanitise, audit, report, publish. The folder appears whole or not at all."""
    made, place = load(recipe), recipe.absolute().parent
    text = recipe.read_bytes()
    todo = steps(made, place)
    output = place / made.output
    _check(recipe, made, todo, place)
    check_folder(output, force, made.own, LOG)
    if dry_run:
        again = ["--force"] if force else []
        _show_plan(todo, output, json, next_command.run(recipe, *again))
        return
    with whole_folder(output, force, made.own, LOG) as part, chdir(part):
        log, told = Log(part / LOG), {}
        (part / RECIPE).write_bytes(text)
        log.add("run", recipe=sha256_of(part / RECIPE), inputs=digests(inputs(made, place)), versions=versions())
        for i, step in enumerate(todo, start=1):
            told[step.name] = _do(step, f"{i} of {len(todo)}", recipe.name, log, json)
        log.add("end", digests=digests({name: part / name for step in todo for name in step.makes}))
    folder, published = recipe.parent / made.output, made.publish is not None
    then = next_command.estimate(folder / PUBLISHED) if published else next_command.after_audit(folder / PROTOCOL)
    if json:
        own = {name: step.pop("steward_only") for name, step in told.items() if step and "steward_only" in step}
        content = {"output": str(output), "steps": told, "steward_only": {"log": log.lines, "steps": own}}
        show.as_json(content | next_command.data(then))
        return
    show.console().print(f"Done: {output}. What was done, with versions and digests: {LOG} in it.", markup=False)
    next_command.say(then, "Next, for its readers:" if published else "Next:")


def _check(recipe: Path, made: Recipe, todo: list[Step], place: Path) -> None:
    """Refuse, before any time is spent, what the commands would refuse later."""
    for key, path in inputs(made, place).items():
        if not path.exists():
            raise InvalidInput(f"{recipe}: {key}: there is no file {path}")
    output = (place / made.output).resolve()
    for key, path in {**inputs(made, place), "the recipe itself": recipe}.items():
        if path.resolve().is_relative_to(output):
            raise InvalidInput(f"{recipe}: output: {key} lies in this folder, which is made anew; name another one")
    if made.publish is not None:
        details = place / made.publish.details if made.publish.details is not None else None
        with _naming(recipe.name, "publish"):
            details_of(details, said_of(made.publish), health=bool(made.publish.health), today=date.today())
    if not made.fit.promised and made.fit.improve is None:
        raise InvalidInput(f"{recipe}: fit.epsilon is missing: how far beliefs may change")
    for step in todo:
        with _naming(recipe.name, step.name):
            step.check()


def _do(step: Step, which: str, recipe: str, log: Log, json: bool) -> dict[str, Any] | None:
    """Do what a command does that is asked for this; a promise that is broken ends it all."""
    typed, begun = shlex.join(["funnel", *step.words]), time.monotonic()
    if not json:
        show.console().print(f"\n{which}: {typed}", style="bold", markup=False, soft_wrap=True)
    heard, code = io.StringIO(), 0
    quiet = redirect_stdout(heard) if json else nullcontext()
    where = {"output": Path(step.output), "force": False} if step.output is not None else {}
    with _naming(recipe, step.name), next_command.part_of_a_run(), quiet:
        try:
            function(step.name).asked(step.asked, **where, json=json)
        except typer.Exit as ended:
            code = ended.exit_code
    log.add(
        "step",
        step=step.name,
        command=typed,
        seconds=round(time.monotonic() - begun, 3),
        exit=code,
        digests=digests({name: Path(name) for name in step.makes}),
    )
    if code:
        raise typer.Exit(code)
    return cast(dict[str, Any], json_text.loads(heard.getvalue())) if json else None


@contextmanager
def _naming(recipe: str, part: str) -> Iterator[None]:
    """An error of a command says in which part of the recipe it is."""
    try:
        yield
    except OutputRefused:
        raise
    except PrivacyFunnelError as error:
        raise InvalidInput(f"{recipe} [{part}]: {error}", steward_only=error.steward_only) from error


def _show_plan(todo: list[Step], output: Path, json: bool, then: next_command.Words) -> None:
    typed = [shlex.join(["funnel", *step.words]) for step in todo]
    if json:
        show.as_json({"output": str(output), "commands": typed, **next_command.data(then)})
        return
    screen = show.console()
    screen.print(f"Would make {output}, in it:", markup=False)
    for line in typed:
        screen.print(line, markup=False, soft_wrap=True)
    next_command.say(then)
