"""Options of nearly every command that are no keys. It loads nothing that reads a table."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, for machines.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")]
