"""RankRLS by iteration: validation rows given and drawn, the ranking error, what is kept."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pairrank import Pairs, RankRLS
from pairrank._protocols import Step
from pairrank.estimators._rows import Rows, Watch, draw_held_rows, row_scores
from pairrank.exceptions import PairrankError
from pairrank.metrics import pairwise_accuracy

pytestmark = pytest.mark.numeric


@pytest.fixture(scope="module")
def noisy():
    """Rows with so many features that the minimum overfits: 40 queries to learn from, 20 to see."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 150)) * np.logspace(0, -1, 150)
    y = np.round(X[:, 0] - X[:, 1] + 1.5 * rng.normal(size=600), 1)
    qid = np.repeat(np.arange(60), 10)
    return (X[:400], y[:400], qid[:400]), (X[400:], y[400:], qid[400:])


def ranking_error(y, scores, qid):
    """Eq. 1 of the paper, pair by pair."""
    errors = []
    for query in sorted(set(qid)):
        inside = np.flatnonzero(qid == query)
        pairs = [(j, k) for j in inside for k in inside if y[j] < y[k]]
        if pairs:
            gaps = np.array([scores[j] - scores[k] for j, k in pairs])
            errors.append(np.mean((gaps > 0) + 0.5 * (gaps == 0)))
    return np.mean(errors)


def kept_back(y, qid=None, weight=None, fraction=0.2, seed=0):
    """Return the rows to learn from, and those held out."""
    return draw_held_rows(Rows(None, y, qid, weight), fraction, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(5))
def test_whole_queries_are_drawn_of_those_that_hold_a_preference(seed):
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.array(list("abcdefghijkl")), 5))
    y = np.where(np.isin(qid, ["a", "b"]), 3.0, rng.normal(size=60))
    learnt, held = kept_back(y, qid, seed=seed)
    drawn = set(qid[held.places])
    assert len(drawn) == 2
    assert not drawn & {"a", "b"}
    np.testing.assert_array_equal(held.places, np.flatnonzero(np.isin(qid, list(drawn))))
    np.testing.assert_array_equal(learnt.sample_weight, ~np.isin(qid, list(drawn)))
    np.testing.assert_array_equal(held.y, y[held.places])
    np.testing.assert_array_equal(held.qid, qid[held.places])


@pytest.mark.parametrize("seed", range(5))
def test_of_one_query_rows_are_drawn_along_their_labels(seed):
    y = np.zeros(200)
    y[[7, 90, 101]] = 1.0
    weight = np.where(np.arange(200) % 2, 2.0, 0.0)
    weight[90] = 1.0
    for qid in (None, np.full(200, "q")):
        learnt, held = kept_back(y, qid, weight, seed=seed)
        assert held.places.size == 20
        assert (weight[held.places] > 0).all()
        assert set(held.y) == {0.0, 1.0}
        assert set(y[learnt.sample_weight > 0]) == {0.0, 1.0}
        assert not learnt.sample_weight[held.places].any()


def test_of_comparisons_those_of_whole_queries_or_some_are_drawn():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(10), 4)
    i = np.arange(40)
    j = 4 * (i // 4) + (i + 1) % 4
    pairs = Pairs(i, j, rng.exponential(size=40), np.where(qid >= 2, 1.0, 0.0))
    held = kept_back(pairs, qid)[1]
    assert len(set(held.qid)) == 2
    assert set(held.qid) <= set(range(2, 10))
    assert held.y.n_pairs == 8
    left, tested = (part.y for part in kept_back(pairs))
    assert tested.n_pairs == round(0.2 * 32)
    assert left.n_pairs + tested.n_pairs == 40
    assert tested.magnitude.all()
    both = {(a, b) for one in (left, tested) for a, b in zip(one.i, one.j, strict=True)}
    assert both == set(zip(pairs.i, pairs.j, strict=True))


def test_of_comparisons_with_groups_whole_groups_are_drawn():
    i, voter = np.arange(40), np.arange(40) % 10
    magnitude = np.where(voter >= 5, 1.0, 0.0)
    pairs = Pairs(i, (i + 1) % 40, magnitude=magnitude, groups=voter)
    for qid in (None, np.zeros(40)):
        left, tested = (part.y for part in kept_back(pairs, qid))
        assert len(set(tested.groups)) == 1
        assert set(tested.groups) <= set(range(5, 10))
        assert not set(tested.groups) & set(left.groups)
        assert left.n_pairs + tested.n_pairs == 40
    alone = Pairs([0, 1], [1, 2], groups=["a", "a"])
    with pytest.raises(PairrankError, match="validation groups cannot be drawn from 1"):
        kept_back(alone)


@pytest.mark.parametrize(
    ("y", "qid", "weight", "message"),
    [
        (np.zeros(10), None, None, "samples of one class"),
        (np.zeros(1), None, None, "1 sample"),
        (np.arange(3.0), None, None, "from 3 samples"),
        (np.arange(10.0), None, np.arange(10.0) < 3, "from 3 samples"),
        (np.append(np.zeros(9), 1.0), None, None, "nearly all labels are equal"),
        (np.arange(10.0), np.arange(10), None, "0 of 10 queries"),
        (np.arange(10.0) % 5, np.arange(10) // 2 * (np.arange(10) < 4), None, "pass X_val"),
        (Pairs([0], [1]), None, None, "from 1 of them"),
        (Pairs([0, 1], [1, 2], magnitude=[0.0, 1.0]), None, None, "from 1 of them"),
        (Pairs([0], [1], n_rows=4), np.array([0, 0, 1, 1]), None, "1 of 2 queries"),
    ],
)
def test_what_cannot_be_drawn_from_is_refused(y, qid, weight, message):
    if message == "pass X_val":
        y = np.where(qid > 0, 1.0, y)
    weight = None if weight is None else weight.astype(float)
    with pytest.raises(PairrankError, match=message):
        kept_back(y, qid, weight)
    X = np.ones((len(y), 2))
    with pytest.raises(PairrankError, match=message):
        RankRLS(regularization="iteration").fit(X, y, qid=qid, sample_weight=weight)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("block", [1, 1 << 21])
def test_rows_are_scored_where_they_lie(form, block, monkeypatch):
    monkeypatch.setattr("pairrank.estimators._rows._BLOCK_ENTRIES", block)
    rng = np.random.default_rng(0)
    X, w, rows = rng.normal(size=(30, 4)), rng.normal(size=4), np.array([3, 5, 6, 29])
    np.testing.assert_allclose(row_scores(form(X), rows)(w), X[rows] @ w)
    np.testing.assert_allclose(row_scores(form(X))(w), X @ w)


def test_validation_scores_are_one_less_the_ranking_error(noisy):
    (X, y, qid), held = noisy
    given = dict(zip(("X_val", "y_val", "qid_val"), held, strict=True))
    ranker = RankRLS().fit(X, y, qid=qid, **given)
    error = ranking_error(held[1], ranker.predict(held[0]), held[2])
    assert ranker.validation_scores_[-1] == pytest.approx(1 - error)
    pairs = Pairs([0, 1, 2, 3], [1, 2, 3, 0], magnitude=[1.0, 2.0, 0.0, 1.0])
    ranker.fit(np.eye(4), pairs, X_val=np.eye(4), y_val=pairs)
    expected = pairwise_accuracy(pairs, ranker.predict(np.eye(4)))
    assert ranker.validation_scores_[-1] == pytest.approx(expected)


def test_of_equal_scores_the_first_iterate_is_kept_and_zero_weights_never():
    watch = Watch(lambda s: pairwise_accuracy(np.arange(3.0), s), lambda w: w, patience=2)
    zero, wrong, tied = np.zeros(3), np.array([3.0, 2.0, 1.0]), np.ones(3)
    told = [
        watch(Step(at, 0.0, 0.0, w, 0.0, 0, 0)) for at, w in enumerate((zero, wrong, tied, tied))
    ]
    assert told == [False] * 4
    assert watch.curve == [0.5, 0.0, 0.5, 0.5]
    assert watch.best_iteration == 2
    assert not watch(Step(4, 0.0, 0.0, 2 * tied, 0.0, 0, 0))
    assert watch(Step(5, 0.0, 0.0, 3 * tied, 0.0, 0, 0))


def test_iterations_that_leave_the_weights_unchanged_do_not_wear_patience_out():
    calls = []
    watch = Watch(lambda scores: calls.append(scores) or -float(scores[0]), lambda w: w, patience=1)
    moves = [np.array([value]) for value in (0.0, 0.0, 1.0, 1.0, 1.0)]
    assert not any(watch(Step(at, 0.0, 0.0, w, 0.0, 0, 0)) for at, w in enumerate(moves))
    assert watch.curve == [0.0, 0.0, -1.0, -1.0, -1.0]
    assert len(calls) == 2
    assert watch(Step(5, 0.0, 0.0, np.array([2.0]), 0.0, 0, 0))
    assert watch.best_iteration == 2


def test_a_drawn_fit_is_the_fit_on_the_rest_with_what_was_drawn_given(noisy):
    (X, y, qid), _ = noisy
    weight = np.random.default_rng(0).exponential(size=400)
    rest, held = np.ones(400, bool), kept_back(y, qid, weight, fraction=0.25)[1]
    rest[held.places] = False
    for form in (np.asarray, sparse.csr_array):
        ranker = RankRLS(regularization="iteration", validation_fraction=0.25)
        drawn = ranker.fit(form(X), y, qid=qid, sample_weight=weight)
        curve, coef = drawn.validation_scores_, drawn.coef_
        parts = {"X_val": X[~rest], "y_val": y[~rest], "qid_val": qid[~rest]}
        by_hand = ranker.fit(
            X[rest],
            y[rest],
            qid=qid[rest],
            sample_weight=weight[rest],
            sample_weight_val=weight[~rest],
            **parts,
        )
        np.testing.assert_allclose(curve, by_hand.validation_scores_)
        np.testing.assert_allclose(coef, by_hand.coef_, rtol=1e-8)
