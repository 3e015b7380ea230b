"""Files that somebody forged: each a change of a good one, under a digest that fits again. None of them is random."""

import hashlib
import json
import re
from dataclasses import replace
from functools import cache
from unittest.mock import patch

import numpy as np

import checked_files as files
import privacyfunnel as pf
from privacyfunnel.distribution.column import OPEN, Column
from privacyfunnel.model.columns import by_label, by_number, cells_of
from privacyfunnel.model.fitting import fit_fill
from privacyfunnel.promises.notions import notion_from
from privacyfunnel.protocols.file import to_text
from wide_files import wide_protocol

UNIT = 2**32
COUNTS = np.array([[[900, 300, 40], [200, 400, 10]], [[100, 600, 30], [300, 50, 250]]])


@cache
def good():
    """The text of a file of every kind, and of one with several secrets."""
    joint = files.noise_joint(COUNTS, ["sex", "town"])
    first = pf.optimise(joint, pf.LIP(0.3))
    second = pf.optimise(joint, pf.LIP(0.7), after=first)
    of_step = {"channel": to_text(first), "by_history": to_text(second), "by_model": to_text(wide_protocol())}
    return of_step | {"filled": to_text(with_filled_columns(first))}


def with_filled_columns(protocol):
    """The same with a column of labels and one of numbers filled, from people with just these kept values."""
    rng, codes = np.random.default_rng(2), np.argwhere(COUNTS >= 0)
    sex, town = codes[np.repeat(np.arange(len(codes)), COUNTS.ravel()), 1:].T
    labels = Column(name="job", kind="text", labels=("a", "b", "c"))
    ranges = Column(name="age", kind="bins", edges=(0.0, 30.0, 60.0, OPEN), labels=("0", "30", "60"))
    counted, age = [by_label(labels), by_number(ranges, 0, 4, False)], rng.integers(0, 90, len(sex))
    cells = {"job": (sex + rng.integers(0, 2, len(sex))) % 3, "age": cells_of(counted[1], age // 30, age.astype(float))}
    kept = {"sex": (sex, 2), "town": (town, 3)}
    with (
        patch("privacyfunnel.model.fitting.gaussian_noised", lambda c, s: c + np.rint(rng.normal(0, s, c.shape))),
        patch("privacyfunnel.model.fitting.noisy_largest", lambda scores, *_: int(np.argmax(scores))),
    ):
        fill = fit_fill(kept, counted, cells, ("sex", "town", "job", "age"), 4.0, 1e-6, 0.3, 1.0)
    return replace(protocol, fill=fill)


def promised(content, **said):
    """Another promise, and the words that belong to it."""
    content["promise"] = {"notion": "lip", "epsilon": 0.3} | said
    content["guarantee"] = notion_from(content["promise"]).words()


def as_it_is(content):
    """A channel that releases every row as it is."""
    step, n = content["chain"][0], len(content["chain"][0]["values"])
    step.update(outputs=n, labels=list(range(n)), channel=[[x, UNIT] for x in range(n)], draw=None)
    step["marginal"] = [UNIT - n + 1, *[1] * (n - 1)]


def names_swapped(step):
    """Two columns under each other's names."""
    one, other, *_ = step["columns"]
    one["name"], other["name"] = other["name"], one["name"]


def before(change):
    """The same forgery in the release that this one follows, under a digest of its own."""

    def forge(content, _):
        own = content["before"]
        change(own, own["chain"][0])
        content["before"] = json.loads(files.sealed(own))

    return forge


LOOSER = "a looser promise"
OF_ANY = {
    "untouched": lambda c, s: None,
    "noise restated as less": lambda c, s: c["noise"].update(epsilon=20.0),
    "noise restated as no number": lambda c, s: c["noise"].update(epsilon="1"),
    "noise of 10^400": lambda c, s: c["noise"].update(epsilon=10**400),
    "names of columns swapped": lambda c, s: names_swapped(s),
    "columns swapped": lambda c, s: s["columns"].reverse(),
    "a label twice": lambda c, s: s["columns"][0]["labels"].__setitem__(0, s["columns"][0]["labels"][1]),
    "a column of no kind": lambda c, s: s["columns"][0].update(kind="secret"),
    "an entry more in a column": lambda c, s: s["columns"][0].update(more=1),
    "an entry more": lambda c, s: c.update(more=1),
    "an entry more in the noise": lambda c, s: c["noise"].update(more=1),
    "an entry more in the promise": lambda c, s: c["promise"].update(more=1),
    "a stricter promise": lambda c, s: promised(c, epsilon=0.01),
    LOOSER: lambda c, s: promised(c, epsilon=3.0),
    "a promise of another kind": lambda c, s: promised(c, notion="ldp"),
    "a promise to those who know columns": lambda c, s: promised(c, notion="srlip", known=None),
    "a promise of no kind": lambda c, s: c["promise"].update(notion="safe"),
    "a level in words": lambda c, s: c["promise"].update(epsilon="0.3"),
    "a level that is true": lambda c, s: c["promise"].update(epsilon=True),
    "a level below zero": lambda c, s: c["promise"].update(epsilon=-1.0),
    "a level of minus zero": lambda c, s: c["promise"].update(epsilon=-0.0),
    "people of another table": lambda c, s: c.update(people=c["people"] + 1),
    "nobody": lambda c, s: c.update(people=None),
    "a threshold that nobody reaches": lambda c, s: c.update(at_least=10**9),
    "given probabilities": lambda c, s: c.update(fitted="given probabilities"),
    "two steps": lambda c, s: c["chain"].append(s),
    "no step": lambda c, s: c["chain"].clear(),
    "a step of another name": lambda c, s: s.update(step="fill"),
    "the secret is released": lambda c, s: (
        c.update(secret=s["columns"][0]["name"]),
        c.update(secret_readings=[{"name": c["secret"], "kind": "text", "edges": [], "missing": []}]),
    ),
    "a secret that was not read": lambda c, s: c.update(
        secret_readings=[{"name": "another", "kind": "text", "edges": [], "missing": []}]
    ),
    "another schema": lambda c, s: c.update(schema="privacyfunnel/2"),
    "declared, perhaps": lambda c, s: c["noise"].update(declared=3),
}
OF_COUNTS = {
    "more noise than it has": lambda c, s: c["noise"].update(epsilon=0.001),
    "counts of another secret": lambda c, s: c["noise"].update(counts=[own[::-1] for own in c["noise"]["counts"]]),
    "another order of the secret": lambda c, s: c["noise"]["counts"].reverse(),
    "a third secret": lambda c, s: c["noise"]["counts"].append([0] * len(c["noise"]["counts"][0])),
    "one secret": lambda c, s: c["noise"]["counts"].pop(),
    "a count of 10^30": lambda c, s: c["noise"]["counts"][0].__setitem__(0, 10**30),
    "a count that is a float": lambda c, s: c["noise"]["counts"][0].__setitem__(0, 900.0),
    "counts that are all alike": lambda c, s: c["noise"].update(
        counts=[[7] * len(own) for own in c["noise"]["counts"]]
    ),
    "some counts are told": lambda c, s: c["noise"].update(combinations=s["values"], delta=1e-9),
    "a column was chosen for less than nothing": lambda c, s: c["noise"].update(choosing=-1),
    "columns of counts swapped": lambda c, s: c["noise"]["attributes"].reverse(),
    "columns of the channel swapped": lambda c, s: s["channel"].reverse(),
    "a unit lost": lambda c, s: s["channel"][0].__setitem__(1, s["channel"][0][1] - 1),
    "a draw that is a float": lambda c, s: s["channel"][0].__setitem__(1, float(s["channel"][0][1])),
    "an output that is false": lambda c, s: s["channel"][0].__setitem__(0, False),
    "values in another order": lambda c, s: s["values"].reverse(),
    "nothing is near": lambda c, s: s.update(nearest=False),
}
ALONE = {
    "every row as it is": lambda c, s: as_it_is(c),
    "no draw": lambda c, s: s.update(draw=None),
    "a draw of the first output": lambda c, s: s.update(draw=[UNIT, *[0] * (s["outputs"] - 1)]),
    "a column that stays exact": lambda c, s: s.update(exact=["sex"]),
    "it follows itself": lambda c, s: c.update(before=json.loads(files.sealed(c))),
}
FOLLOWING = {
    "it follows nothing": lambda c, s: c.update(before=None),
    "what it follows without a digest": lambda c, s: c["before"].pop("digest"),
    "what it follows changed under the old digest": lambda c, s: c["before"].update(people=1),
    "what it follows released every row as it is": before(lambda c, s: as_it_is(c)),
    "what it follows drew otherwise": before(lambda c, s: s["channel"].reverse()),
    "what it follows has broken counts": before(lambda c, s: c["noise"]["counts"][0].__setitem__(0, "900")),
    "what it follows has counts of others": before(lambda c, s: c["noise"]["counts"].reverse()),
    "what it follows has less noise": before(lambda c, s: c["noise"].update(epsilon=20.0)),
    "what it follows reads nothing as near": before(lambda c, s: s.update(nearest=False)),
    "a history less": lambda c, s: (s["histories"].pop(), s.update(channel=s["channel"][: -len(s["inputs"].pop())])),
}
NOISE_OF_FILL = {
    "no ε₀": {"epsilon": 0.0},
    "less ε₀": {"epsilon": 0.01},
    "ε₀ of 10^400": {"epsilon": 10**400},
    "ε₀ that is a text": {"epsilon": "4"},
    "more for choosing than there is": {"choosing": 8.0},
    "less than nothing for choosing": {"choosing": -1.0},
    "no noise": {"sigma": 0.0},
    "noise that is a text": {"sigma": "7"},
    "noise of 10^400": {"sigma": 10**400},
    "a δ₀ of one": {"delta": 1.0},
    "a δ₀ of none": {"delta": 0.0},
    "one table": {"tables": 1},
    "an entry more in its noise": {"more": 1},
}


def filled(content):
    return content["chain"][1]


FILLING = {
    f"a fill with {name}": lambda c, s, said=said: filled(c)["noise"].update(said)
    for name, said in NOISE_OF_FILL.items()
} | {
    "a unit lost in a fill": lambda c, s: filled(c)["filled"][0]["weights"][0].__setitem__(0, 1),
    "a weight below nothing": lambda c, s: filled(c)["filled"][0]["weights"][0].__setitem__(0, -5),
    "a weight that is a float": lambda c, s: filled(c)["filled"][0]["weights"][0].__setitem__(0, 1.0),
    "filled given the secret": lambda c, s: filled(c)["filled"][0].update(parents=[c["secret"]]),
    "filled given itself": lambda c, s: filled(c)["filled"][0].update(parents=[filled(c)["filled"][0]["name"]]),
    "filled given what comes later": lambda c, s: filled(c)["filled"][0].update(
        parents=[filled(c)["filled"][1]["name"]]
    ),
    "filled and kept": lambda c, s: filled(c)["filled"][0].update(name="sex"),
    "the secret is filled": lambda c, s: (
        c.update(secret="job"),
        c.update(secret_readings=[{"name": "job", "kind": "text", "edges": [], "missing": []}]),
    ),
    "a column less in the table": lambda c, s: filled(c)["order"].pop(),
    "a column twice in the table": lambda c, s: filled(c)["order"].append("sex"),
    "no filled column": lambda c, s: filled(c)["filled"].clear(),
    "nothing that is written": lambda c, s: filled(c)["inside"].clear(),
    "values of no column": lambda c, s: filled(c)["inside"][0].update(name="pet"),
    "a part of no value": lambda c, s: filled(c)["inside"][1]["parts"][0].__setitem__(0, 99),
    "a part that ends before it begins": lambda c, s: filled(c)["inside"][1]["parts"][0].__setitem__(2, -9),
    "ends beyond all parts": lambda c, s: filled(c)["inside"][1].update(ends=[99, 0]),
    "counts of another form": lambda c, s: filled(c)["filled"][0]["counts"].pop(),
    "a count of 10^30 in a fill": lambda c, s: filled(c)["filled"][0]["counts"][0].__setitem__(0, 10**30),
    "no counts in a fill": lambda c, s: filled(c)["filled"][0].pop("counts"),
    "an entry more in a filled column": lambda c, s: filled(c)["filled"][0].update(more=1),
    "an entry more in its values": lambda c, s: filled(c)["inside"][0].update(more=1),
    "two fills": lambda c, s: c["chain"].append(filled(c)),
    "the fill first": lambda c, s: c["chain"].reverse(),
}
READ = {
    "written in no known way": {"written": "roman"},
    "written as a number": {"written": 3},
    "about nothing in endless words": {"about": "x" * 2_000},
    "a value in a group of another": {"groups": [{"label": "0", "values": ["1"]}]},
    "others without a value": {"other": True},
    "a number that is missing": {"missing": [3]},
    "a kind that its values do not have": {"kind": "text"},
    "truths": {"kind": "boolean"},
    "ranges without borders": {"kind": "bins"},
}
OF_READING = {name: lambda c, s, said=said: s["columns"][0].update(said) for name, said in READ.items()} | {
    "what it is about": lambda c, s: s["columns"][0].update(about="sex at birth"),
    "written with commas": lambda c, s: s["columns"][0].update(written="comma"),
}
FORGERIES = {
    "channel": OF_ANY | OF_COUNTS | ALONE | OF_READING,
    "by_history": OF_ANY | OF_COUNTS | FOLLOWING,
    "by_model": OF_ANY,
    "filled": {
        name: one for name, one in (OF_ANY | OF_COUNTS | ALONE | FILLING | OF_READING).items() if name != LOOSER
    },
}
BESIDE = {
    "a guarantee in other words": lambda c, s: c.update(guarantee="Nobody learns anything."),
    "the words of a stricter promise": lambda c, s: c["promise"].update(epsilon=3.0),
    "more kept than can be": lambda c, s: c.update(utility_nats=c["upper_bound_nats"] + 1),
}
"""What is not a part of the promise: `check.py` and the page say that they do not look at it."""
BESIDE_OF_FILL = {
    "filled by other shares": lambda c, s: filled(c)["filled"][0]["weights"].__setitem__(0, [UNIT, 0, 0]),
    "counts of a filled column of others": lambda c, s: filled(c)["filled"][0]["counts"][0].__setitem__(0, 10**6),
    LOOSER: OF_ANY[LOOSER],
    "much more noise than was added": lambda c, s: filled(c)["noise"].update(sigma=1e8),
}
"""The same of filled columns: they tell nothing of a person, and their own ε₀, which goes with the promise, is left."""


def resealed(text):
    """A text that is not JSON as we write it, under the digest of just these letters."""
    head = text.rpartition(',\n"digest"')[0] + "\n}\n"
    return re.sub(r"sha256:\w+(?=\"\n}\n$)", f"sha256:{hashlib.sha256(head.encode()).hexdigest()}", text)


TEXTS = {
    "an entry twice": lambda text: text.replace('"people": ', '"people": 1,\n"people": ', 1),
    "a level twice": lambda text: text.replace('"epsilon": ', '"epsilon": 9, "epsilon": ', 1),
    "no number": lambda text: re.sub(r'"entropy_nats": [^,]+', '"entropy_nats": NaN', text),
    "infinity": lambda text: re.sub(r'"entropy_nats": [^,]+', '"entropy_nats": Infinity', text),
    "beyond floats": lambda text: re.sub(r'"entropy_nats": [^,]+', '"entropy_nats": 1e999', text),
    "5,000 digits": lambda text: re.sub(r'"people": \d+', '"people": ' + "9" * 5_000, text, count=1),
    "minus zero people": lambda text: re.sub(r'"at_least": \d+', '"at_least": -0', text, count=1),
    "a key by its number": lambda text: text.replace('"people"', '"peopl\\u0065"', 1),
    "a prototype": lambda text: text.replace('"people"', '"__proto__"', 1),
    "a mark at its start": lambda text: "\ufeff" + text,
    "a zero at its end": lambda text: text + "\0",
    "cut short": lambda text: text[:-100],
}


def forged(kind):
    """Every forged file of this kind, by the name of what was done."""
    text = good()[kind]
    for name, change in FORGERIES[kind].items():
        content = json.loads(text)
        change(content, content["chain"][0])
        yield name, files.sealed(content)
    for name, spell in TEXTS.items():
        yield name, resealed(spell(text))


def told_beside(kind):
    """Files whose promise is kept, and that say something untrue beside it."""
    for name, change in (BESIDE | (BESIDE_OF_FILL if kind == "filled" else {})).items():
        content = json.loads(good()[kind])
        change(content, content["chain"][0])
        yield name, files.sealed(content)
