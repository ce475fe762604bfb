"""QueryKFold: whole queries in each fold, and qid carried through scikit-learn's searches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank import QueryKFold
from pairrank.exceptions import PairrankError

IDENTIFIERS = st.lists(st.sampled_from("abcdefgh"), min_size=4, max_size=60)


@given(qid=IDENTIFIERS, n_splits=st.integers(2, 4), shuffle=st.booleans())
def test_every_query_is_tested_once_and_never_split(qid, n_splits, shuffle):
    cv = QueryKFold(n_splits, shuffle=shuffle, random_state=0)
    if len(set(qid)) < n_splits:
        with pytest.raises(PairrankError, match="take fewer folds"):
            cv.split(qid, qid=qid)
        return
    tested = []
    for train, test in cv.split(np.zeros((len(qid), 1)), qid=qid):
        assert not {qid[row] for row in train} & {qid[row] for row in test}
        assert sorted([*train, *test]) == list(range(len(qid)))
        assert test.size
        tested.extend(test)
    assert sorted(tested) == list(range(len(qid)))


def test_queries_stay_in_their_order_unless_shuffled():
    qid = ["z", "z", "a", "m", "m", "b"]
    tests = [test.tolist() for _, test in QueryKFold(2).split(qid, qid=qid)]
    assert tests == [[0, 1, 2], [3, 4, 5]]
    shuffled = QueryKFold(4, shuffle=True, random_state=3)
    first, second = ([test.tolist() for _, test in shuffled.split(qid, qid=qid)] for _ in "12")
    assert first == second
    assert first != [test.tolist() for _, test in QueryKFold(4).split(qid, qid=qid)]


def test_a_split_without_qid_names_the_remedy():
    X = np.zeros((6, 1))
    for groups in (None, [1, 1, 2, 2, 3, 3]):
        with pytest.raises(PairrankError, match="enable_metadata_routing=True"):
            QueryKFold(2).split(X, None, groups)
    with pytest.raises(PairrankError, match="5 entries for 6 rows"):
        QueryKFold(2).split(X, qid=[1, 1, 2, 2, 3])
    with pytest.raises(PairrankError, match="n_splits must be"):
        QueryKFold(1).split(X, qid=[1, 1, 2, 2, 3, 3])
