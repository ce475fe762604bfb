"""compare: cells equal their definition, choices are nested, and what fails has its reason."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from comparison_models import Column
from pairrank import QueryKFold, compare
from pairrank.comparison import KNOWN
from pairrank.comparison.tables import corrected_t_test, joined
from pairrank.datasets import make_queries
from pairrank.metrics import ndcg_score


@pytest.fixture(scope="module")
def data():
    return make_queries(12, 15, 4, random_state=0)


def run(data, models, **more):
    given = {"X": data.X, "y": data.y, "qid": data.qid, "cv": 3, "inner_cv": 0}
    return compare(models=models, **{**given, "metrics": "ndcg@5", **more})


def slow_ridge(data, alphas, n_splits, n_inner, seed):
    """Return ndcg@5 and the chosen alpha of ridge in each fold, step by step."""
    found = []
    for train, test in QueryKFold(n_splits, shuffle=True, random_state=seed).split(
        data.X, qid=data.qid
    ):
        X, y, qid = data.X[train], data.y[train], data.qid[train]
        means = []
        for alpha in alphas:
            scores = []
            for a, b in QueryKFold(n_inner, shuffle=True, random_state=seed).split(X, qid=qid):
                scaler = StandardScaler().fit(X[a])
                model = Ridge(alpha=alpha).fit(scaler.transform(X[a]), y[a])
                predicted = model.predict(scaler.transform(X[b]))
                scores.append(ndcg_score(y[b], predicted, k=5, qid=qid[b]))
            means.append(np.mean(scores))
        alpha = alphas[int(np.argmax(means))]
        scaler = StandardScaler().fit(X)
        model = Ridge(alpha=alpha).fit(scaler.transform(X), y)
        predicted = model.predict(scaler.transform(data.X[test]))
        value = ndcg_score(data.y[test], predicted, k=5, qid=data.qid[test])
        each = ndcg_score(data.y[test], predicted, k=5, qid=data.qid[test], per_query=True)
        found.append((value, f"alpha={alpha:g}", each))
    return found


def test_cells_equal_their_definition(data):
    result = run(data, "ridge", inner_cv=2, random_state=4)
    slow = slow_ridge(data, KNOWN["ridge"].grid["alpha"], 3, 2, 4)
    assert result.scores["ndcg@5"].tolist() == [value for value, _, _ in slow]
    assert result.scores["params"].tolist() == [params for _, params, _ in slow]
    assert result.summary["ndcg@5"][0] == pytest.approx(np.mean([value for value, _, _ in slow]))
    shown = dict(zip(result.queries["qid"].tolist(), result.queries["ndcg@5"], strict=True))
    assert shown == {query: value for _, _, each in slow for query, value in each.items()}


def test_folds_are_the_units_of_one_query(data):
    result = compare(
        data.X, data.y, models={"a": Ridge(), "b": Column(1)}, cv=4, n_repeats=2, inner_cv=0,
        metrics="pairwise_accuracy",
    )  # fmt: skip
    assert result.settings["units"] == "folds"
    found = result.between("pairwise_accuracy", "a", "b")
    values = result.scores["pairwise_accuracy"].reshape(-1, 2)
    tested = corrected_t_test(values[:, 0] - values[:, 1], 45 / 135)
    assert (found.n_units, found.difference, found.low, found.high, found.p_value) == tested


def test_without_a_p_value_no_test_is_claimed(data):
    splits = [(np.arange(90), np.arange(90, 180))]
    result = run(data, {"a": Ridge(), "b": Column()}, qid=None, cv=splits)
    assert np.isnan(result.differences["p_value"]).all()
    assert not any("test over" in note for note in result.means().notes)


def test_reasons_that_differ_are_counted():
    assert [joined(list(text)) for text in ("", "a", "ab", "abc")] == [
        "", "a", "a (and 1 other reason)", "a (and 2 other reasons)",
    ]  # fmt: skip
