"""Random Specs that can be: values of keys by their types, one after the other, without those that cannot be added."""

from typing import Any, Literal, get_args, get_origin

from hypothesis import strategies as st
from pydantic import ValidationError

from privacyfunnel.spec.grammar import kinds_of
from privacyfunnel.spec.spec import Spec

NAMES = st.text(st.sampled_from("ab1é .,:=\"+'\n\t-#{}\\|<>×\U0001f642"), min_size=1, max_size=5)
NUMBERS = (
    st.floats(0, 1) | st.floats(0, 100) | st.integers(0, 20).map(float) | st.sampled_from([1e-9, 1e300, 0.1, 2**53 + 2])
)
WORDS = {
    "notion": st.sampled_from(["lip", "ldp", "alip", "pml", "perfect", "srlip", "srldp", "belief"]),
    "bins": st.sampled_from(["each", "width:5"]),
}
"""Of texts that are more than any."""


PAST = {"secret": "ill", "after": "p.json", "person": "id", "columns": ["a", "auto"]}
BEGINNINGS = [
    {"secret": "ill"},
    {"secret": ["a", "b"], "epsilon": 1},
    {"secret": [["a"], ["b"]], "notion": {"a": "lip", "b": "srlip"}, "epsilon": {"a": 1, "b": 0.5}, "known": {"b": 2}},
    {"secret": "ill", "confidence": 0.9, "exact_fit": True},
    {"secret": "ill", "known": ["1", "b+"], "notion": "srlip", "epsilon": {"<=5": 1}},
    {"secret": "ill", "notion": "alip", "lower": 1, "upper": 0.5, "chain": ["a", "b"], "confidence": 0.5},
    {"secret": "ill", "ordered": True, "error": {"a": 0.5}},
    {"secret": "ill", "keep": 1, "objective": "information"},
    {"improve": "p.json"},
    PAST | {"released": ["a.csv", "b,c.csv"]},
    PAST | {"was": ["a.csv"], "unchanged": "keep"},
]


def values(annotation: Any, texts: st.SearchStrategy[str] = NAMES) -> st.SearchStrategy[Any]:
    """Values of a type."""
    return st.one_of([_values(kind, texts) for kind in kinds_of(annotation)])


def _values(kind: Any, texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if get_origin(kind) is tuple:
        return st.lists(values(get_args(kind)[0]), min_size=1, max_size=3).map(tuple)
    if get_origin(kind) is dict:
        return st.dictionaries(NAMES, values(get_args(kind)[1], texts), min_size=1, max_size=3)
    plain = {bool: st.booleans(), int: st.integers(0, 40), float: NUMBERS, str: texts}
    return plain[kind]


@st.composite
def specs(draw: st.DrawFn, model: type[Spec] = Spec) -> Spec:
    """A Spec that can be."""
    found = model.model_validate(draw(st.sampled_from(BEGINNINGS)))
    for name in draw(st.lists(st.sampled_from(list(model.model_fields)), max_size=10)):
        value = draw(values(model.model_fields[name].annotation, WORDS.get(name, NAMES)))
        try:
            found = model.model_validate({**found.said(), name: value})
        except ValidationError:
            continue
    return found
