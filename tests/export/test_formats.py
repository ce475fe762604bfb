"""Every format ranks held-out rows as the model does: independent readers compute its scores."""

from __future__ import annotations

import io

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from export_readers import READERS, UNITS, linear_model, rounding_bound
from pairrank import GreedyRankRLS, RankRLS, RankSVM
from pairrank.datasets import make_queries
from pairrank.export import export
from pairrank.export.formats import FORMATS

DATA = make_queries(8, 25, 6, random_state=0)
X, HELD = DATA.X[:100] * [1, 10, 0.1, 1, 3, 1] + [0, 5, -1, 2, 0, 7], DATA.X[100:] * 1.5 + 1
Y, QID = DATA.y[:100], DATA.qid[:100]

MODELS = {
    "RankSVM": RankSVM(),
    "GreedyRankRLS": GreedyRankRLS(3),
    "scaled twice": make_pipeline(MinMaxScaler((-1, 3)), StandardScaler(), RankRLS()),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    """A fitted model, and the scores of held-out rows by its own arithmetic."""
    given = {} if request.param in ("search", "scaled", "scaled twice") else {"qid": QID}
    fitted = MODELS[request.param].fit(X, Y, **given)
    if not hasattr(fitted, "predict"):
        return fitted, fitted.transform(HELD) @ fitted.coef_
    return fitted, fitted.predict(HELD)


def content_of(model, format, **options):
    file = io.BytesIO()
    result = export(model, file, format, **options)
    return file.getvalue(), result


def test_every_format_has_a_reader():
    assert FORMATS.keys() == READERS.keys() == UNITS.keys()


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "onnx"])
def test_the_check_computes_what_a_reader_computes(model, format):
    fitted, _ = model
    content, _ = content_of(fitted, format)
    found = READERS[format](content, [f"f{number}" for number in range(1, 7)], HELD)
    linear = linear_model(fitted)
    computed = FORMATS[format].arithmetic.scores(HELD, linear.weights, linear.offset)
    exact = format in ("elasticsearch", "opensearch", "solr", "ranklib")
    bound = 0 if exact else rounding_bound(format, linear.weights, HELD)
    np.testing.assert_allclose(found, computed, rtol=0, atol=bound)


def test_sparse_rows_are_checked_as_dense_ones():
    ranker = RankSVM().fit(X, Y, qid=QID)
    thin = np.where(np.abs(HELD) > 1, HELD, 0)
    for arithmetic in {format.arithmetic for format in FORMATS.values()}:
        dense = arithmetic.scores(thin, ranker.coef_, 0.5)
        np.testing.assert_array_equal(
            arithmetic.scores(sparse.csr_array(thin), ranker.coef_, 0.5), dense
        )
    assert content_of(ranker, "solr", check=(sparse.csr_array(thin), None))[1].n_rows == len(thin)
