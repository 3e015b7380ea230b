"""What funnel release does: choose roles, fit, draw, prove, publish, and tell it on one screen."""

from __future__ import annotations

import io
import json as json_text
import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.markup import escape
from rich.table import Table

from privacyfunnel.advice.roles import Given, Proposed, given, proposed
from privacyfunnel.cli import next_command, show
from privacyfunnel.cli.fitting import fit_spec
from privacyfunnel.errors import InvalidInput
from privacyfunnel.promises.notion import Notion, factor
from privacyfunnel.proof.certificate import certify
from privacyfunnel.proof.public import published_joint
from privacyfunnel.protocols.file import load as load_protocol
from privacyfunnel.protocols.own_table import OwnFilled
from privacyfunnel.protocols.protocol import Protocol
from privacyfunnel.publishing.described import OWN
from privacyfunnel.publishing.details import details_of
from privacyfunnel.publishing.publish import Publication, publish
from privacyfunnel.recipes.recipe import Recipe
from privacyfunnel.recipes.to_toml import to_text as recipe_text
from privacyfunnel.spec import as_flags, as_keywords
from privacyfunnel.spec.files import seen_from
from privacyfunnel.spec.of_promise import USUAL_LEVEL
from privacyfunnel.spec.of_protocol import asked_by
from privacyfunnel.spec.of_table import REST
from privacyfunnel.spec.spec import Spec
from privacyfunnel.tables.domain import Domain, opened
from privacyfunnel.tables.fill import readings_of
from privacyfunnel.tables.for_steward import ForSteward
from privacyfunnel.tables.never import named_last
from privacyfunnel.tables.own_filled import own_filled_of
from privacyfunnel.tables.private_counts import USUAL_EPSILON
from privacyfunnel.tables.published_folder import PACKAGE
from privacyfunnel.tables.release import sanitise
from privacyfunnel.tables.release_note import Release
from privacyfunnel.tables.sources import Source, open_source
from privacyfunnel.tables.whole_folder import check_folder
from privacyfunnel.tables.writing import check_output, whole_file

UNNAMED = {
    "licence": "https://example.org/licence",
    "publisher": "not named yet",
    "contact": {"name": "not named yet", "url": "https://example.org/contact"},
}
"""What a folder says where its owner has not said it yet."""
NOT_NAMED = "The folder names no publisher and no licence yet: say them with --details publish.toml."
OBEYS = "a condition of never is about it"
ABOUT = "# What funnel release did, as a recipe: funnel run RECIPE does it again, and draws anew.\n"


@dataclass(frozen=True)
class Released:
    """All that is told of it."""

    protocol: Protocol
    roles: list[Given]
    release: Release
    publication: Publication
    fitted: dict[str, Any]
    """What the fit said for machines."""
    recipe: Path
    filled: OwnFilled | None = None
    """How far shares of filled columns are off, for the steward alone."""


def release(
    table: str | Path,
    output: str | Path,
    *,
    secret: str | Sequence[str],
    promise: Notion | None = None,
    epsilon: float | None = None,
    columns: Sequence[str] | None = None,
    leave_out: Sequence[str] | None = None,
    private: float = USUAL_EPSILON,
    never: str | None = None,
    details: str | Path | None = None,
    force: bool = False,
) -> Released:
    """Release a whole table without giving away its secret: from a file to a folder that may be published.

    It is what `funnel release` does, for the `promise`, or LIP(epsilon), and ε₀ = `private` in all. `columns` are
    kept, if they are named, those in `leave_out` are not released, and all others that can be are filled from a
    private model. No row that is released fulfils the condition `never`.
    """
    said: dict[str, Any] = {"secret": [[secret] if isinstance(secret, str) else list(secret)]}
    if promise is None:
        said |= {"epsilon": USUAL_LEVEL if epsilon is None else epsilon}
    elif epsilon is not None:
        raise InvalidInput("promise= says an ε already, so leave out epsilon=")
    else:
        asked = asked_by(promise, said["secret"][0])
        if asked is None:
            raise InvalidInput(f"a file cannot say the promise {promise!r}; name one with an ε, such as pf.LIP(0.5)")
        said |= asked
    said |= {"columns": columns, "leave_out": leave_out or None, "private": private, "fill": [REST]}
    said |= {"never": never}
    spec = as_keywords.said(Spec, table=str(table), **said).spec()
    return _released(spec, Path(table), Path(output), None if details is None else Path(details), force, lambda _: None)


def release_table(spec: Spec, table: Path, output: Path, details: Path | None, force: bool, json: bool) -> None:
    """The same for the command, which tells roles before rows are drawn, and all else at the end."""

    def tell(roles: list[Given]) -> None:
        if not json:
            show.console().print(_roles(roles))

    _tell(_released(spec, table, output, details, force, tell), output, details, json)


def _released(
    spec: Spec, table: Path, output: Path, details: Path | None, force: bool, tell: Callable[[list[Given]], None]
) -> Released:
    """From a table to a folder."""
    check_folder(output, force, OWN, PACKAGE)
    recipe = output.with_name(output.name + ".recipe.toml")
    check_output(recipe, force, (table,))
    told = details_of(details, _given(details, table), health=False, today=date.today())
    with show.working("looking at the columns"):
        source = open_source(table, **spec.layout, secrets=spec.secret_columns)
        domain = opened(None if spec.domain is None else Path(spec.domain))
        declared = None if domain is None else domain.names
        found = proposed(source, spec.secret_columns, spec.named or (), spec.leave_out or (), declared)
        found = [_obeying(one, spec) for one in found]
    asked = _whole(spec, found)
    with TemporaryDirectory() as place:
        fitted = _fit(asked, table, Path(place) / "protocol.json")
        protocol = load_protocol(Path(place) / "protocol.json")
        roles = given(found, protocol)
        tell(roles)
        drawn = Path(place) / "open.parquet"
        with show.working("drawing rows"):
            drawn_rows = sanitise(protocol, table, drawn, **_layout(spec))
        with show.working("proving the promise, and writing the folder"):
            publication = publish(protocol, drawn, output, told, rows="fitted", force=force)
        with show.working("comparing with your own table"):
            off = ForSteward(source).told(lambda own: _off(asked, protocol, own, drawn, domain))
    with whole_file(recipe, force=True) as file:
        file.write(_recipe(asked, table, recipe, output).encode())
    return Released(protocol, roles, drawn_rows, publication, fitted, recipe, off)


def _off(spec: Spec, protocol: Protocol, table: Source, drawn: Path, domain: Domain | None) -> OwnFilled | None:
    """How far shares of filled columns are off."""
    return own_filled_of(protocol, table, open_source(drawn), readings_of(protocol, table, spec.missing or (), domain))


def _layout(spec: Spec) -> dict[str, Any]:
    return {name: value for name, value in spec.layout.items() if value is not None}


def _given(details: Path | None, table: Path) -> dict[str, Any]:
    return {} if details is not None else {"title": table.name.split(".")[0] or "table", **UNNAMED}


def _whole(spec: Spec, found: Sequence[Proposed]) -> Spec:
    """The Spec of the whole table: what may be kept is chosen privately, unless it is named, and the rest is filled."""
    only = () if spec.named else tuple(one.column for one in found if one.may == "filled")
    out = tuple(one.column for one in found if one.may == "left out")
    said = spec.said()
    if spec.fill == (REST,):
        said["fill"] = (*only, REST)
    said["leave_out"] = out or None
    if spec.columns is None:
        said["columns"] = "auto"
        if spec.coarsen is None and spec.domain is None:
            said["coarsen"] = "auto"
    if not spec.promised:
        said["epsilon"] = USUAL_LEVEL
    return as_flags.again(Spec, {name: value for name, value in said.items() if value is not None})


def _obeying(one: Proposed, spec: Spec) -> Proposed:
    """A column is filled if rows are to obey a condition by it, unless the kept columns are named."""
    if spec.never is None or spec.named is not None or one.may != "kept or filled":
        return one
    return replace(one, may="filled", reason=OBEYS) if one.column in named_last(spec.never) else one


def _fit(spec: Spec, table: Path, protocol: Path) -> dict[str, Any]:
    """Fit, and take what is said of it."""
    heard = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(heard), next_command.part_of_a_run():
        fit_spec(spec, table, protocol, force=False, json=True)
    content: dict[str, Any] = json_text.loads(heard.getvalue())
    return content


def _recipe(spec: Spec, table: Path, recipe: Path, output: Path) -> str:
    """The recipe that it stands for."""
    place = recipe.absolute().parent
    said = seen_from(spec, Path()).model_copy(update={"table": Path(os.path.relpath(table, place)).as_posix()})
    return recipe_text(Recipe(recipe=1, output=f"{output.name}-again", fit=said), ABOUT)


def _roles(roles: Sequence[Given]) -> Table:
    table = Table(title="What becomes of each column", title_justify="left", header_style="bold")
    for heading in ("column", "role", "why", "what is lost"):
        table.add_column(heading)
    for one in roles:
        table.add_row(*(escape(part) for part in (one.column, one.role, one.reason, one.lost)))
    return table


def _tell(told: Released, output: Path, details: Path | None, json: bool) -> None:
    protocol, spent = told.protocol, told.protocol.spent
    if spent is None:
        raise InvalidInput("a release needs a private fit")
    level = published_level(protocol)
    then = next_command.estimate(output)
    own = told.release.own
    if json:
        content = {
            "folder": str(output),
            "recipe": str(told.recipe),
            "rows": told.release.rows,
            "roles": [asdict(one) for one in told.roles],
            "promise": protocol.notion.as_dict(),
            "level": level,
            "epsilon_0": spent.epsilon,
            "delta_0": spent.delta,
            "files": told.publication.as_dict()["files"],
            "steward_only": {
                "own_table": own.as_dict() if own is not None else None,
                "filled": told.filled.as_dict() if told.filled is not None else None,
                "fit": told.fitted.get("steward_only"),
            },
        }
        show.as_json(content | next_command.data(then))
        return
    screen = show.console()
    lines = [
        f"Kept, in exact arithmetic: a released row moves beliefs by at most a factor {factor(level)} "
        f"({factor(protocol.notion.epsilon)} is promised). Filled columns tell nothing more.",
        f"{told.release.rows:,} rows, {len(protocol.attributes)} columns kept, "
        f"{len(protocol.table_columns) - len(protocol.attributes)} filled.",
    ]
    if own is not None:
        lines.append(own.words())
    if told.filled is not None:
        lines.append(told.filled.words())
    people = (told.fitted.get("steward_only") or {}).get("own_table", {}).get("people")
    if people:
        lines.append(_attacker(people))
    lines.append(f"Noise of the whole file: ε₀ = {spent.epsilon:g}, δ₀ = {spent.delta:g}.")
    lines.append(f"Folder: {output}. The recipe it stands for: {told.recipe}.")
    if details is None:
        lines.append(NOT_NAMED)
    for line in lines:
        screen.print(line, markup=False)
    next_command.say(then, "Next, for its readers:")


def _attacker(people: dict[str, Any]) -> str:
    """What an attacker finds in the exact table, for the steward."""
    low, high = people["lowest"]["lift"], people["highest"]["lift"]
    beyond = " That is more than is promised: the table is small for this noise." if people["beyond"] else ""
    return f"For you alone: in your table, groups of rows change beliefs by factors of {low:.2f} to {high:.2f}.{beyond}"


def published_level(protocol: Protocol) -> float:
    """The level that rows reach by the published counts: `publish` refuses what is beyond the promise."""
    return float(certify(protocol, published_joint(protocol)).level)
