"""What a boosting objective keeps of its data."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from pairrank.boosting import AllPairsObjective, RankingMetric


class Data:
    """A stand-in for a Dataset, or with `num_row` for a DMatrix."""

    def __init__(self, labels, weight=None, group=None, *, matrix=False):
        self.label, self.weight, self.group = labels, weight, group
        if matrix:
            self.num_row = lambda: len(labels)

    def get_label(self):
        return np.asarray(self.label, dtype=np.float32)

    def get_weight(self):
        return self.weight

    def get_group(self):
        return self.group


def rows(n_rows=30, n_queries=5):
    rng = np.random.default_rng(0)
    qid = np.sort(rng.integers(0, n_queries, n_rows))
    y = rng.integers(0, 3, n_rows).astype(float)
    return y, rng.normal(size=n_rows), qid, np.bincount(qid), rng.exponential(size=n_rows)


def assert_same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_only_the_last_data_stay_bound():
    y, scores, _, group, _ = rows()
    objective = AllPairsObjective()
    for at in range(20):
        objective(scores, Data(y + at, None, group))
    assert len(objective._bound) == 8


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_work_and_hold_no_bound_data(copied):
    y, scores, qid, _, _ = rows()
    objective = AllPairsObjective("hinge", graph="chain", qid=qid)
    wanted = objective(y, scores)
    other = copied(objective)
    assert not other._bound
    assert_same(other(y, scores), wanted)
    assert repr(other) == repr(objective)
    assert "qid=..." in repr(other)
    metric = copied(RankingMetric("ndcg@3", qid=qid))
    assert metric(y, scores) == RankingMetric("ndcg@3", qid=qid)(y, scores)
    assert metric.__name__ == "ndcg@3"
