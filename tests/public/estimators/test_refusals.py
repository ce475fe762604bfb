"""What rankers refuse: rows, labels, comparisons, weights and parameters, each by its name."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from pairrank import (
    SGD,
    ConvexHullRanker,
    Kernel,
    MPRank,
    Pairs,
    PairwiseRanker,
    RankBoost,
    RankNCG,
    RankRLS,
    RankSVM,
    SVRank,
)
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.metrics import pairwise_accuracy

pytestmark = pytest.mark.numeric


def with_entry(X, value):
    X = X.copy()
    X[7, 2] = value
    return X


BAD_ROWS = [
    (lambda X, y, q: (with_entry(X, np.nan), y, q, None), "row 7, feature 2; fill it, as SimpleIm"),
    (lambda X, y, q: (with_entry(X, -np.inf), y, q, None), "inf.* row 7, feature 2; replace it"),
    (lambda X, y, q: (sparse.csr_matrix(with_entry(X, np.nan)), y, q, None), "row 7, feature 2"),
    (lambda X, y, q: (X, np.where(y == y[4], np.nan, y), q, None), "y contains NaN"),
    (lambda X, y, q: (X, y[:-1], q, None), "y has 299 entries for 300 rows"),
    (lambda X, y, q: (X, y, q[:-1], None), "qid has 299 entries"),
    (lambda X, y, q: (X, y, [None, *q[1:]], None), "qid is missing in row 0"),
    (lambda X, y, q: (X, y, np.where(q == q[0], np.nan, q), None), "qid is missing in row 0"),
    (lambda X, y, q: (X, y, q, -np.ones(300)), r"sample_weight\[0\] = -1.0 is negative"),
    (lambda X, y, q: (X, y, q, np.zeros(300)), "every sample_weight is zero"),
    (lambda X, y, q: (X, y, q, np.ones(4)), "sample_weight has 4 entries"),
    (lambda X, y, q: (X, y, q, np.full(300, 1e-200)), r"between 1e-100 and 1e\+100"),
    (lambda X, y, q: (X, None, q, None), "y is None: ranking requires y.*RowBlocks hold labels"),
    (lambda X, y, q: (X, np.zeros((300, 2, 2)), q, None), "one dimension"),
    (lambda X, y, q: (X, np.ones(300), q, None), "one class only"),
]


@pytest.mark.parametrize("ranker", [RankSVM(), RankNCG(), RankRLS(), SVRank()], ids=str)
@pytest.mark.parametrize(("change", "message"), BAD_ROWS)
def test_bad_rows_are_refused_before_any_work(rows, ranker, change, message):
    X, y, qid, weight = change(*rows)
    with pytest.raises(ValueError, match=message):
        clone(ranker).fit(X, y, qid=qid, sample_weight=weight)


@pytest.mark.parametrize(
    ("ranker", "change", "message"),
    [
        (RankSVM(), lambda y: y.astype("datetime64[D]"), "y holds dates"),
        (RankSVM(), lambda y: np.column_stack((y, y)), "one dimension"),
        (RankSVM(), lambda y: ["a", *y[1:]], "mixes text"),
        (RankRLS(), lambda y: y.astype(str), "differences of labels need numbers"),
        (SVRank(), lambda y: y.astype(str), "differences of labels need numbers"),
        (RankRLS(), lambda y: np.column_stack((y, y * np.nan)), "y contains NaN in row 0"),
    ],
)
def test_labels_of_a_wrong_kind_are_refused(rows, ranker, change, message):
    with pytest.raises(ValueError, match=message):
        ranker.fit(rows[0], change(rows[1]))


@pytest.mark.parametrize("ranker", [RankSVM(), RankNCG(), RankRLS(), SVRank()], ids=str)
def test_comparisons_of_other_rows_are_refused(rows, ranker):
    X, _, qid = rows
    with pytest.raises(PairrankError, match="count 400 rows"):
        ranker.fit(X, Pairs([0], [1], n_rows=400))
    with pytest.raises(PairrankError, match="different queries"):
        ranker.fit(np.eye(3), Pairs([0], [1], n_rows=3), qid=[1, 2, 2])
    for none in (Pairs([], [], n_rows=300), Pairs([0], [1], [0.0], n_rows=300)):
        with pytest.raises(NoPairsError, match="no comparison"):
            ranker.fit(X, none)
    if "graph" in ranker.get_params():
        with pytest.raises(NoPairsError, match="no preference"):
            ranker.fit(X, rows[1], qid=np.arange(300))
        with pytest.raises(PairrankError, match="leave graph"):
            clone(ranker).set_params(graph="chain").fit(X, Pairs([0], [1], n_rows=300))
    with pytest.raises(ValueError, match="features"):
        ranker.fit(X, rows[1], qid=qid).predict(X[:, :3])


WRONG = [
    (RankSVM(0), "C must be greater than 0"),
    (RankSVM("1"), "C must be"),
    (RankSVM(max_iter=1.5), "max_iter must be a whole number"),
    (RankSVM(loss="hinge", solver="tron"), "needs a smooth loss"),
    (RankSVM(loss="ridge"), "loss must be one of"),
    (RankSVM(reduction="pairs"), "reduction must be one of"),
    (RankSVM(solver="newton"), "solver must be one of"),
    (RankSVM(pair_sum="fenwick"), "selection_tree"),
    (RankSVM(graph="ring"), "graph must be"),
    (RankSVM(graph=[(0, 1), (1, 0)]), "cycle"),
    (RankNCG(0), "alpha must be greater than 0"),
    (RankNCG(eps=0), "eps must be"),
    (RankNCG(eps=1.0), "eps must be below 1"),
    (RankNCG(loss="hinge"), "loss must be one of 'logistic', 'probit', 'raykar'"),
    (RankNCG(loss="raykar", solver="tron"), 'use solver="ncg"'),
    (RankNCG(pair_sum="tree"), "beaulieu"),
    (RankNCG(pair_sum="beaulieu"), r"sums erfc functions only.*'probit' or 'raykar'"),
    (RankNCG(covariance="pairs"), "covariance must be one of"),
    (RankNCG(covariance="rows", kernel="rbf"), "leave covariance=None"),
    (RankNCG(covariance="rows", patience=1), "does not reach"),
    (RankNCG(solver="sgd", loss="raykar"), "values that match gradients"),
    (RankSVM(solver=SGD(eta0=0.0)), "eta0 must be greater than 0"),
    (RankSVM(solver=SGD(eta0=np.inf)), "eta0 must be a finite number"),
    (RankSVM(solver=SGD("optimal")), "learning_rate must be one of"),
    (RankSVM(kernel=Kernel(method="nystroem", n_components=999)), "n_components = 999"),
    (RankSVM(kernel=Kernel), "kernel .a name or a callable. must be one of"),
    (RankRLS(0), "alpha must be greater than 0"),
    (RankRLS(max_iter=0), "max_iter must be at least 1"),
    (RankRLS(patience=0), "patience must be"),
    (RankRLS(regularization="ridge"), "regularization must be one of"),
    (RankRLS(validation_fraction=1.0), "validation_fraction must be less than 1"),
    (RankRLS(solver="direct", regularization="iteration"), "needs iterations"),
    (MPRank(0.0), "C must be greater than 0"),
    (MPRank(1e308), "C must be at most 8.98847e"),
    (MPRank(n=3), r"n must be one of 1, 2 \(got 3\)"),
    (SVRank(n=1.5), "n must be a whole number"),
    (SVRank(epsilon=-0.1), "epsilon must be at least 0"),
    (MPRank(solver="bundle"), r"solver \(for n = 2\) must be one of 'auto', 'cg', 'direct'"),
    (MPRank(n=1, solver="cg"), r"solver \(for n = 1\) must be one of 'auto', 'bundle'"),
    (SVRank(solver="tron"), r"solver \(for n = 1\) must be one of"),
    (SVRank(n=2, solver="bundle"), "'auto', 'tron'"),
    (ConvexHullRanker(0), "nu must be greater than 0"),
    (ConvexHullRanker(graph=[(0, 1), (1, 0)]), "cycle: 0 < 1 < 0; remove one of its edges"),
    (ConvexHullRanker(regularizer="l1", kernel="rbf"), "regularizer must be one of"),
    (ConvexHullRanker(regularizer="coefficients"), "needs a kernel"),
    (PairwiseRanker("cubic"), "loss must be one of 'squared_hinge'"),
    (PairwiseRanker(object()), "or an object with phi"),
    (PairwiseRanker("raykar", solver="tron"), 'use solver="ncg"'),
    (PairwiseRanker(pair_sum="boxes"), "does not exist for this loss"),
    (RankBoost(0), "n_estimators must be at least 1"),
    (RankBoost(patience=0.5), "patience must be a whole number"),
    (RankBoost(early_stopping="no"), "early_stopping must be one of False, True"),
    (RankBoost(validation_metric="auc@"), "auc@"),
]


@pytest.mark.parametrize(("ranker", "message"), WRONG)
def test_a_wrong_parameter_is_named(rows, ranker, message):
    X, y, qid = rows
    with pytest.raises(PairrankError, match=message):
        ranker.fit(X, y, qid=qid)
    assert not hasattr(ranker, "coef_")


@pytest.mark.parametrize(
    ("ranker", "reason"),
    [
        (RankRLS(), "in both directions"),
        (MPRank(), "in both directions"),
        (SVRank(), "in both directions"),
        (ConvexHullRanker(), "separates classes as wholes"),
    ],
)
@pytest.mark.parametrize("role", ["winner_weight", "loser_weight"])
def test_losses_without_winners_refuse_weights_by_role_but_scores_do_not(
    ranker, reason, role, rows
):
    X, y, qid = rows
    given = {role: np.random.default_rng(1).choice([0.0, 0.5, 2.0], 300)}
    with pytest.raises(PairrankError, match=f"{role} is not supported here: .*{reason}"):
        ranker.fit(X, y, qid=qid, **given)
    with pytest.raises(PairrankError, match=reason):
        ranker.fit(X, Pairs([0], [1], n_rows=y.size), **given)
    scores = ranker.fit(X, y, qid=qid).predict(X)
    wanted = pairwise_accuracy(y, scores, qid=qid, graph=ranker.graph, **given)
    assert ranker.score(X, y, qid=qid, **given) == wanted


@pytest.mark.parametrize("role", ["winner_weight", "loser_weight"])
def test_bad_weights_by_role_are_named(role, rows):
    X, y, _ = rows
    for bad, message in (
        (np.ones(3), f"{role} has 3 "),
        (np.full(300, -1.0), rf"{role}\[0\] = -1.0 is negative"),
        (np.full(300, np.nan), f"{role} contains NaN in row 0"),
        (np.full(300, 1e120), f"{role} runs from"),
    ):
        with pytest.raises(PairrankError, match=message):
            RankSVM().fit(X, y, **{role: bad})
        with pytest.raises(PairrankError, match=message):
            pairwise_accuracy(y, X[:, 0], **{role: bad})
    with pytest.raises(NoPairsError, match="winner_weight 0"):
        RankSVM().fit(X, y, **{role: np.zeros(300), "sample_weight": np.ones(300)})
    far = np.full(300, 1e80)
    with pytest.raises(PairrankError, match=rf"{role} \(times sample_weight\)"):
        RankSVM().fit(X, y, sample_weight=far, **{role: far})
