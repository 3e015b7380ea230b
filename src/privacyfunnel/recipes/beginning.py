"""Beginning: a commented recipe for a table, with what its columns suggest."""

from __future__ import annotations

import math
from collections.abc import Sequence

from privacyfunnel.errors import InvalidTable
from privacyfunnel.spec.as_toml import text, value_text
from privacyfunnel.spec.key import TO_FILL_IN
from privacyfunnel.spec.of_promise import USUAL_LEVEL
from privacyfunnel.tables.fitting import DEFAULT_BINS
from privacyfunnel.tables.suggesting import Suggestion

NOT_NAMED = "others were named for release"
"""Why a column is left out that could be released."""
RECIPE = """\
# A recipe: everything that is done to a table, to be read and reviewed before it is run.
#   funnel run {name} --dry-run      shows the commands that it stands for
#   funnel run {name}                runs them: fit, sanitise, audit, report, publish
# Keys are the options of these commands (funnel fit --help). Lines that begin with # say nothing.

recipe = 1
table = {table}      # seen from where this file lies
output = {output}      # the folder that is made: whole, or not at all
# where = "age >= 18"             # only these rows
{reading}
[fit]
# The column that is not to be given away{why}
secret = {secret}
# The columns to release. Look at each: what was left out, and why, is said beside it.
columns = [
{attributes}]
# How far a belief about somebody's secret may change by a released row: by the factor e^epsilon, here {factor:.3g}.
notion = "lip"
epsilon = {epsilon}
# Noise on every count, so that the protocol may be published; and how rare a combination of values may be.
private = 1
at-least = 10
# Rows that can be counted as they stand, or "information".
objective = "faithful"
time-limit = 60
# confidence = 0.95               # for the population of which the table is a sample; then leave out at-least
{domain}          # every value and border from a public file (funnel domain), not from the table
# missing = ["NA", "?"]           # texts that mean missing

{cuts}
[sanitise]
output = "open.csv"               # or .csv.gz, .parquet, .sav, .dta, .xlsx
unseen = "refuse"

[audit]
attack = false                    # true also tries attacks, on the exact table

# The report for you and your data-protection officer. It tells shares of the secret: keep it inside.
[report]
curves = false                    # true compares with other promises, which takes a while

# The folder for a data portal: delete the # and fill in. More can be said in a file: funnel publish --template.
# [publish]
# title = "{fill}"
# licence = "CC-BY-4.0"
# publisher = "{fill}"
# contact = "data@example.org"
# details = "publish.toml"
"""
"""What funnel init writes."""
CUTS = """\
# How columns become finitely many values, where it should not be found out: a number of ranges, borders, "width:5" or
# "each"; how many of the most frequent values; dates by year, month or day.
"""


def beginning(
    columns: Sequence[Suggestion],
    *,
    table: str,
    name: str,
    output: str,
    secret: str | None = None,
    attributes: Sequence[str] | None = None,
    domain: str | None = None,
    reading: dict[str, str] | None = None,
) -> str:
    """A recipe for a table with these columns; secret and attributes are those that are said, or that are likely."""
    known = {column.column: column for column in columns}
    for asked in [*([secret] if secret else []), *(attributes or ())]:
        if asked not in known:
            raise InvalidTable(f"{table} has no column {asked!r}")
    chosen = secret or next((column.column for column in columns if column.part == "secret"), None)
    released = [c for c in columns if (c.part == "release" if attributes is None else c.column in attributes)]
    released = [column for column in released if column.column != chosen]
    lines = [f"  {text(column.column)},{_comment(column)}\n" for column in released]
    lines += [] if released else [f"  {text(TO_FILL_IN)},      # none of these columns is suggested\n"]
    left = [column for column in columns if column not in released and column.column != chosen]
    lines += [f"  # {text(column.column)},{_comment(column, attributes is not None)}\n" for column in left]
    said = "".join(f"{key} = {value_text(value)}\n" for key, value in (reading or {}).items())
    return RECIPE.format(
        name=_line(name),
        table=text(table),
        output=text(output),
        reading=said or '# delimiter = ";"\n# encoding = "latin-1"\n',
        why=f" ({_line(known[chosen].how)})." if chosen else ": nobody but you knows it; no column looks like one.",
        secret=text(chosen or TO_FILL_IN),
        attributes="".join(lines),
        factor=math.exp(USUAL_LEVEL),
        epsilon=USUAL_LEVEL,
        domain=f"domain = {text(domain)}" if domain is not None else '# domain = "domain.json"',
        cuts=_cuts(released) if domain is None else "",
        fill=TO_FILL_IN,
    )


def _comment(column: Suggestion, not_named: bool = False) -> str:
    why = f"{NOT_NAMED}; " if not_named and column.part == "release" else ""
    return f"      # {_line(f'{why}{column.how}')}"


def _line(words: str) -> str:
    """Words on one line of a comment: names from files may hold anything."""
    return "".join(sign if sign.isprintable() else " " for sign in words)


def _cuts(columns: Sequence[Suggestion]) -> str:
    """Lines for the columns that can be cut otherwise."""
    ways: dict[str, list[tuple[str, int | str]]] = {
        "bins": [(c.column, DEFAULT_BINS) for c in columns if c.kind in ("bins", "integer", "number")],
        "top": [(c.column, min(c.values, DEFAULT_BINS)) for c in columns if c.kind == "text"],
        "dates": [(c.column, "year") for c in columns if c.kind in ("year", "month", "day")],
    }
    made = CUTS
    for key, asked in ways.items():
        if asked:
            made += f"# [fit.{key}]\n" + "".join(f"# {text(name)} = {value_text(value)}\n" for name, value in asked)
    return made
