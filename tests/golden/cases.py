"""What is run: chains of command lines, each in a folder of its own with the tables of `tables.py` in it.

A line may use what the lines before it wrote. Names of options stand here and nowhere else in this folder, so that
whoever renames one changes this file and no golden one. Searches end by their gap, long before any limit of time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

HEIGHT, WEIGHT, AGE = (
    "--set bins=height=120,165,175,220",
    "--set bins=weight=35,70,90,250",
    "--set bins=age=18,40,65,90",
)
ALL = f"people.csv --secret obese --columns sex,town,height,weight {HEIGHT} {WEIGHT}"
"""Some tens of combinations of values, so that a fit takes a second at most."""
SOME = f"people.csv --secret obese --columns sex,height,weight {HEIGHT} {WEIGHT}"
FEW = "people.csv --secret obese --columns sex,town"
BOTH = f"people.csv --secret obese --secret age --columns sex,town {AGE}"
RELEASED = {
    "fit": f"fit {ALL} --epsilon 0.2 -o protocol.json",
    "sanitise": "sanitise people.csv --protocol protocol.json -o open.csv",
}
PUBLISHED = "--title People --licence CC-BY-4.0 --publisher Office --contact data@example.org -o published"
KEY = "--remember years.key --person name"


@dataclass(frozen=True)
class Chain:
    """Commands that share a folder."""

    table: Literal["people", "adult", "compas", "dutch_census2001"]
    lines: dict[str, str]
    given: bool = False
    """Whether its protocol is given, not searched for: then everything is compared to the last digit that is kept."""
    long: bool = False
    models: bool = False
    """Whether private fits make models of these small tables."""


def fits(lines: dict[str, str]) -> dict[str, str]:
    """Every fit, and the audit of what it wrote."""
    found = {}
    for name, line in lines.items():
        found[name] = f"fit {line} -o p.json --force"
        found[f"{name}, audited"] = "audit p.json" + (" --table people.csv" if "exact-fit" in line else "")
    return found


PEOPLE = {
    "demo": {"demo": "demo"},
    "begun": {
        "help": "--help",
        "studio": "studio --help",
        "paper": "paper --figure 2 --draws 1 --slow-draws 1 --epsilons 1 --jobs 1 -o paper",
        "init": "init people.csv --secret obese -o recipe.toml",
        "dry run": "run recipe.toml --dry-run",
        "tradeoff": f"tradeoff {SOME} --epsilons 0.1,0.5",
        "tradeoff of information": f"tradeoff {FEW} --notion ldp --epsilons 0.1,0.5 --set objective=information",
        "domain": "domain people.csv --columns obese,sex,town -o domain.json",
        "declared": f"fit {FEW} --domain domain.json --epsilon 0.3 -o declared.json",
        "declared, audited": "audit declared.json",
        "no such column": "fit people.csv --secret nobody --epsilon 1 -o no.json",
        "no such option": f"fit {FEW} --epsilon 1 --nothing -o no.json",
        "no such file": "audit no.json",
        "too fine": "fit people.csv --secret obese --columns sex,age,height,weight --epsilon 0.5 --set at-least=10 "
                    "-o no.json",
    },
    "read": RELEASED | {
        "audit": "audit protocol.json",
        "audit on the table": "audit protocol.json --table people.csv --attack",
        "estimate": "estimate open.csv --protocol protocol.json --of weight,sex:town",
        "estimate by": "estimate open.csv --protocol protocol.json --of town --by sex --simultaneous",
        "compare": "estimate open.csv --protocol protocol.json --of weight --compare sex --rows fitted",
        "associate": "estimate open.csv --protocol protocol.json --of weight:town --association --rows fitted",
        "regress": "regress open.csv 'weight ~ height + sex + C(town)' --protocol protocol.json --rows fitted",
        "improve": "fit people.csv --set improve=protocol.json -o better.json",
        "improved, audited": "audit better.json",
        "written twice": "sanitise people.csv --protocol protocol.json -o open.csv",
    },
    "published": RELEASED | {
        "report": "report protocol.json --table people.csv -o report.html --no-curves",
        "public report": "report protocol.json --public -o statement.html",
        "publish": f"publish open.csv --protocol protocol.json {PUBLISHED}",
        "estimate": "estimate published/table.csv --protocol published/protocol.json --of weight",
        "of other rows": f"publish people.csv --protocol protocol.json {PUBLISHED}-not",
    },
    "a whole table": {
        "release": f"release people.csv --secret obese --columns sex,town,age {AGE} -o released",
        "audit": "audit released/protocol.json",
        "estimate": "estimate released/table.csv --protocol released/protocol.json --of sex",
        "persons": "persons people.csv --person town -o towns.csv",
    },
    "by a recipe": {
        "run": "run people.toml",
        "audit": "audit made/protocol.json",
        "estimate": "estimate made/published/table.csv --protocol made/published/protocol.json --of town",
    },
    "by hand": {
        "sanitise": "sanitise people.csv --protocol hand.json --seed 1 --keep-order -o open.csv",
        "sanitise, shuffled": "sanitise people.csv --protocol hand.json --seed 1 -o shuffled.csv.gz",
        "sanitise for Parquet": "sanitise people.csv --protocol hand.json --seed 1 --keep-order -o open.parquet",
        "audit, broken": "audit hand.json --table people.csv --attack",
        "audit, kept": "audit hand.json --table last-year.csv",
        "audit of nothing": "audit hand.json",
        "estimate": "estimate open.csv --protocol hand.json --of sex,town,sex:town",
        "estimate projected": "estimate open.csv --protocol hand.json --of town --where sex=male --project",
        "compare": "estimate open.csv --protocol hand.json --of town --compare sex",
        "associate": "estimate open.csv --protocol hand.json --of sex:town --association",
        "regress": "regress open.csv 'sex ~ C(town)' --protocol hand.json --family binomial",
        "report": "report hand.json --table people.csv -o report.html --no-curves",
        "publish": f"publish open.csv --protocol hand.json {PUBLISHED}",
    },
    "by a model": {
        "fit": f"fit {ALL} --epsilon 0.5 --private 1 -o wide.json",
        "audit": "audit wide.json",
        "sanitise": "sanitise people.csv --protocol wide.json -o open.csv",
        "estimate": "estimate open.csv --protocol wide.json --of town,sex:town",
        "compare": "estimate open.csv --protocol wide.json --of height --compare sex",
        "regress": "regress open.csv 'height ~ sex' --protocol wide.json",
        "report": "report wide.json --public -o statement.html",
        "publish": f"publish open.csv --protocol wide.json {PUBLISHED}",
        "estimate what is published": "estimate published/table.csv --protocol published/protocol.json --of town",
        "audit on the table": "audit wide.json --table people.csv",
        "attack": "audit wide.json --table people.csv --attack",
        "report on the table": "report wide.json --table people.csv -o report.html",
        "sanitise again": f"sanitise people.csv --protocol wide.json {KEY} -o again.csv",
        "ledger": "ledger show years.key",
        "sanitise for Parquet": "sanitise people.csv --protocol wide.json -o open.parquet",
        "run": "run model.toml",
        "associate": "estimate open.csv --protocol wide.json --of height:sex --association",
        "follow": f"fit {FEW} --epsilon 0.6 --set after=wide.json -o after.json",
        "laplace": f"fit {SOME} --epsilon 0.5 --set delta=0 -o laplace.json",
        "laplace, audited": "audit laplace.json",
    },
    "followed up": {
        "first": f"fit {FEW} --epsilon 0.2 -o first.json",
        "first rows": "sanitise people.csv --protocol first.json --person name --internal kept.parquet -o open.csv",
        "second": f"fit {FEW},height {HEIGHT} --epsilon 0.5 --set after=first.json"
        " --set released=kept.parquet --set person=name -o second.json",
        "second rows": "sanitise people.csv --protocol second.json --released kept.parquet --person name"
        " --internal kept2.parquet -o open2.csv",
        "audit": "audit second.json --after first.json",
        "audit on the table": "audit second.json --table people.csv",
        "estimate": "estimate kept2.parquet --protocol second.json --released kept.parquet --person name"
        " --of sex,town",
        "report": "report second.json --public -o statement.html",
        "publish": f"publish open2.csv --protocol second.json {PUBLISHED}",
        "audit what is published": "audit published/protocol.json",
        "second rows for Parquet": "sanitise people.csv --protocol second.json --released kept.parquet --person name"
        " -o open2.parquet",
        "run": "run next.toml",
        "attack": "audit second.json --table people.csv --attack",
        "report on the table": "report second.json --table people.csv -o report.html",
        "compare": "estimate kept2.parquet --protocol second.json --released kept.parquet --person name"
        " --of town --compare sex",
        "associate": "estimate kept2.parquet --protocol second.json --released kept.parquet --person name"
        " --of town:sex --association",
        "regress": "regress kept2.parquet 'sex ~ C(town)' --family binomial --protocol second.json"
        " --released kept.parquet --person name",
    },
    "remembered": {
        "one": "fit last-year.csv --secret obese --columns sex --epsilon 0.2 -o one.json",
        "one, drawn": f"sanitise last-year.csv --protocol one.json {KEY} -o one.csv",
        "limit": "ledger limit years.key --epsilon 0.7",
        "two": "fit last-year.csv --secret obese --columns sex,town --epsilon 0.4 --set after=one.json -o two.json",
        "two, drawn": f"sanitise last-year.csv --protocol two.json {KEY} -o two.csv",
        "three": f"fit {FEW} --set was=last-year.csv --set person=name --epsilon 0.6 --set after=two.json"
        " -o three.json",
        "three, drawn": f"sanitise people.csv --was last-year.csv --protocol three.json {KEY} -o three.csv",
        "three, audited": "audit three.json --table people.csv --was last-year.csv --person name",
        "beyond the limit": "fit last-year.csv --secret obese --columns town --epsilon 0.5 -o other.json",
        "beyond the limit, drawn": f"sanitise last-year.csv --protocol other.json {KEY} -o other.csv",
        "ledger": "ledger show years.key",
        "verify": "ledger verify years.key",
        "changes": "changes people.csv --was last-year.csv --person name --columns sex,town -o both.parquet",
    },
    "promises": fits({
        "ldp": f"{FEW} --notion ldp --epsilon 0.5",
        "exact counts": f"{SOME} --epsilon 0.2 --set exact-fit --set objective=information",
        "alip": f"{FEW} --notion alip --set lower=0.2 --set upper=0.1",
        "pml": f"{FEW} --notion pml --epsilon 0.1",
        "perfect": f"{FEW} --notion perfect",
        "srlip": f"{SOME} --notion srlip --epsilon 0.5 --known 1",
        "srldp": f"{FEW} --notion srldp --epsilon 0.5 --set exact-fit",
        "belief": f"{FEW} --notion belief --epsilon yes=0.4",
        "levels of values": f"{FEW} --epsilon yes=0.1,no=0.5",
        "several secrets": f"{BOTH} --epsilon obese=0.2,age=0.1",
        "one secret of two": f"people.csv --secret obese,age --columns sex,town {AGE} --epsilon 0.3",
        "ordered": f"people.csv --secret age --columns sex,town,height {AGE} {HEIGHT} --set ordered --epsilon 0.2"
        " --set per-range=0.5",
        "exact columns": f"{SOME} --epsilon 1 --keep-exact sex",
        "a secret released": "people.csv --secret sex --columns sex,town --set allow-secret-attribute --epsilon 0.5"
        " --set exact-fit",
    }),
    "for the population": fits({
        "nested": f"{FEW} --epsilon 0.1 --confidence 0.95",
        "nested, in one order": f"{FEW} --epsilon 0.3 --confidence 0.9 --set chain=sex,town",
        "several secrets": f"{BOTH} --epsilon 0.5 --confidence 0.95",
        "intervals, exact counts": f"{FEW} --epsilon 0.1 --confidence 0.95 --set exact-fit --set within=intervals",
    }),
    "wishes": fits({
        "keep": f"{SOME} --set keep=0.9",
        "error": f"{FEW} --set error=town=0.008 --set objective=information",
        "readers": f"{SOME} --epsilon 0.1 --set objective=information --set readers=pairs --set give-up=0.05",
        "weights": f"{SOME} --epsilon 0.1 --set weight=sex=3,height=0.5",
        "threshold": f"{SOME} --epsilon 0.3 --private 2 --set delta=1e-6 --set at-least=30",
        "part of the people": f"{SOME} --epsilon 0.3 --where \"town = 'Ashford' and age >= 40\" --set gap=0.0001",
        "columns chosen": "people.csv --secret obese --columns auto --set coarsen=auto --epsilon 0.5"
        f" --set objective=information {HEIGHT} {WEIGHT}",
        "merged": f"{FEW} --notion srlip --epsilon 1 --set coarsen=search --set group=town:north=Ashford,Clayton",
        "information": f"{ALL} --epsilon 0.1 --set objective=information",
    }),
}  # fmt: skip


def whole_way(asked: str, first: str) -> dict[str, str]:
    """From a real table to a published folder; `first` is a column to count."""
    name = asked.split()[0]
    return {
        "fit": f"fit {asked} --epsilon 0.3 -o protocol.json",
        "sanitise": f"sanitise {name} --protocol protocol.json -o open.csv",
        "audit": f"audit protocol.json --table {name}",
        "estimate": f"estimate open.csv --protocol protocol.json --of {first}",
        "report": f"report protocol.json --table {name} -o report.html --no-curves",
        "publish": f"publish open.csv --protocol protocol.json {PUBLISHED}",
        "init": f"init {name} -o recipe.toml",
    }


def by_a_model(asked: str, first: str) -> dict[str, str]:
    """The same by a model, which is not published."""
    return {
        "fit": f"fit {asked} --epsilon 0.3 -o wide.json",
        "audit": "audit wide.json",
        "sanitise": f"sanitise {asked.split()[0]} --protocol wide.json -o open.csv",
        "estimate": f"estimate open.csv --protocol wide.json --of {first}",
    }


COMPAS = {
    "whole way": whole_way("compas.csv --secret race --columns age_cat,sex,c_charge_degree,two_year_recid", "sex"),
    "by a model": by_a_model(
        "compas.csv --secret two_year_recid --columns age_cat,sex,c_charge_degree,race,score_text", "race"
    ),
    "nearly determined": fits({
        "lip": "compas.csv --secret two_year_recid --columns is_recid,score_text,age_cat --epsilon 0.5",
    }),
}  # fmt: skip
OF_ADULT = "adult.csv --secret income --set missing=? --columns sex,race,marital_status"
ADULT = {
    "whole way": whole_way(f"{OF_ADULT},education", "marital_status")
    | {"attack": "audit protocol.json --table adult.csv --attack"},
    "by a model": by_a_model(f"{OF_ADULT},workclass,relationship", "race"),
    "promises": fits({
        "information": f"{OF_ADULT} --epsilon 0.1 --set objective=information",
        "srlip": f"{OF_ADULT} --epsilon 0.5 --notion srlip",
    }),
}  # fmt: skip
DUTCH = {
    "whole way": whole_way(
        "dutch_census2001.csv --secret household_position --columns household_size,marital_status,sex", "sex"
    ),
    "by a model": by_a_model(
        "dutch_census2001.csv --secret sex --columns household_size,marital_status,edu_level,citizenship",
        "marital_status",
    ),
    "promises": fits({"ldp": "dutch_census2001.csv --secret sex --columns edu_level,age --notion ldp --epsilon 0.5"}),
}
CHAINS = {
    **{name: Chain("people", lines, name == "by hand", models=name == "by a model") for name, lines in PEOPLE.items()},
    **{f"compas {name}": Chain("compas", lines, models=name == "by a model") for name, lines in COMPAS.items()},
    **{f"adult {name}": Chain("adult", lines, long=True, models=name == "by a model") for name, lines in ADULT.items()},
    **{
        f"dutch {name}": Chain("dutch_census2001", lines, long=True, models=name == "by a model")
        for name, lines in DUTCH.items()
    },
}
