"""The check of the order: equal to its definition by pairs, and in the arithmetic of engines."""

from __future__ import annotations

import io

import numpy as np
import pytest
from scipy import sparse

from pairrank import RankRLS, RankSVM
from pairrank.exceptions import OrderChangeWarning, PairrankError
from pairrank.export import export


def test_rows_that_float32_cannot_tell_apart_are_named():
    X = 1e8 + np.array([[0.0], [1.0], [2.0], [0.0], [64.0]])
    qid = ["a", "a", "a", "b", "b"]
    ranker = RankRLS().fit(X, [0, 1, 2, 0, 1], qid=qid)
    with pytest.warns(
        OrderChangeWarning, match="'solr' is computed in float32: .* 1 of 2 queries: a;"
    ):
        check = ranker.export(io.BytesIO(), "solr", check=(X, qid))
    assert (check.n_changed, check.n_pairs, check.changed_queries) == (3, 4, ["a"])
    assert ranker.export(io.BytesIO(), "json", check=(X, qid)).changed_queries == []


def test_a_file_is_written_although_the_order_changes(tmp_path):
    X = 1e8 + np.array([[0.0], [1.0], [2.0]])
    ranker = RankRLS().fit(X, [0, 1, 2])
    with pytest.warns(OrderChangeWarning, match="3 of 3 pairs changes"):
        ranker.export(tmp_path / "m", "elasticsearch", check=(X, None))
    assert (tmp_path / "m").read_text().startswith("{")


@pytest.mark.parametrize("sparsely", [False, True])
def test_rows_beyond_float32_are_refused(sparsely, tmp_path):
    X = np.array([[0.0], [1.0], [2.0]])
    ranker, far = RankSVM().fit(X, [0, 1, 2]), np.array([[1.0], [1e300]])
    far = sparse.csr_array(far) if sparsely else far
    with pytest.raises(PairrankError, match="the score of row 1 overflows float32"):
        ranker.export(tmp_path / "m", "ranklib", check=(far, None))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("check", "complaint"),
    [
        (np.ones((2, 2)), "a tuple of two"),
        (([[1.0], [2.0]],), "a tuple of two"),
        (([[1.0, 2.0]], None), "X has 2 features, but the model 1"),
        (([[np.nan]], None), "NaN in row 0"),
        (([[1.0], [2.0]], [1]), "1 entries for 2 rows"),
    ],
)
def test_a_check_that_cannot_be_made_is_refused(check, complaint, tmp_path):
    ranker = RankSVM().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    with pytest.raises(PairrankError, match=complaint):
        export(ranker, tmp_path / "m", "csv", check=check)
    assert list(tmp_path.iterdir()) == []
