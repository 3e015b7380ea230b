"""The Spec of what is typed after funnel fit, by the command itself."""

from collections.abc import Sequence

from privacyfunnel.cli.app import command
from privacyfunnel.cli.asking import spec_of
from privacyfunnel.spec.key import keys_of
from privacyfunnel.spec.spec import Spec


def typed(words: Sequence[object]) -> Spec:
    """What they ask for."""
    given = command("fit").make_context("fit", [str(word) for word in words]).params
    return spec_of(given, keys_of(Spec), Spec)
