"""Shared set-up: Hypothesis profiles, and where the shared reference data lies."""

import html
import json
import os
import signal
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers

from limits import pytest_runtest_call, pytest_runtest_protocol  # noqa: F401 - pytest finds them here

STEADY = "steady"
SHARE = 0.5
"""Of the examples that a property asks for, in `make test`. Long tests, mutations and `make search` try all of them."""
_COMMON = {
    "deadline": None,
    "database": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile(STEADY, derandomize=True, max_examples=40, **_COMMON)
settings.register_profile(
    "first failure", derandomize=True, max_examples=40, phases=[Phase.explicit, Phase.generate], **_COMMON
)
settings.register_profile("search", max_examples=400, **_COMMON)  # for tools/searching.py, which gives the seed
_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", STEADY)
settings.load_profile(_PROFILE)
if _PROFILE != "search" and hasattr(providers, "_get_local_constants"):
    # Hypothesis also tries constants of those modules of ours that are loaded, and so draws depended on which tests
    # had run before.
    providers._get_local_constants = lambda: providers._local_constants

for _name, _usual in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
    _number = getattr(signal, _name, None)
    if _number and signal.getsignal(_number) == signal.SIG_IGN:  # in the background of a script, and under nohup
        signal.signal(_number, _usual)  # for the processes that tests interrupt


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the reference optima, beside the repository."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("the shared folder with the reference data is not beside the repository")
    return folder


@pytest.fixture(scope="session")
def compiled_loops() -> None:
    """Loops are compiled when they are first used, for which the clock of time limits stands, and later loaded.

    That takes a second or two, which no short time limit of a test should have to pay.
    """
    import numpy as np

    import privacyfunnel as pf
    from privacyfunnel.numeric.clock import ticks
    from privacyfunnel.optimiser.splitting.search import split_search

    joint = pf.Joint(np.random.default_rng(0).random((2, 3, 3, 2)))
    pf.optimise(joint, pf.SRLIP(0.5), gap=1e-3, time_limit=60)
    split_search(joint, pf.SRLIP(0.5), 10.0, None, threading.Event(), ticks())


@pytest.fixture(autouse=True)
def repeatable_noise(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of private fits by a generator with a seed, so that a test that passed passes again.

    It has the law of OpenDP's, which takes none; drawing/test_laplace.py and test_gaussian.py test that this is the
    law, and whole fits with OpenDP's own noise in tables/test_privacy_of_the_fit.py. Processes that tests start use the
    real one.
    """
    import zlib

    _noise_by(monkeypatch, zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(scope="session")
def noise_with_seed() -> Callable[[int], AbstractContextManager[None]]:
    """The same for fixtures of whole modules, which are made before `repeatable_noise`: `with noise_with_seed(1): …`"""

    @contextmanager
    def seeded(seed: int) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            _noise_by(patch, seed)
            yield

    return seeded


def _noise_by(patch: pytest.MonkeyPatch, seed: int) -> None:
    import math

    import numpy as np

    from privacyfunnel.distribution.noise import threshold_for
    from privacyfunnel.drawing.laplace import checked_epsilon

    rng = np.random.default_rng(seed)

    def noised(counts: np.ndarray, epsilon: float) -> np.ndarray:
        going_on = 1 - np.exp(-epsilon / 2)
        return counts + rng.geometric(going_on, counts.shape) - rng.geometric(going_on, counts.shape)

    def checked(counts: np.ndarray, epsilon: float) -> np.ndarray:
        return noised(counts, checked_epsilon(epsilon))

    def above(counts: np.ndarray, epsilon: float, delta: float) -> np.ndarray:
        found = checked(counts, epsilon)
        return np.where(found >= threshold_for(epsilon, delta), found, 0)

    patch.setattr("privacyfunnel.tables.private_counts.noised", checked)
    patch.setattr("privacyfunnel.tables.private_counts.noised_above", above)
    patch.setattr("privacyfunnel.tables.wide.marginals.noised_in_part", noised)

    def gaussian_noised(counts: np.ndarray, sigma: float) -> np.ndarray:
        z = np.arange(-math.ceil(12 * sigma), math.ceil(12 * sigma) + 1)
        law = np.exp(-((z / sigma) ** 2) / 2)
        return counts + rng.choice(z, counts.shape, p=law / law.sum())

    patch.setattr("privacyfunnel.tables.wide.all_pairs.gaussian_noised", gaussian_noised)
    patch.setattr("privacyfunnel.model.fitting.gaussian_noised", gaussian_noised)

    def noisy_largest(scores: list[float], sensitivity: float, epsilon: float) -> int:
        noise = rng.exponential(2 * sensitivity / epsilon, len(scores))
        return int(np.argmax(np.array(scores) + noise))

    patch.setattr("privacyfunnel.advice.choosing.noisy_largest", noisy_largest)
    patch.setattr("privacyfunnel.model.fitting.noisy_largest", noisy_largest)


@pytest.fixture
def sketched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures as the data that they show: Altair's checks and Vega take most of the time of a page.

    Folders whose tests read what pages say use it for all of them, but for those marked as `drawn`.
    """
    if request.node.get_closest_marker("drawn") is None:
        monkeypatch.setattr("privacyfunnel.report.pictures.to_svg", lambda chart: _sketch(chart, monkeypatch))


def _sketch(chart: Any, patch: pytest.MonkeyPatch) -> str:
    patch.setattr("altair.utils.schemapi.DEBUG_MODE", False)  # parts of the charts to come are not checked either
    return f"<svg>{html.escape(json.dumps(chart.to_dict(validate=False)['datasets']))}</svg>"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Properties try a share of their examples in `make test`, and long tests come by turns."""
    if _PROFILE == STEADY:
        for test in {item.obj for item in items if not item.get_closest_marker("long") and _is_property(item)}:
            asked = test._hypothesis_internal_use_settings
            test._hypothesis_internal_use_settings = settings(asked, max_examples=ceil(SHARE * asked.max_examples))
    if config.option.markexpr == "long":
        _by_turns(config, items)


def _is_property(item: pytest.Item) -> bool:
    return hasattr(getattr(item, "obj", None), "_hypothesis_internal_use_settings")


def _by_turns(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With TURNS=5 and TURN=3 in the environment, a fifth of the long tests, which are others at another turn.

    Mutations choose for themselves which of them are to be tried (tests/mutants.py). The tests that they run in
    processes of their own are named, and run whatever turn it is.
    """
    turns, turn = (int(os.environ.get(name) or usual) for name, usual in (("TURNS", 1), ("TURN", 0)))

    def is_due(item: pytest.Item) -> bool:
        by_itself = item.get_closest_marker("every_turn") is not None
        return by_itself or zlib.crc32(item.nodeid.encode()) % turns == turn % turns

    others = [item for item in items if not is_due(item)]
    if others:
        items[:] = [item for item in items if is_due(item)]
        config.hook.pytest_deselected(items=others)
