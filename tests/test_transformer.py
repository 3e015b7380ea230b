"""The scikit-learn transformer: its checks, pipelines, DataFrames in and out, and what a fitted one holds."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import privacyfunnel as pf
from privacyfunnel.errors import InvalidInput, InvalidTable, UnseenValues
from privacyfunnel.proof.certificate import audit_publicly
from privacyfunnel.transformer import SECRET

RANDOM = "the draw of a row depends on the rows before it: a released row is random, not a function of the row"
EXCEPTIONS = {
    "check_methods_subset_invariance": RANDOM,
    "check_methods_sample_order_invariance": RANDOM,
}
"""The checks of scikit-learn that a randomised transformer cannot pass, and why."""


@pytest.mark.long
@parametrize_with_checks(
    [
        pf.PrivacyFunnel(
            objective=objective, bins=2, output="codes", unseen="draw", gap=0.1, time_limit=2, random_state=seed
        )
        for objective, seed in (("faithful", None), ("faithful", 0), ("information", 0))
    ],
    expected_failed_checks=lambda estimator: EXCEPTIONS,
)
def test_scikit_learn_finds_an_estimator(estimator, check):
    check(estimator)


def people(n=600, seed=0):
    """A table with text, numbers and missing entries, a secret column, and a label that other steps predict."""
    rng = np.random.default_rng(seed)
    town, age = rng.integers(0, 3, n), rng.integers(18, 90, n).astype(float)
    ill = rng.random(n) < 0.15 + 0.2 * town
    frame = pd.DataFrame(
        {
            "town": np.array(["Ash", "Birch", None], dtype=object)[town],
            "age": age,
            "smoker": rng.random(n) < 0.3,
            "ill": np.where(ill, "yes", "no"),
        },
        index=[f"p{i}" for i in range(n)],
    )
    return frame, (rng.random(n) < 0.2 + 0.3 * (town == 1)).astype(int)


ATTRIBUTES = ["town", "age", "smoker"]
BINS = {"age": [18, 50, 90]}


def funnel(**parameters):
    return pf.PrivacyFunnel(**{"epsilon": 0.2, "bins": BINS} | parameters)


@pytest.mark.parametrize("objective", ["faithful", "information"])
def test_the_protocol_is_the_one_that_optimise_finds(objective):
    frame, _ = people()
    fitted = funnel(objective=objective).fit(frame[ATTRIBUTES], frame["ill"])
    joint = pf.Joint.from_table(frame, "ill", ATTRIBUTES, bins=BINS)
    best = pf.optimise(joint, pf.LIP(0.2), objective=objective)
    assert np.array_equal(fitted.protocol_.channel, best.channel)
    assert pf.certify(fitted.protocol_, joint).holds
    named = funnel(secret="ill", objective=objective).fit(frame)
    assert np.array_equal(named.protocol_.channel, best.channel)
    assert named.protocol_.secret == "ill"
    assert named.protocol_.attributes == fitted.protocol_.attributes == tuple(ATTRIBUTES)


def test_rows_come_out_with_the_distribution_of_those_that_went_in_unless_asked_otherwise():
    frame, _ = people()
    fitted = funnel().fit(frame[ATTRIBUTES], frame["ill"])
    joint = pf.Joint.from_table(frame, "ill", ATTRIBUTES, bins=BINS)
    assert fitted.protocol_.objective == "faithful"
    assert pf.certify(fitted.protocol_, joint).marginal_error <= 2**-30
    told = funnel(objective="information").fit(frame[ATTRIBUTES], frame["ill"])
    assert told.protocol_.objective == "information"


def test_cells_of_a_weighty_column_stay_more_often():
    frame, _ = people(2000)

    def changed(weights):
        fitted = funnel(weights=weights, epsilon=0.1).fit(frame[ATTRIBUTES], frame["ill"])
        channel, codes = fitted.protocol_.block.channel, fitted.protocol_.block.codes
        moved = codes[channel.inputs, 0] != codes[channel.outputs, 0]
        joint = pf.Joint.from_table(frame, "ill", ATTRIBUTES, bins=BINS)
        return (channel.numerators * joint.p_x[channel.inputs])[moved].sum()

    assert changed({"town": 10.0}) < changed(None)


@pytest.mark.parametrize("kind", ["pandas", "polars", "numpy"])
def test_what_comes_out_is_of_the_kind_that_went_in(kind):
    frame, _ = people()
    X, s = frame[ATTRIBUTES], frame["ill"]
    if kind == "polars":
        X, s = pl.from_pandas(X), pl.Series(s.tolist())
    if kind == "numpy":
        X, s = X.to_numpy(), s.to_numpy()
    fitted = funnel(bins=BINS if kind != "numpy" else {"x1": BINS["age"]}).fit(X, s)
    released = fitted.transform(X)
    assert type(released) is type(X)
    assert released.shape == X.shape
    names = ATTRIBUTES if kind != "numpy" else ["x0", "x1", "x2"]
    assert list(fitted.get_feature_names_out()) == names
    if kind == "pandas":
        assert (released.index == X.index).all()
    ages = released["age"] if kind != "numpy" else released[:, 1]
    assert set(ages) == {"[18, 50)", "[50, 90]"}


def test_every_output_occurs_about_as_often_as_the_channel_says():
    frame, _ = people(20_000)
    coin = pf.PrivacyFunnel(output="codes", epsilon=0.0).fit(frame[["town"]], frame["ill"])
    Q, block = coin.protocol_.channel, coin.protocol_.block
    released = coin.transform(frame[["town"]])["town"].to_numpy()
    for x, (town,) in enumerate(block.values.tolist()):
        rows = frame["town"].isna() if town is None else frame["town"] == town
        for y, label in enumerate(block.labels):
            n, hits = rows.sum(), (released[rows] == block.codes[label, 0]).sum()
            assert abs(hits - n * Q[y, x]) <= 6 * np.sqrt(n / 4)


def test_set_output_chooses_the_kind():
    frame, _ = people()
    X, s = frame[ATTRIBUTES], frame["ill"]
    assert isinstance(funnel().set_output(transform="polars").fit(X, s).transform(X), pl.DataFrame)
    array = funnel(bins={"x1": 2}).set_output(transform="pandas").fit(X.to_numpy(), s).transform(X.to_numpy())
    assert list(array.columns) == ["x0", "x1", "x2"]


def test_rows_may_come_without_the_secret_and_it_never_comes_out():
    frame, _ = people()
    fitted = funnel(secret="ill").fit(frame)
    assert list(fitted.transform(frame).columns) == ATTRIBUTES
    assert list(fitted.transform(frame[ATTRIBUTES]).columns) == ATTRIBUTES
    assert list(fitted.get_feature_names_out()) == ATTRIBUTES


def test_every_transform_is_a_fresh_draw_unless_it_is_seeded():
    frame, _ = people()
    X, s = frame[ATTRIBUTES], frame["ill"]
    fitted, seeded = funnel().fit(X, s), funnel(random_state=3).fit(X, s)
    assert not fitted.transform(X).equals(fitted.transform(X))
    assert seeded.transform(X).equals(seeded.transform(X))


def test_a_fitted_transformer_can_be_pickled_and_holds_no_record_and_no_count():
    frame, _ = people()
    secret = frame["ill"].map({"yes": "CANARY-yes", "no": "CANARY-no"})
    fitted = funnel(random_state=1).fit(frame[ATTRIBUTES], secret)
    text = pickle.dumps(fitted)
    assert b"CANARY" not in text
    assert set(vars(fitted)) - set(fitted.get_params()) == {"protocol_", "n_features_in_", "feature_names_in_"}
    copy = pickle.loads(text)  # noqa: S301 - our own bytes
    assert copy.transform(frame[ATTRIBUTES]).equals(fitted.transform(frame[ATTRIBUTES]))
    assert clone(fitted).get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        clone(fitted).transform(frame[ATTRIBUTES])


def test_a_search_over_epsilon_in_a_pipeline_with_other_columns():
    frame, label = people()
    release = Pipeline(
        [("funnel", funnel(secret="ill", unseen="draw")), ("dummies", OneHotEncoder(handle_unknown="ignore"))]
    )
    columns = ColumnTransformer([("released", release, ["town", "smoker", "ill"]), ("kept", "passthrough", ["age"])])
    columns.set_params(released__funnel__bins=None)
    model = make_pipeline(columns, DecisionTreeClassifier(max_depth=3, random_state=0))
    grid = {"columntransformer__released__funnel__epsilon": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(frame, label)
    assert search.best_params_["columntransformer__released__funnel__epsilon"] in (0.1, 1.0)
    assert len(search.predict(frame)) == len(frame)


def test_a_promise_may_be_given_itself():
    frame, _ = people()
    fitted = pf.PrivacyFunnel(notion=pf.ALIP(0.1, 0.3)).fit(frame[["town"]], frame["ill"])
    assert fitted.protocol_.notion == pf.ALIP(0.1, 0.3)
    assert pf.PrivacyFunnel("perfect").fit(frame[["town"]], frame["ill"]).protocol_.notion == pf.PerfectPrivacy()


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"notion": "none"}, InvalidInput),
        ({"objective": "beauty"}, InvalidInput),
        ({"weights": {"nowhere": 2.0}}, InvalidInput),
        ({"objective": "information", "weights": {"town": 2.0}}, InvalidInput),
        ({"notion": "alip"}, InvalidInput),
        ({"epsilon": -1}, InvalidInput),
        ({"output": "text"}, InvalidInput),
        ({"unseen": "guess"}, InvalidInput),
        ({"secret": "nowhere"}, InvalidInput),
    ],
)
def test_parameters_that_make_no_sense_are_refused_when_fitting(parameters, error):
    frame, _ = people(50)
    with pytest.raises(error):
        funnel(**parameters).fit(frame[ATTRIBUTES], frame["ill"])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"epsilon": -1}, "epsilon should be a number from 0 on"),
        ({"epsilon": {"ill": -1}}, "epsilon.ill should be a number from 0 on"),
        ({"epsilon": None}, "lip needs epsilon: pass the promise itself as notion"),
        ({"notion": "alip"}, "alip needs lower and upper: pass the promise itself as notion"),
        ({"notion": 3}, "notion should be a kind of promise"),
        ({"notion": "hope"}, "notion is one of ldp, lip, "),
        ({"known": 2}, "notion lip takes no known, which is for srlip, srldp: leave it out"),
        ({"objective": "beauty"}, "objective should be faithful or information"),
        ({"weights": {"town": -1}}, "weights.town should be for each column a number"),
        ({"objective": "information", "weights": {"town": 2}}, "weights is for objective faithful"),
        ({"bins": 0}, "bins.age should be for each column a number of ranges"),
        ({"bins": {"age": "wide"}}, "bins.age should be for each column a number of ranges"),
        ({"top": {"town": 0}}, "top.town should be for each column a positive whole number"),
        ({"dates": {"town": "week"}}, "dates.town should be for each column year, month or day"),
        ({"missing": [7]}, "missing should be texts"),
        ({"domain": "people.json"}, "domain cannot be combined with bins: the domain file says how columns are read"),
        ({"private": 0}, "private: "),
        ({"at_least": -1}, "at_least should be a number of people from 1 on"),
        ({"notion": "srlip", "known": 1, "at_least": 5}, "notion cannot be combined with at_least: attackers"),
        ({"notion": pf.robust(pf.LIP(0.5), 0.9), "at_least": 5}, "confidence cannot be combined with at_least"),
        ({"gap": 0}, "gap should be a positive number"),
        ({"time_limit": -1}, "time_limit should be a number of seconds from 0 on"),
        ({"exact": "town"}, "exact should be names of columns"),
        ({"insist": "yes"}, "insist should be true or false"),
        ({"unseen": "guess"}, "unseen should be refuse or draw"),
        ({"random_state": "x"}, "random_state should be a whole number"),
    ],
    ids=repr,
)
def test_parameters_are_refused_in_the_words_of_every_other_form_by_their_names_here(parameters, words):
    frame, _ = people(50)
    with pytest.raises(InvalidInput) as refused:
        funnel(**parameters).fit(frame[ATTRIBUTES], frame["ill"])
    assert str(refused.value).startswith(words)


def test_numbers_of_numpy_are_numbers():
    frame, _ = people(200)
    own = {"epsilon": np.float32(0.25), "bins": {"age": np.array([18, 50, 90])}, "at_least": np.int64(2)}
    fitted = funnel(**own, time_limit=np.int64(20), insist=np.True_, random_state=np.int64(1)).fit(
        frame[ATTRIBUTES], frame["ill"]
    )
    assert fitted.protocol_.notion == pf.LIP(0.25)


def test_levels_of_values_are_found_by_the_values_themselves():
    frame, _ = people(200)
    fitted = funnel(epsilon={0: 0.1, 1.0: 0.5}).fit(frame[ATTRIBUTES], (frame["ill"] == "yes").astype(int))
    assert fitted.protocol_.notion.levels == ((0, 0.1), (1.0, 0.5))


def test_limits_on_belief_are_asked_for_by_their_name():
    frame, _ = people(200)
    limited = pf.PrivacyFunnel("belief", {"yes": 0.8}).fit(frame[["town"]], frame["ill"])
    assert limited.protocol_.notion.words() == pf.Belief({"yes": 0.8}).words()


def test_values_that_were_not_there_when_fitting_are_refused_or_drawn():
    frame, _ = people()
    fitted = pf.PrivacyFunnel(epsilon=0.2).fit(frame[["town"]], frame["ill"])
    strange = pd.DataFrame({"town": ["Ash", "CANARY"]})
    with pytest.raises(UnseenValues, match="1 rows in town") as refused:
        fitted.transform(strange)
    assert "CANARY" not in str(refused.value)
    assert fitted.set_params(unseen="draw").transform(strange)["town"].isin(["Ash", "Birch", None]).all()


def test_a_column_may_be_called_anything():
    frame, _ = people()
    X = frame[["town"]].rename(columns={"town": SECRET})
    assert pf.PrivacyFunnel().fit(X, frame["ill"]).protocol_.attributes == (SECRET,)


MIXED = [1, "CANARY"] * 20


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (pd.DataFrame({"x": MIXED}), ["a", "b"] * 20),
        (np.array(MIXED, dtype=object)[:, None], ["a", "b"] * 20),
        (pd.DataFrame({"x": [1, 2] * 20}), np.array(MIXED, dtype=object)),
        (pd.DataFrame({"x": [["CANARY"], [1]] * 20}), ["a", "b"] * 20),
        (pd.DataFrame({"x": [10**30, 1] * 20}), ["a", "b"] * 20),
    ],
    ids=["frame", "array", "secret", "nested", "huge"],
)
def test_values_of_different_types_are_refused_without_quoting_one(X, y):
    with pytest.raises(InvalidTable) as refused:
        pf.PrivacyFunnel().fit(X, y)
    assert "CANARY" not in str(refused.value)
    assert refused.value.__suppress_context__


def test_rows_to_transform_of_another_type_are_refused_without_quoting_one():
    fitted = pf.PrivacyFunnel().fit(pd.DataFrame({"x": ["p", "q"] * 20}), ["a", "b"] * 20)
    with pytest.raises(InvalidTable) as refused:
        fitted.transform(pd.DataFrame({"x": MIXED}))
    assert "CANARY" not in str(refused.value)


def test_columns_are_found_by_their_place_where_either_side_has_no_names():
    """As everywhere in scikit-learn, which warns of it."""
    frame, y = pd.DataFrame({"u": ["p", "q"] * 20, "v": ["m", "n", "n", "m"] * 10}), ["a", "b", "b", "b"] * 10
    named, unnamed = pf.PrivacyFunnel().fit(frame, y), pf.PrivacyFunnel().fit(frame.to_numpy(), y)
    with pytest.warns(UserWarning, match="feature names"):
        assert set(named.transform(frame.to_numpy())[:, 1]) <= {"m", "n"}
    with pytest.warns(UserWarning, match="feature names"):
        assert set(unnamed.transform(frame).iloc[:, 1]) <= {"m", "n"}


def test_a_frame_without_a_column_of_the_protocol_is_refused_by_its_name():
    frame = pd.DataFrame({"u": ["p", "q"] * 20, "s": ["a", "b"] * 20})
    fitted = pf.PrivacyFunnel(secret="s").fit(frame)
    with pytest.raises(InvalidTable, match="'u'"):
        fitted.transform(pd.DataFrame({"w": ["p", "q"]}))


def test_a_private_transformer_has_a_protocol_that_anybody_can_check():
    rng = np.random.default_rng(1)
    X = np.stack([rng.choice(["a", "b", "c"], 600), rng.choice(["x", "y"], 600)], axis=1)
    funnel = pf.PrivacyFunnel(private=1.0, at_least=10).fit(X, rng.choice(["ill", "well"], 600))
    assert funnel.protocol_.fitted == "private counts"
    assert audit_publicly(funnel.protocol_)[1]
    assert funnel.transform(X).shape == X.shape
    assert pf.PrivacyFunnel().fit(X, X[:, 1]).protocol_.fitted == "exact counts"
