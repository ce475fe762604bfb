"""Scorers: queries and weights reach the metric, with scikit-learn's routing and without."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from judged_rows import FirstFeature, judged_rows
from pairrank import OrderGraph, Pairs, QueryKFold, RankSVM, SVRank
from pairrank import model_selection as selection
from pairrank.exceptions import PairrankError
from pairrank.metrics import (
    kendall_tau,
    mean_ndcg,
    msd,
    ndcg_score,
    pairwise_accuracy,
    tube_cost,
    wmw_score,
)

READY = {
    "pairwise_accuracy": (selection.get_query_scorer("pairwise_accuracy"), pairwise_accuracy, {}),
    "wmw": (selection.get_query_scorer("wmw"), wmw_score, {}),
    "kendall_tau": (selection.get_query_scorer("kendall_tau"), kendall_tau, {}),
    "mean_ndcg": (selection.get_query_scorer("mean_ndcg"), mean_ndcg, {}),
    "ndcg@10": (selection.get_query_scorer("ndcg@10"), ndcg_score, {"k": 10}),
}


@pytest.fixture(scope="module")
def judged():
    return judged_rows()


@pytest.mark.parametrize("name", READY)
def test_a_ready_scorer_is_its_metric_of_the_predictions(name, judged):
    X, y, qid, weight = judged
    scorer, metric, options = READY[name]
    wanted = metric(y, X[:, 0], qid=qid, sample_weight=weight, **options)
    model = FirstFeature().fit(X, y)
    for found in (scorer, selection.get_query_scorer(name), pickle.loads(pickle.dumps(scorer))):
        assert found(model, X, y, qid=qid, sample_weight=weight) == wanted
    assert scorer(model, X, y) == metric(y, X[:, 0], **options)


@pytest.mark.parametrize("name", READY)
@pytest.mark.parametrize("weighted", [False, True])
def test_searches_hand_queries_and_weights_to_a_scorer(name, weighted, judged):
    X, y, qid, weight = judged
    scorer, metric, options = READY[name]
    params = {"qid": qid, "sample_weight": weight} if weighted else {"qid": qid}
    with config_context(enable_metadata_routing=True):
        model = RankSVM(0.1)
        found = cross_val_score(model, X, y, cv=QueryKFold(3), scoring=scorer, params=params)
        search = GridSearchCV(model, {"C": [0.1]}, cv=QueryKFold(3), scoring=scorer)
        search.fit(X, y, **params)
    wanted = []
    for train, test in QueryKFold(3).split(X, qid=qid):
        fitted = RankSVM(0.1).fit(X[train], y[train], **{k: v[train] for k, v in params.items()})
        own = {name: value[test] for name, value in params.items()}
        wanted.append(metric(y[test], fitted.predict(X[test]), **own, **options))
    assert found == pytest.approx(wanted, rel=1e-12)
    assert search.best_score_ == pytest.approx(np.mean(wanted), rel=1e-12)


def test_pair_metrics_take_the_rankers_own_graph(judged):
    X, y, qid, _ = judged
    graph = OrderGraph([(0, 4), (1, 3)])
    model = make_pipeline(StandardScaler(), RankSVM(graph=graph)).fit(X, y)
    scores = model.predict(X)
    scorer = selection.get_query_scorer("pairwise_accuracy")
    assert scorer(model, X, y, qid=qid) == pairwise_accuracy(y, scores, qid=qid, graph=graph)
    stated = selection.make_query_scorer(pairwise_accuracy, graph="full")
    assert stated(model, X, y, qid=qid) == pairwise_accuracy(y, scores, qid=qid)
    search = GridSearchCV(RankSVM(graph=graph), {"C": [1.0]}, cv=2).fit(X, y)
    wanted = pairwise_accuracy(y, search.predict(X), graph=graph)
    assert scorer(search, X, y) == wanted


def test_comparisons_are_scored(judged):
    X, _, _, _ = judged
    scorer = selection.get_query_scorer("pairwise_accuracy")
    assert scorer(FirstFeature(), X[:3], Pairs([0, 1], [1, 2])) in (0.0, 0.5, 1.0)


def test_a_request_can_be_changed_without_touching_the_ready_scorer(judged):
    X, y, qid, _ = judged
    plain = selection.get_query_scorer("mean_ndcg").set_score_request(sample_weight=False)
    uneven = np.linspace(1.0, 2.0, y.size)
    params = {"qid": qid, "sample_weight": uneven}
    with config_context(enable_metadata_routing=True):
        asked = {"cv": QueryKFold(3), "params": params, "error_score": "raise"}
        scores = cross_val_score(RankSVM(), X, y, scoring=plain, **asked)
        with pytest.raises(PairrankError, match="one weight per query"):
            cross_val_score(
                RankSVM(), X, y, scoring=selection.get_query_scorer("mean_ndcg"), **asked
            )
    assert (scores > 0.5).all()
    with pytest.raises(PairrankError, match="not 'groups'"):
        plain.set_score_request(groups=True)


@pytest.mark.parametrize("name", ["accuracy", "mean_ndcg@3", "precision@", "auc@1", "", None])
def test_an_unknown_name_lists_the_known(name):
    with pytest.raises(PairrankError, match="there is no metric"):
        selection.get_query_scorer(name)
    if name != "precision@":
        with pytest.raises(PairrankError, match=r"mean_ndcg, ndcg, map, .*, ndcg@k, map@k"):
            selection.get_query_scorer(name)


@pytest.mark.parametrize("name", ["ndcg@", "ndcg@0", "ndcg@ten", "ndcg@-1", "precision", "recall@"])
def test_a_position_is_a_whole_number(name):
    with pytest.raises(PairrankError, match=r"needs a position of 1 or more, such as .*@10"):
        selection.get_query_scorer(name)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("ndgc@10", "did you mean ndcg@10"),
        ("nDCG", "did you mean ndcg"),
        ("ndcg10", "did you mean ndcg"),
        ("ndgc@x", "did you mean ndcg"),
        ("ap@5", "did you mean map@5"),
        ("rr", "did you mean mrr"),
        ("roc_auc", "did you mean auc"),
        ("pairwise_acuracy", "did you mean pairwise_accuracy"),
        ("zzz", "no metric 'zzz'; use"),
    ],
)
def test_near_names_are_suggested(name, near):
    with pytest.raises(PairrankError, match=near):
        selection.get_query_scorer(name)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("precision@5:relevant_from=2", {"k": 5, "relevant_from": 2}),
        ("rbp:persistence=0.5,empty=skip", {"persistence": 0.5, "empty": "skip"}),
        ("err@3:max_label=8", {"k": 3, "max_label": 8}),
        ("ndcg@5:gain=linear,discount=letor", {"k": 5, "gain": "linear", "discount": "letor"}),
        ("tube_cost:epsilon=1e-1,n=2", {"epsilon": 0.1, "n": 2}),
        ("pairwise_accuracy:average=queries,graph=chain", {"average": "queries", "graph": "chain"}),
    ],
)
def test_a_name_sets_options(name, options, judged):
    X, y, qid, _ = judged
    scorer = selection.get_query_scorer(name)
    assert scorer.metric.options == options
    sign = 1 if scorer.metric.greater_is_better else -1
    wanted = sign * scorer.metric.function(y, X[:, 0], qid=qid, **options)
    assert scorer(FirstFeature().fit(X, y), X, y, qid=qid) == wanted


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("rbp:patience=1", "'patience=1' is not one of its options; it takes persistence=..., rel"),
        ("rbp:persistence", "'persistence' is not one of its options"),
        ("rbp:", "'' is not one of its options"),
        ("rbp:persistence=", "'persistence=' is not one of its options"),
        ("rbp:qid=1", "'qid=1' is not one of its options"),
        ("rbp:persistence=0.1,persistence=0.2", "sets persistence twice"),
        ("rbp:persistence=2", "metric 'rbp:persistence=2': persistence must be less than 1"),
        ("ndcg@3:k=5", "'k=5' is not one of its options"),
        ("ndcg:gain=loud", "gain must be one of"),
        ("msd:n=1", "'n=1' is not one of its options; it takes average=..."),
        ("kendall_tau:variant=a", "is not one of its options; it takes none"),
    ],
)
def test_options_that_a_metric_does_not_take_are_refused(name, complaint):
    with pytest.raises(PairrankError, match=complaint):
        selection.get_query_scorer(name)


def test_errors_are_negated_by_default(judged):
    X, y, qid, _ = judged
    model = FirstFeature().fit(X, y)
    for scorer in (selection.make_query_scorer(msd), selection.get_query_scorer("msd")):
        assert scorer(model, X, y, qid=qid) == -msd(y, X[:, 0], qid=qid)
    stated = selection.make_query_scorer(msd, greater_is_better=False, average="queries")
    assert stated(model, X, y, qid=qid) == -msd(y, X[:, 0], qid=qid, average="queries")
    assert repr(stated) == "make_query_scorer(msd, greater_is_better=False, average='queries')"
    doubted = selection.make_query_scorer(msd, greater_is_better=True)
    assert doubted(model, X, y, qid=qid) == msd(y, X[:, 0], qid=qid)


def test_the_tube_s_cost_takes_the_ranker_s_own_tube(judged):
    X, y, qid, _ = judged
    model = make_pipeline(StandardScaler(), SVRank(epsilon=0.7, n=2)).fit(X, y, svrank__qid=qid)
    scores, scorer = model.predict(X), selection.get_query_scorer("tube_cost")
    assert scorer(model, X, y, qid=qid) == -tube_cost(y, scores, qid=qid, epsilon=0.7, n=2)
    stated = selection.make_query_scorer(tube_cost, epsilon=0.2)
    assert stated(model, X, y, qid=qid) == -tube_cost(y, scores, qid=qid, epsilon=0.2, n=2)
    plain = scorer(FirstFeature().fit(X, y), X, y, qid=qid)
    assert plain == -tube_cost(y, X[:, 0], qid=qid)
