"""Files that somebody forged: each a change of a good one, under a digest that fits again. None of them is random."""

import hashlib
import json
import re
from functools import cache

import numpy as np

import checked_files as files
import privacyfunnel as pf
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
    return {"channel": to_text(first), "by_history": to_text(second), "by_model": to_text(wide_protocol())}


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
    "a looser promise": lambda c, s: promised(c, epsilon=3.0),
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
FORGERIES = {
    "channel": OF_ANY | OF_COUNTS | ALONE,
    "by_history": OF_ANY | OF_COUNTS | FOLLOWING,
    "by_model": OF_ANY,
}
BESIDE = {
    "a guarantee in other words": lambda c, s: c.update(guarantee="Nobody learns anything."),
    "the words of a stricter promise": lambda c, s: c["promise"].update(epsilon=3.0),
    "more kept than can be": lambda c, s: c.update(utility_nats=c["upper_bound_nats"] + 1),
}
"""What is not a part of the promise: `check.py` and the page say that they do not look at it."""


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
    for name, change in BESIDE.items():
        content = json.loads(good()[kind])
        change(content, content["chain"][0])
        yield name, files.sealed(content)
