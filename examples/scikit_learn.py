"""I train models: how much does a promise cost one that learns from released attributes?

python examples/scikit_learn.py
"""

import pandas as pd
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import privacyfunnel as pf
from privacyfunnel.population import people

table = pd.DataFrame(people(3_000, seed=1))
X, tall = table[["sex", "town", "weight", "obese"]], table["height"] >= 172

funnel = pf.PrivacyFunnel(
    secret="obese",  # a column of X; it never comes out
    bins={"weight": [35, 60, 70, 80, 90, 100, 250]},
    unseen="draw",  # a fold may lack a combination that another one has
)
model = make_pipeline(funnel, OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier(max_depth=5))
search = GridSearchCV(model, {"privacyfunnel__epsilon": [0.05, 0.2, 0.8]}, cv=3).fit(X, tall)

for point, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
    print(f"ε = {point['privacyfunnel__epsilon']:<4}  right guesses of who is tall: {score:.1%}")
protocol = search.best_estimator_[0].protocol_
print(protocol.notion.words())
print(protocol.sanitise(X).head())  # to publish: shuffled, without the secret and without an index
