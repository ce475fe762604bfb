"""PairwiseClassifier: a classifier to scikit-learn, calibrated on rows that were left out."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import RocCurveDisplay, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairrank import PairwiseClassifier, QueryKFold, RankNCG, RankRLS, RankSVM
from pairrank.exceptions import NoPairsError, PairrankError


@pytest.fixture(scope="module")
def rows():
    return make_classification(
        600, 5, n_informative=3, n_redundant=0, weights=[0.8], flip_y=0.1, random_state=0
    )


class Margin(LogisticRegression):
    """A classifier whose decisions are the scores of a ranker."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y)
        self.ranker_ = RankSVM().fit(X, y, sample_weight=sample_weight)
        return self

    def decision_function(self, X):
        return self.ranker_.predict(X)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities_are_those_of_calibrated_classifier_cv(rows, method, weighted):
    X, y = rows
    weight = np.random.default_rng(0).exponential(size=y.size) if weighted else None
    folds = StratifiedKFold(4)
    own = PairwiseClassifier(RankSVM(), method=method, cv=folds).fit(X, y, sample_weight=weight)
    peer = CalibratedClassifierCV(Margin(), method=method, cv=folds, ensemble=False)
    peer.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(own.predict_proba(X), peer.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(own.predict(X), peer.predict(X))


@pytest.mark.parametrize(
    "names", [["no", "yes"], [False, True], [-1e308, 1e308]], ids=lambda names: str(names)
)
def test_two_classes_of_any_type_are_predicted_as_they_are(rows, names):
    X, codes = rows
    y = np.array(names)[codes]
    classifier = PairwiseClassifier().fit(X, y)
    assert classifier.classes_.tolist() == sorted(names)
    assert set(classifier.predict(X).tolist()) == set(names)
    assert is_classifier(classifier)
    assert not classifier.__sklearn_tags__().classifier_tags.multi_class
    probability = classifier.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    assert roc_auc_score(codes, probability[:, 1]) == pytest.approx(
        roc_auc_score(codes, classifier.ranker_.predict(X)), abs=1e-12
    )


def test_curves_scorers_and_searches_take_it_in_a_pipeline(rows):
    pytest.importorskip("matplotlib", reason="displays need matplotlib").use("Agg")
    X, y = (part[:200] for part in rows)
    model = make_pipeline(StandardScaler(), PairwiseClassifier(cv=2))
    search = GridSearchCV(
        model,
        {"pairwiseclassifier__ranker": [RankSVM(), RankRLS()]},
        scoring=["roc_auc", "neg_log_loss", "accuracy"],
        refit="neg_log_loss",
        cv=2,
        error_score="raise",
    ).fit(X, y)
    area = RocCurveDisplay.from_estimator(search.best_estimator_, X, y).roc_auc
    assert area == pytest.approx(roc_auc_score(y, search.predict_proba(X)[:, 1]))
    display = CalibrationDisplay.from_estimator(search.best_estimator_, X, y)
    assert np.isfinite(display.prob_true).all()
    inner = make_pipeline(StandardScaler(), RankSVM())
    outer = PairwiseClassifier(inner).fit(pd.DataFrame(X, columns=list("abcde")), y)
    assert outer.feature_names_in_.tolist() == list("abcde")


def test_scores_are_left_out_by_whole_queries(rows):
    X, y = rows
    qid = np.arange(600) // 30
    folds = list(QueryKFold(5).split(X, qid=qid))
    by_default = PairwiseClassifier().fit(X, y, qid=qid)
    given = PairwiseClassifier(cv=folds).fit(X, y, qid=qid)
    np.testing.assert_array_equal(by_default.predict_proba(X), given.predict_proba(X))
    whole = RankSVM().fit(X, y, qid=qid)
    np.testing.assert_array_equal(by_default.ranker_.predict(X), whole.predict(X))
    with config_context(enable_metadata_routing=True):
        PairwiseClassifier().fit(X, y, sample_weight=np.ones(600))
        scores = cross_val_score(
            PairwiseClassifier(), X, y, cv=QueryKFold(2), scoring="roc_auc", params={"qid": qid}
        )
    assert (scores > 0.6).all()


def test_sparse_rows_and_kernel_matrices_are_split_as_dense_rows(rows):
    X, y = (part[:150] for part in rows)
    dense = PairwiseClassifier(RankSVM(tol=1e-8)).fit(X, y)
    thin = PairwiseClassifier(RankSVM(tol=1e-8)).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.predict_proba(X), dense.predict_proba(X), atol=1e-6)
    K = X @ X.T
    in_kernel = PairwiseClassifier(RankSVM(kernel="precomputed", tol=1e-8)).fit(K, y)
    np.testing.assert_allclose(in_kernel.predict_proba(K), dense.predict_proba(X), atol=1e-5)


def test_more_classes_are_left_to_one_vs_rest():
    X, y = make_classification(200, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0)
    with pytest.raises(PairrankError, match=r"Only binary .* multiclass: wrap .*OneVsRest"):
        PairwiseClassifier().fit(X, y)
    each = OneVsRestClassifier(PairwiseClassifier(cv=2)).fit(X, y)
    assert each.score(X, y) > 0.6


@pytest.mark.parametrize(
    ("y", "weight", "complaint"),
    [
        ([1, 1, 1, 1], None, "one class only"),
        ([0, 1, 0, 1], [1, 0, 1, 0], "one class only"),
        ([0, 1, 0], None, "3 entries for 4 rows"),
        ([0.1, 0.2, 0.3, 0.4], None, "Unknown label type"),
        ([0, 1, 0, 0], None, "rows of both classes"),
    ],
)
def test_what_cannot_be_learnt_is_refused(y, weight, complaint):
    error = NoPairsError if "both" in complaint else ValueError
    with pytest.raises(error, match=complaint):
        PairwiseClassifier(cv=2).fit([[0.0], [1.0], [2.0], [3.0]], y, sample_weight=weight)


def test_parameters_are_checked_and_left_alone(rows):
    X, y = rows
    with pytest.raises(PairrankError, match="method must be one of"):
        PairwiseClassifier(method="platt").fit(X, y)
    ranker = RankSVM(C=0.5)
    classifier = PairwiseClassifier(ranker).fit(X, y)
    assert not hasattr(ranker, "coef_")
    assert clone(classifier).ranker.C == 0.5


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_a_pickled_classifier_predicts_as_the_one_fitted_did(rows, method):
    X, codes = rows
    frame = pd.DataFrame(X, columns=list("abcde"))
    y = np.array(["no", "yes"])[codes]
    given = PairwiseClassifier(make_pipeline(StandardScaler(), RankNCG()), method=method)
    again = pickle.loads(pickle.dumps(given.fit(frame, y)))
    np.testing.assert_array_equal(again.predict_proba(frame), given.predict_proba(frame))
    np.testing.assert_array_equal(again.predict(frame), given.predict(frame))
