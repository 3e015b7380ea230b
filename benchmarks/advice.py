"""Advice on wide tables: processor time of the whole, and what following it gives against what it promised."""

import time
from pathlib import Path

import privacyfunnel as pf
from privacyfunnel.advice.accepting import accepted
from privacyfunnel.advice.advise import Subset
from privacyfunnel.numeric.information import share_kept
from privacyfunnel.tables.counting import count_table

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
NOT_ADULT = ("fnlwgt", "split")
TABLES = {"adult": "income", "diabetes130": "readmitted", "dutch_census2001": "occupation"}
EPSILON = 0.5
PATIENCE = 60.0
"""Seconds for each fit that follows the advice."""


def run() -> list[dict[str, object]]:
    if not DATA.exists():
        return [{"skipped": "needs ../shared/data"}]
    return [row for name in TABLES for row in _followed(name)]


def _followed(name: str) -> list[dict[str, object]]:
    path, secret, promise = DATA / f"{name}.csv.gz", TABLES[name], pf.LIP(EPSILON)
    columns = list(_counted(path, secret, None).joint.attributes)
    columns = [column for column in columns if name != "adult" or column not in NOT_ADULT]
    begun, used = time.monotonic(), time.process_time()
    advice = pf.advise(path, secret, columns, promise=promise)
    took = {"seconds": time.monotonic() - begun, "of the processor": time.process_time() - used}
    rows: list[dict[str, object]] = []
    for proposal in advice.proposals:
        joint = pf.Joint.from_table(path, secret, private=1.0, at_least=10, insist=True, **proposal.arguments)
        rows.append({"table": name, "columns": len(columns)} | took | _row(proposal, proposal.option[:30], joint))
    counted, spent = accepted(_counted(path, secret, columns), True, True, 1.0)
    joint = counted.safely(1.0 - spent, at_least=10, choosing=spent, insist=True).joint
    return [*rows, {"table": name, "columns": len(columns)} | took | _row(advice.best, "drawn privately", joint)]


def _counted(path: Path, secret: str, columns: list[str] | None) -> object:
    return count_table(path, secret, columns, with_identifiers=False)


def _row(proposal: Subset, with_: str, joint: pf.Joint) -> dict[str, object]:
    found = pf.optimise(joint, pf.LIP(EPSILON), objective="faithful", time_limit=PATIENCE)
    return {
        "with": with_,
        "released": len(joint.attributes),
        "cells promised": proposal.cells_unchanged,
        "cells": found.likeness.cells_unchanged,
        "information promised": proposal.information_kept,
        "information": share_kept(found.utility, found.entropy),
    }
