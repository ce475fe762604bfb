"""Beyond the papers: votes, halves, censored times, all pairs beside pointwise fits."""

import numpy as np
import pytest

from reproduction.data import DatasetNotFoundError
from reproduction.papers.beyond import all_pairs, comparisons, streaming, survival
from reproduction.papers.beyond.comparisons import GENERATED


def some_votes():
    return comparisons.votes_of(GENERATED, 0)


def test_folds_and_halves_keep_voters_whole():
    votes = some_votes()
    tested = np.zeros(votes.i.size, dtype=int)
    for train, test in comparisons._folds(votes, 0):
        assert not set(votes.voter[train].tolist()) & set(votes.voter[test].tolist())
        tested += test
    assert (tested == 1).all()
    one, two = comparisons._halves(votes, 0)
    assert not set(one.voter.tolist()) & set(two.voter.tolist())
    assert one.i.size + two.i.size == votes.i.size


def test_shares_of_votes_won_count_a_tie_as_half():
    votes = comparisons.Votes(
        np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([1.0, 1.0, 0.0]), np.arange(3), 4
    )
    np.testing.assert_allclose(comparisons._win_share(votes), [2.5 / 3, 1 / 3, 1 / 3, 0.5])


def test_order_counts_equal_scores_half():
    score = np.array([0.0, 1.0, 1.0])
    assert comparisons._order(score, np.array([1, 0, 1]), np.array([0, 1, 2])) == 0.5


def test_intervals_of_independent_votes_hold():
    found = comparisons.judge(dataset=GENERATED, covariance="laplace")
    # 30 items, .95 each: below .8 with a chance of less than 2e-3 if they were independent.
    assert found["agree"] >= 0.8
    assert 0.0 < found["half width"] < 1.0
    assert "agree" not in comparisons.judge(dataset=GENERATED, covariance=None)


@pytest.mark.parametrize("model", [survival.SVM, survival.NCG, survival.TIMES])
def test_risks_of_generated_patients_beat_chance(model):
    found = survival.judge(dataset=survival.GENERATED, model=model, n_rows=400)
    assert len(found["concordance"]) == survival.N_FOLDS
    assert np.mean(found["concordance"]) > 0.6


def test_all_pairs_win_if_queries_differ_in_severity():
    found = all_pairs.judge(dataset=all_pairs.JUDGES, n_queries=60, cv=3)
    assert found["low"] <= found["difference"] <= found["high"]
    assert found["difference"] > 0.0
    best = max(found["ranksvm"], found["rankncg"])
    # The difference is a mean over queries, the others are means over folds.
    assert found["difference"] == pytest.approx(best - found["rival"], abs=0.05)


def test_shifts_of_queries_change_no_order_within_them():
    given = all_pairs._judges(10, 0)
    plain = all_pairs.make_queries(10, 20, 10, 5, random_state=0)
    np.testing.assert_array_equal(given.qid, plain.qid)
    shift = given.y - plain.y
    for query in np.unique(given.qid):
        assert np.ptp(shift[given.qid == query]) == 0.0


def test_rows_on_disk_are_those_of_their_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "CHUNK", 40)
    X, y = streaming.write_rows(tmp_path, 100, 3)
    for chunk, size in enumerate((40, 40, 20)):
        rows = slice(40 * chunk, 40 * chunk + size)
        features, levels = streaming._chunk(size, 3, chunk)
        np.testing.assert_array_equal(X[rows], features)
        np.testing.assert_array_equal(y[rows], levels)
    assert X.nbytes + y.nbytes == streaming.BYTES * 100


def test_rows_for_which_the_disk_has_no_room_are_refused(tmp_path):
    with pytest.raises(DatasetNotFoundError, match="GB of disk"):
        streaming.write_rows(tmp_path, 10**15, 0)
