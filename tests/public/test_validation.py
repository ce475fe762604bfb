"""Parameters and arrays at the door: what passes, and the sentence for what does not."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import SGD, OrderGraph, RankSVM
from pairrank.exceptions import PairrankError

X, Y = np.arange(6.0).reshape(3, 2), [0, 1, 2]


def test_numpys_text_chooses_as_pythons_does():
    plain = RankSVM(reduction="query", graph="chain", solver="tron").fit(X, Y)
    numpys = RankSVM(
        reduction=np.str_("query"), graph=np.str_("chain"), solver=np.str_("tron")
    ).fit(X, Y)
    np.testing.assert_array_equal(numpys.coef_, plain.coef_)


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="needs numpy 2")
def test_numpys_text_of_any_length_labels_rows_as_pythons_does():
    words = np.array(["low", "high", "low", "high"])
    graph = OrderGraph([("low", "high")])
    features = np.arange(8.0).reshape(4, 2) % 3
    plain = RankSVM(graph=graph).fit(features, words.tolist())
    numpys = RankSVM(graph=graph).fit(features, words.astype(np.dtypes.StringDType()))
    np.testing.assert_array_equal(numpys.coef_, plain.coef_)


def test_truth_values_of_numpy_and_python_are_parameters():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 2]
    for average in (False, np.True_):
        RankSVM(solver=SGD(average=average)).fit(X, y)
    for average in ("no", 1, None):
        with pytest.raises(PairrankError, match="average must be one of False, True"):
            RankSVM(solver=SGD(average=average)).fit(X, y)
