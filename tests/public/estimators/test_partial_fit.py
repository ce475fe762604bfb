"""partial_fit learns from batches what fit learns from all rows at once."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from pairrank import OrderGraph, Pairs, RankNCG, RankSVM, load_model
from pairrank.exceptions import NoPairsWarning, PairrankError

pytestmark = pytest.mark.numeric
WITHIN = 0.01
"""What the issue of these batches asks: the distance from the batch objective."""


def make_rows(n_rows=20_000, n_queries=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 10))
    y = np.digitize(X @ np.linspace(2, 0, 10) + 3 * rng.normal(size=n_rows), [-3, 0, 2, 4])
    return X, y.astype(float), np.sort(rng.integers(0, n_queries, n_rows))


@pytest.fixture(scope="module")
def rows():
    return make_rows()


def learn_in_chunks(ranker, parts, **options):
    ranker = clone(ranker)
    for part in parts:
        ranker.partial_fit(*part[:2], qid=part[2] if len(part) > 2 else None, **options)
    return ranker


def test_comparisons_in_100_batches_come_within_1_percent():
    rng = np.random.default_rng(2)
    strength = rng.normal(size=20)
    i = rng.integers(0, 20, 20_000)
    j = (i + rng.integers(1, 20, i.size)) % 20
    wins = rng.random(i.size) < 1 / (1 + np.exp(strength[j] - strength[i]))
    i, j = np.where(wins, i, j), np.where(wins, j, i)
    X, ranker = np.eye(20), RankNCG()
    for part in np.array_split(np.arange(i.size), 100):
        ranker.partial_fit(X, Pairs(i[part], j[part], n_rows=20))
    best = RankNCG().fit(X, Pairs(i, j, n_rows=20))
    margins = ranker.coef_[i] - ranker.coef_[j]
    found = np.log1p(np.exp(-margins)).sum() + ranker.coef_ @ ranker.coef_ / 2
    assert best.objective_ <= found <= best.objective_ * (1 + WITHIN)
    assert ranker.n_pairs_ == i.size


def test_n_steps_is_the_number_of_pairs_drawn(rows):
    X, y, _ = rows
    ranker = RankSVM().partial_fit(X[:100], y[:100], n_steps=7)
    assert ranker.n_steps_ == 7
    assert ranker.partial_fit(X[:100], y[:100]).n_steps_ == 1007


def test_equal_seeds_give_equal_bits_also_through_a_pickle(rows):
    X, y, _ = rows
    parts = [(X[start : start + 50], y[start : start + 50]) for start in range(0, 500, 50)]
    whole = learn_in_chunks(RankSVM(), parts, reservoir=20)
    half = pickle.loads(pickle.dumps(learn_in_chunks(RankSVM(), parts[:5], reservoir=20)))
    for part in parts[5:]:
        half.partial_fit(*part)
    assert half.coef_.tobytes() == whole.coef_.tobytes()
    other = learn_in_chunks(RankSVM(random_state=1), parts, reservoir=20)
    assert other.coef_.tobytes() != whole.coef_.tobytes()


def test_a_batch_without_a_pair_warns_and_its_rows_count(rows):
    X, y, _ = rows
    ranker = RankSVM()
    with pytest.warns(NoPairsWarning, match="no preference among the 2 rows"):
        ranker.partial_fit(X[:2], [1.0, 1.0])
    assert not ranker.coef_.any()
    assert (ranker.n_rows_, ranker.n_pairs_, ranker.n_steps_) == (2, 0, 0)
    ranker.partial_fit(X[:100], y[:100])
    assert ranker.coef_.any()
    assert ranker.n_rows_ == 102


def test_classes_are_needed_but_for_the_full_graph(rows):
    X, y, _ = rows
    for graph in ("chain", OrderGraph([(0.0, 1.0), (1.0, 2.0)])):
        with pytest.raises(PairrankError, match="needs classes= at the first call"):
            RankSVM(graph=graph).partial_fit(X, y)
    ranker = RankSVM(graph="chain").partial_fit(X[:50], y[:50], classes=[4, 3, 2, 1, 0])
    ranker.partial_fit(X[50:90], y[50:90], classes=[0, 1, 2, 3, 4])
    with pytest.raises(PairrankError, match="classes differ"):
        ranker.partial_fit(X[:50], y[:50], classes=[0, 1])
    with pytest.raises(PairrankError, match=r"y holds 7\.0, which is not among classes"):
        ranker.partial_fit(X[:2], [7.0, 1.0])
    with pytest.raises(PairrankError, match="at least two labels"):
        RankSVM().partial_fit(X, y, classes=[1.0])
    with pytest.raises(PairrankError, match=r"not among classes: 9\.0"):
        RankSVM(graph=OrderGraph([(0.0, 9.0)])).partial_fit(X, y, classes=np.unique(y))


def test_text_labels_that_a_batch_lacks_are_no_warning(rows):
    X, _, _ = rows
    graph = OrderGraph([("poor", "fair"), ("fair", "good")])
    ranker = RankSVM(graph=graph)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.partial_fit(X[:3], ["poor", "fair", "poor"], classes=["poor", "fair", "good"])
    assert ranker.n_pairs_ == 2


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"y": Pairs([0], [1], n_rows=4)}, "earlier batches had labels, this one has Pairs"),
        ({"qid": [0, 0, 1, 1]}, "qid must be given with every batch or with none"),
        ({"reservoir": 5}, "at the first call it was None"),
        ({"n_steps": 0}, "n_steps must be at least 1"),
        ({"X": np.eye(4)[:, :3]}, "3 features"),
        ({"y": [0.0, np.nan, 1.0, 1.0]}, "NaN"),
    ],
)
def test_a_batch_of_another_kind_is_refused_and_changes_nothing(second, message):
    first = {"X": np.eye(4), "y": [0.0, 1.0, 2.0, 0.0]}
    ranker = RankSVM().partial_fit(**first)
    before = ranker.coef_
    with pytest.raises(PairrankError, match=message):
        ranker.partial_fit(**{**first, **second})
    assert ranker.coef_ is before
    ranker.partial_fit(**first)
    twice = RankSVM().partial_fit(**first).partial_fit(**first)
    np.testing.assert_array_equal(ranker.coef_, twice.coef_)


@pytest.mark.parametrize(
    ("ranker", "options", "message"),
    [
        (RankSVM(), {"reservoir": 0}, "reservoir must be at least 1"),
        (RankSVM(reduction="query"), {"reservoir": 3}, 'use reduction="rows"'),
        (RankSVM(), {"reservoir": 3, "y": Pairs([0], [1])}, "leave reservoir out"),
        (RankSVM(graph="chain"), {"y": Pairs([0], [1])}, "leave graph at its default"),
    ],
)
def test_a_first_batch_that_cannot_be_learnt_is_refused(ranker, options, message):
    with pytest.raises(PairrankError, match=message):
        ranker.partial_fit(**{"X": np.eye(3), "y": [0.0, 1.0, 2.0], **options})
    assert not hasattr(ranker, "coef_")


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (RankSVM(kernel="rbf"), "take kernel=None"),
        (RankSVM(solver="tron"), 'take solver="sgd"'),
        (RankNCG(loss="raykar"), 'take "probit"'),
        (RankNCG(covariance="rows"), "take covariance=None"),
    ],
)
def test_what_has_no_stochastic_steps_has_no_partial_fit(ranker, message):
    assert not hasattr(ranker, "partial_fit")
    with pytest.raises(AttributeError) as caught:
        ranker.partial_fit(np.eye(2), [0, 1])
    assert message in str(caught.value.__cause__)


def test_fit_forgets_the_batches(rows):
    X, y, _ = rows
    ranker = RankNCG().partial_fit(X[:500], y[:500]).fit(X[500:900], y[500:900])
    plain = RankNCG().fit(X[500:900], y[500:900])
    np.testing.assert_array_equal(ranker.coef_, plain.coef_)
    assert not hasattr(ranker, "n_steps_")
    ranker.partial_fit(X[:50], y[:50])
    np.testing.assert_array_equal(ranker.coef_, plain.partial_fit(X[:50], y[:50]).coef_)


def test_a_ranker_of_batches_is_saved_and_shown(rows, tmp_path):
    X, y, _ = rows
    ranker = RankSVM().partial_fit(X[:500], y[:500])
    ranker.save(tmp_path / "model.pairrank")
    loaded = load_model(tmp_path / "model.pairrank")
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    assert loaded.n_steps_ == ranker.n_steps_ == 5000
    assert "Pairs" in ranker._repr_html_()


@pytest.mark.parametrize("classes", [{0, 1, 2}, 5, [[0, 1, 2]], [0, 1, np.nan]], ids=str)
def test_what_is_no_list_of_classes_is_refused_at_every_call(classes):
    X, y = np.eye(3), [0.0, 1.0, 2.0]
    with pytest.raises(PairrankError, match="classes"):
        RankSVM().partial_fit(X, y, classes=classes)
    ranker = RankSVM().partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(PairrankError, match="classes"):
        ranker.partial_fit(X, y, classes=classes)
