"""Synthetic rows by dpmm, for `private`; run by an interpreter that has dpmm, and needs nothing else of ours.

Reads one JSON object from standard input (codes of rows, sizes of columns, method, ε, δ, how many tables) and writes
the codes of the rows that were made up, as one list for each table.
"""

import json
import os
import sys

ITERATIONS = 250
"""Of mirror descent, when a model is estimated. dpmm's own numbers, 1,000 for AIM and 5,000 for MST, take three times
as long or more for errors that are alike or somewhat smaller, as far as one model each can tell. At ε₀ = 1: COMPAS,
AIM, pairs 0.96 of the sampling error either way, single columns 0.37, not 0.56; Adult, MST, 0.026 points, not 0.035."""


def made_up(task):
    import numpy as np
    import pandas as pd
    from dpmm.pipelines import AIMPipeline, MSTPipeline

    names = [f"X{j}" for j in range(len(task["sizes"]))]
    people = pd.DataFrame(np.array(task["codes"]), columns=names)
    pipeline = {"MST": MSTPipeline, "AIM": AIMPipeline}[task["method"]](
        epsilon=task["epsilon"],
        delta=task["delta"],
        n_jobs=1,
        disable_processing=True,
        gen_kwargs={"n_iters": ITERATIONS},
    )
    pipeline.fit(people, dict(zip(names, task["sizes"], strict=True)))
    tables = [pipeline.generate(n_records=len(people)) for _ in range(task["tables"])]
    return [table[names].to_numpy().astype(int).tolist() for table in tables]


if __name__ == "__main__":
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # dpmm tells its progress on standard output
    json.dump(made_up(json.load(sys.stdin)), answer)
    answer.close()
