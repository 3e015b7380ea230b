"""How likely a released row can make the rarest value of the secret is said before anything is released."""

import math

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from privacyfunnel.cli.app import run
from privacyfunnel.distribution.joint import Joint
from privacyfunnel.distribution.noise import Noise
from privacyfunnel.promises.belief import Belief
from privacyfunnel.promises.notions import LDP, LIP
from privacyfunnel.report.rarest import rarest, rarest_words

SHARES = np.array([0.9, 0.08, 0.02])


def joint(noise=None):
    found = Joint(SHARES[:, None] * [0.5, 0.5], secret_values=("ok", "flu", "rare"), secret="diagnosis")
    found.noise = noise
    return found


@pytest.mark.parametrize(
    ("promise", "most"),
    [
        (LIP(math.log(2)), 0.04),  # P(s)·e^ε
        (LDP(math.log(2)), 0.04 / 1.02),  # odds of 2 to 98 become 4 to 98
        (LIP(math.log(1000)), None),
        (Belief({"rare": 0.05}), 0.05),
    ],
)
def test_the_most_that_can_be_believed_of_the_rarest_value_is_as_by_hand(promise, most):
    found = rarest(promise, joint())
    if most is None:
        assert found is None or found.most < 1
    else:
        assert found is not None
        assert (found.value, found.prior) == ("rare", pytest.approx(0.02))
        assert found.most == pytest.approx(most)


def test_a_value_that_does_not_show_through_the_noise_is_not_promised_anything():
    noise = Noise(1.0, 1000, ("X",), np.array([[450, 450], [40, 40], [1, 0]]))
    assert noise.faint.tolist() == [2]
    found = rarest(LIP(math.log(2)), joint(noise))
    assert found is not None
    assert (found.value, found.most) == ("flu", pytest.approx(0.16))
    assert "the rarest value of diagnosis that shows through the noise." in rarest_words(joint(noise), {"": found})


def test_fit_and_tradeoff_say_it_beforehand(tmp_path, capsys):
    """By hand: 20 of 1,000 people are ill; e^0.5 and e times 2% are 3.298% and 5.437%; bounds are rounded up."""
    ill = np.array(["no", "yes"])[(np.arange(1000) % 50 == 0).astype(int)]
    sex = np.array(["f", "m"])[np.random.default_rng(1).integers(0, 2, 1000)]
    pa_csv.write_csv(pa.table({"ill": ill, "sex": sex}), tmp_path / "t.csv")
    asked = [str(tmp_path / "t.csv"), "--secret", "ill", "--columns", "sex"]
    assert run(["tradeoff", *asked, "--epsilons", "0.5,1"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "For you alone: 2.0% of the people have the rarest value of ill." in said
    assert "a released row makes it at most 3.3% likely at ε = 0.5, 5.44% likely at ε = 1." in said
    assert run(["fit", *asked, "--epsilon", "0.5", "--set", "exact-fit", "-o", str(tmp_path / "p.json")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "2.0% of the people have the rarest value of ill." in said
    assert "a released row makes it at most 3.3% likely." in said
