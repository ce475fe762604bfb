"""Scorers and weights by role: rows reach the metric, with metadata routing and without."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from comparison_models import Column
from pairrank import (
    GreedyRankRLS,
    OrderGraph,
    Pairs,
    QueryKFold,
    RankNCG,
    RankNCGCV,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    SVRank,
    regularization_path,
)
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
def judged(judged):
    return *judged, 1.0 + judged[2] % 3


@pytest.mark.parametrize("name", READY)
def test_a_ready_scorer_is_its_metric_of_the_predictions(name, judged):
    X, y, qid, weight = judged
    scorer, metric, options = READY[name]
    wanted = metric(y, X[:, 0], qid=qid, sample_weight=weight, **options)
    model = Column().fit(X, y)
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
    assert scorer(Column(), X[:3], Pairs([0, 1], [1, 2])) in (0.0, 0.5, 1.0)


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
    assert scorer(Column().fit(X, y), X, y, qid=qid) == wanted


KNOWN = "there is no metric .*mean_ndcg, ndcg, map, .*, ndcg@k, map@k"
POSITION = r"needs a position of 1 or more, such as .*@10"


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        *((name, KNOWN) for name in ("accuracy", "mean_ndcg@3", "auc@1", "", None)),
        *((name, POSITION) for name in ("ndcg@", "ndcg@0", "ndcg@ten", "ndcg@-1")),
        *((name, POSITION) for name in ("precision", "recall@")),
        ("precision@", "there is no metric"),
        ("ndgc@10", "did you mean ndcg@10"),
        ("nDCG", "did you mean ndcg"),
        ("ndcg10", "did you mean ndcg"),
        ("ndgc@x", "did you mean ndcg"),
        ("ap@5", "did you mean map@5"),
        ("rr", "did you mean mrr"),
        ("roc_auc", "did you mean auc"),
        ("pairwise_acuracy", "did you mean pairwise_accuracy"),
        ("zzz", "no metric 'zzz'; use"),
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
def test_what_names_no_metric_is_refused(name, complaint):
    with pytest.raises(PairrankError, match=complaint):
        selection.get_query_scorer(name)


def test_errors_are_negated_by_default(judged):
    X, y, qid, _ = judged
    model = Column().fit(X, y)
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
    plain = scorer(Column().fit(X, y), X, y, qid=qid)
    assert plain == -tube_cost(y, X[:, 0], qid=qid)


CS = [0.01, 1.0]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.digitize(X @ [2, -1, 0.5] + 2 * rng.normal(size=120), [-1, 0.5, 2]).astype(float)
    rows = {
        "qid": rng.permutation(np.repeat(np.arange(6), 20)),
        "sample_weight": rng.exponential(size=120),
        "winner_weight": np.where(rng.random(120) < 0.5, 0.0, rng.exponential(size=120)),
        "loser_weight": rng.exponential(size=120),
    }
    return X, y, rows


def part(rows, places, suffix=""):
    return {name + suffix: values[places] for name, values in rows.items()}


def scores_by_hand(make, X, y, rows):
    """Return the scores of a ranker fitted in every fold of three, on the test rows."""
    found = []
    for train, test in QueryKFold(3).split(X, qid=rows["qid"]):
        ranker = make().fit(X[train], y[train], **part(rows, train))
        found.append(pairwise_accuracy(y[test], ranker.predict(X[test]), **part(rows, test)))
    return found


def test_a_path_fits_and_judges_by_them(data):
    X, y, rows = data
    train, test = np.arange(80), np.arange(80, 120)
    path = regularization_path(
        RankSVM(), X[train], y[train], values=CS, X_val=X[test], y_val=y[test],
        **part(rows, train), **part(rows, test, "_val"),
    )  # fmt: skip
    for at, C in enumerate(CS):
        ranker = RankSVM(C).fit(X[train], y[train], **part(rows, train))
        np.testing.assert_array_equal(path.coefs[at], ranker.coef_)
        assert path.scores[at] == ranker.score(X[test], y[test], **part(rows, test))


@pytest.mark.parametrize(("search", "ranker"), [(RankSVMCV, RankSVM), (RankNCGCV, RankNCG)])
def test_a_search_learns_and_judges_by_them(search, ranker, data):
    X, y, rows = data
    found = search(CS, cv=3, tol=1e-6).fit(X, y, **rows)
    for at, strength in enumerate(CS):
        wanted = scores_by_hand(lambda value=strength: ranker(value, tol=1e-7), X, y, rows)
        np.testing.assert_allclose(found.validation_scores_[:, at], wanted, rtol=1e-6)
    strength = found.C_ if search is RankSVMCV else found.alpha_
    alone = ranker(strength, tol=1e-6).fit(X, y, **rows)
    np.testing.assert_array_equal(found.coef_, alone.coef_)
    assert found.score(X, y, **rows) == alone.score(X, y, **rows)


def test_searches_over_differences_refuse_them(data):
    X, y, rows = data
    for estimator in (RankRLSCV(CS), GreedyRankRLS(1)):
        with pytest.raises(PairrankError, match="winner_weight is not supported here"):
            estimator.fit(X, y, **rows)
        with pytest.raises(PairrankError, match="loser_weight is not supported here"):
            estimator.fit(X, y, loser_weight=rows["loser_weight"])


def test_grid_search_routes_them_through_a_pipeline(data):
    X, y, rows = data

    def make(C):
        return make_pipeline(StandardScaler().set_fit_request(sample_weight=False), RankSVM(C))

    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(make(1.0), {"ranksvm__C": CS}, cv=QueryKFold(3)).fit(X, y, **rows)
        means = [np.mean(scores_by_hand(lambda C=C: make(C), X, y, rows)) for C in CS]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], means, rtol=1e-12)


def test_a_scorer_requests_what_its_metric_takes(data):
    X, y, rows = data
    ranker = RankRLS().fit(X, y, qid=rows["qid"])
    found = selection.get_query_scorer("pairwise_accuracy")(ranker, X, y, **rows)
    assert found == pairwise_accuracy(y, ranker.predict(X), **rows)
    roles = {"winner_weight", "loser_weight"}
    assert roles < set(selection.get_query_scorer("wmw").get_metadata_routing().score.requests)
    for scorer in (
        selection.get_query_scorer("mean_ndcg"),
        selection.get_query_scorer("kendall_tau"),
    ):
        assert set(scorer.get_metadata_routing().score.requests) == {"qid", "sample_weight"}
        with pytest.raises(PairrankError, match="winner_weight is not supported here"):
            scorer(ranker, X, y, winner_weight=rows["winner_weight"])

    def own(y_true, scores, *, winner_weight=None):
        return float(winner_weight.sum())

    scorer = selection.make_query_scorer(own)
    assert list(scorer.requests) == ["winner_weight"]
    search = RankSVMCV([1.0], cv=2, scoring=scorer).fit(X, y, **rows)
    assert search.validation_scores_.sum() == pytest.approx(rows["winner_weight"].sum())
