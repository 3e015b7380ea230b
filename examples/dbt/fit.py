"""Fit the protocol on the table in dbt's database, privately, and write it: `python fit.py`, once."""

import duckdb

import privacyfunnel as pf

with duckdb.connect("people.duckdb", read_only=True) as database:
    joint = pf.Joint.from_table(
        database.table("people"), secret="ill", attributes=["town", "smoker"], private=1.0, at_least=10
    )
pf.optimise(joint, pf.LIP(0.2), objective="faithful").save("protocol.json")
