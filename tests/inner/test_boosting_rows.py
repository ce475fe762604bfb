"""What a boosting objective keeps of its data."""

from __future__ import annotations

import copy
import pickle

import pytest

from boosting_rows import Data, assert_same, rows
from pairrank.boosting import AllPairsObjective, RankingMetric


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
