"""The released table. It is drawn once: another `dbt run` adds nothing, and only `--full-refresh` draws it again."""

import privacyfunnel as pf


def model(dbt, session):
    dbt.config(materialized="incremental", incremental_strategy="append")
    people = dbt.ref("people")
    released = pf.Protocol.load(dbt.config.get("protocol")).sanitise(people.arrow())
    return released.slice(0, 0) if dbt.is_incremental else released
