"""RankBoost as an estimator: scikit-learn, early stopping, bins, files, callbacks."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer

from pairrank import OrderGraph, Pairs, RankBoost, load_model, regularization_path, report
from pairrank.exceptions import PairrankError
from pairrank.export import export
from pairrank.metrics import pairwise_accuracy


def rows(n_rows=300, n_features=4, seed=0, gaps=0.0):
    """Return X, labels of three levels that follow two of the features, and queries."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features))
    noise = 0.3 * generator.normal(size=n_rows)
    y = np.digitize(X[:, 0] + (X[:, 1] > 0.5) + noise, [-0.5, 0.5])
    X[generator.random(X.shape) < gaps] = np.nan
    return X, y, generator.integers(0, 6, n_rows)


def test_it_ranks_rows_that_no_line_ranks():
    X, y, qid = rows()
    ranker = RankBoost(50).fit(X[:200], y[:200], qid=qid[:200])
    assert ranker.score(X[200:], y[200:], qid=qid[200:]) > 0.9
    assert np.argsort(ranker.feature_importances_)[-2:].tolist() == [1, 0]
    assert ranker.feature_importances_.sum() == pytest.approx(1.0)
    assert ranker.train_score_.shape == (51,)
    assert (np.diff(ranker.train_score_) <= 0).all()
    assert ranker.objective_ == ranker.train_score_[-1]
    assert len(ranker.history_) == ranker.n_iter_ == ranker.n_estimators_ == 50
    assert ranker.history_[-1].n_evaluations == 51
    assert ranker.history_[-1].n_products == 0


def test_staged_scores_end_with_those_of_predict():
    X, y, qid = rows(gaps=0.2)
    ranker = RankBoost(12).fit(X, y, qid=qid)
    stages = list(ranker.staged_predict(X))
    assert len(stages) == 12
    np.testing.assert_array_equal(stages[-1], ranker.predict(X))
    short = RankBoost(5).fit(X, y, qid=qid)
    np.testing.assert_array_equal(stages[4], short.predict(X))


@pytest.mark.parametrize("form", [np.asfortranarray, np.float32, sparse.csc_array, pd.DataFrame])
def test_every_form_of_the_rows_gives_the_same_ranker(form):
    X, y, qid = rows()
    X = np.where(np.abs(X) < 0.7, 0.0, X).astype(np.float32).astype(np.float64)
    plain = RankBoost(15).fit(X, y, qid=qid)
    other = RankBoost(15).fit(form(X), y, qid=qid)
    # The potentials of zeros of sparse rows are added up in another order.
    np.testing.assert_allclose(other.predict(form(X)), plain.predict(X), rtol=1e-9, atol=1e-12)
    assert list(other.rankings_.features) == list(plain.rankings_.features)


def test_repeated_entries_of_a_sparse_matrix_are_added():
    X = sparse.coo_array(([1.0, 1.0, 1.0], ([0, 0, 1], [0, 0, 0])), shape=(2, 1)).tocsr()
    twice = sparse.csr_array((np.ones(3), [0, 0, 0], [0, 2, 3]), shape=(2, 1))
    found = [RankBoost(1).fit(each, [1, 0]).rankings_.thresholds[0] for each in (X, twice)]
    assert found == [1.5, 1.5]


def test_early_stopping_keeps_the_best_rounds():
    X, y, qid = rows(200, seed=3)
    held = rows(200, seed=4)
    given = {"qid": qid, "X_val": held[0], "y_val": held[1], "qid_val": held[2]}
    watched = RankBoost(60).fit(X, y, **given)
    assert watched.validation_scores_.shape == (61,)
    assert watched.validation_scores_[0] == 0.5
    assert watched.n_estimators_ == 60
    for scores, found in zip(
        watched.staged_predict(held[0]), watched.validation_scores_[1:], strict=True
    ):
        assert found == pairwise_accuracy(held[1], scores, qid=held[2])
    stopped = RankBoost(60, early_stopping=True, patience=5).fit(X, y, **given)
    best = int(np.argmax(watched.validation_scores_[: stopped.n_iter_ + 1]))
    assert stopped.n_estimators_ == stopped.best_iteration_ == best
    assert (stopped.status_, stopped.n_iter_) == ("validated", best + 5)
    assert stopped.objective_ == watched.train_score_[best]
    assert stopped.score(held[0], held[1], qid=held[2]) == watched.validation_scores_[best]
    np.testing.assert_array_equal(stopped.predict(X), RankBoost(best).fit(X, y, qid=qid).predict(X))
    judged = RankBoost(5, validation_metric="ndcg@3").fit(X, y, **given)
    assert (judged.validation_scores_ <= 1.0).all()


def test_validation_rows_are_drawn_by_whole_queries():
    X, y, qid = rows()
    ranker = RankBoost(30, early_stopping=True, validation_fraction=0.4, random_state=1)
    ranker.fit(X, y, qid=qid)
    assert ranker.n_queries_ == 4
    with pytest.raises(PairrankError, match="pass X_val"):
        ranker.fit(X, y, qid=np.arange(len(X)))


def test_a_graph_and_its_comparisons_are_learnt_alike():
    X, y, _ = rows(60)
    graph = OrderGraph([("a", "b"), ("a", "c")])
    names = np.array(["a", "b", "c"])[y]
    ranker = RankBoost(8, graph=graph).fit(X, names)
    i, j = np.nonzero((y[:, np.newaxis] > 0) & (y == 0))
    by_pairs = RankBoost(8).fit(X, Pairs(i, j, n_rows=60))
    np.testing.assert_allclose(ranker.predict(X), by_pairs.predict(X), rtol=1e-10)
    with pytest.raises(PairrankError, match="leave graph at its default"):
        ranker.fit(X, Pairs(i, j, n_rows=60))


def test_a_model_file_predicts_as_the_ranker(tmp_path):
    X, y, qid = rows(gaps=0.2)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    ranker = RankBoost(9, graph="chain").fit(frame, y, qid=qid)
    for path in (tmp_path / "model", tmp_path / "empty"):
        ranker.save(path)
        loaded = load_model(path)
        np.testing.assert_array_equal(loaded.predict(frame), ranker.predict(frame))
        assert loaded.n_estimators_ == ranker.n_estimators_
        np.testing.assert_array_equal(loaded.feature_importances_, ranker.feature_importances_)
        copied = pickle.loads(pickle.dumps(ranker))
        np.testing.assert_array_equal(copied.predict(frame), ranker.predict(frame))
        with pytest.warns(match="every row has the same score"):
            ranker = clone(ranker).fit(0.0 * frame.fillna(0.0), y)


def test_infinite_features_are_refused_and_gaps_are_not():
    with pytest.raises(PairrankError, match=r"X contains infinity \(inf\) in row 1, feature 0"):
        RankBoost().fit([[np.nan], [np.inf]], [0, 1])
    ranker = RankBoost().fit([[np.nan], [1.0]], [0, 1])
    with pytest.raises(PairrankError, match="infinity"):
        ranker.predict([[-np.inf]])


def test_callbacks_see_rounds_and_stop_them_and_interrupts_keep_them(capsys, interrupt_at):
    X, y, _ = rows(60)
    steps = []

    def stop_at_three(step):
        steps.append(step)
        return step.n_iter == 3

    ranker = RankBoost(10, verbose=1).fit(X, y, callback=stop_at_three)
    assert len(capsys.readouterr().err.splitlines()) == 3
    assert (ranker.status_, ranker.n_estimators_) == ("stopped", 3)
    assert [step.n_iter for step in steps] == [1, 2, 3]
    np.testing.assert_array_equal(steps[-1].coef, ranker.rankings_.alphas)
    assert [step.value for step in steps] == ranker.train_score_[1:].tolist()
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        ranker = RankBoost(10).fit(X, y, callback=interrupt_at(2))
    assert (ranker.status_, ranker.n_estimators_) == ("interrupted", 2)


def test_it_works_with_scorers_and_paths():
    X, y, _ = rows()
    assert get_scorer("roc_auc")(RankBoost(10).fit(X, y > 1), X, y > 1) > 0.8
    path = regularization_path(
        RankBoost(), X, y, param="n_estimators", values=[5, 20], X_val=X, y_val=y
    )
    assert path.best_estimator.n_estimators_ == 20
    assert path.coefs.shape == (2, 0)


def test_what_needs_weights_of_features_says_so(tmp_path):
    X, y, _ = rows(60)
    ranker = RankBoost(3).fit(X, y)
    for attempt in (
        lambda: ranker.linear_coef(),
        lambda: export(ranker, tmp_path / "x.json", "solr"),
    ):
        with pytest.raises(PairrankError, match="not linear in the features"):
            attempt()


def test_a_report_shows_scores_and_metrics_of_rows_with_missing_values():
    pytest.importorskip("jinja2", reason="reports need jinja2")
    X, y, _ = rows(60)
    X[3, 1] = np.nan
    shown = report.report(RankBoost(3).fit(X, y), X, y).html
    assert "features have no weights" in shown
    assert "Scores by label" in shown
