"""PairwiseRanker: any loss by name or as an object, solved to the optimum of every pair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from pairrank import Pairs, PairwiseRanker, RankNCG, RankSVM, load_model
from pairrank.exceptions import PairrankError


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(120, 4))
    y = np.digitize(X @ [1.0, -1.0, 0.5, 0.0] + generator.normal(size=120), [-1.0, 0.5])
    return X, y, np.arange(120) % 4


def optimum(X, y, qid, loss, C):
    """Return the weights that minimise the sum over all pairs, by the definition."""
    i, j = np.nonzero((y[:, None] > y) & (qid[:, None] == qid))
    D, scale = X[i] - X[j], C * y.size / i.size

    def value(w):
        d = D @ w
        slope = scale * (loss.phi(d, order=1) @ D)
        return 0.5 * w @ w + scale * loss.phi(d).sum(), w + slope

    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000}
    return optimize.minimize(value, np.zeros(4), jac=True, method="L-BFGS-B", options=options).x


def test_known_losses_give_the_rankers_of_their_own(rows):
    X, y, qid = rows
    for name, other in (
        ("squared_hinge", RankSVM(tol=1e-8)),
        ("hinge", RankSVM(loss="hinge", tol=1e-6)),
        ("logistic", RankNCG(tol=1e-8)),
        ("raykar", RankNCG(loss="raykar", tol=1e-8)),
    ):
        ranker = PairwiseRanker(name, C=getattr(other, "C", 1.0), tol=other.tol).fit(X, y, qid=qid)
        np.testing.assert_allclose(ranker.coef_, other.fit(X, y, qid=qid).coef_, atol=1e-3)


class Quartic:
    """max(0, 1 - d)^4: a loss that the library does not know."""

    def phi(self, d, magnitude=0.0, order=0):
        factor, power = ((1.0, 4), (-4.0, 3), (12.0, 2))[order]
        return factor * np.maximum(0.0, 1.0 - d) ** power


@pytest.mark.parametrize("kind", ["labels", "pairs"])
def test_an_object_with_phi_is_enough(rows, kind):
    X, y, qid = rows
    ranker = PairwiseRanker(Quartic(), C=1.0, tol=1e-9, reduction="rows")
    if kind == "labels":
        ranker.fit(X, y, qid=qid)
    else:
        i, j = np.nonzero((y[:, None] > y) & (qid[:, None] == qid))
        ranker.fit(X, Pairs(i, j, n_rows=120))
    np.testing.assert_allclose(ranker.coef_, optimum(X, y, qid, Quartic(), 1.0), atol=1e-6)


def test_a_loss_with_a_kink_is_solved_by_planes(rows):
    class Absolute:
        smooth = False

        def phi(self, d, magnitude=0.0, order=0):
            return np.maximum(0.0, 1.0 - d) if order == 0 else np.where(d < 1.0, -1.0, 0.0)

    X, y, qid = rows
    found = PairwiseRanker(Absolute(), tol=1e-6).fit(X, y, qid=qid)
    assert found.status_ == "gap_closed"
    wanted = RankSVM(loss="hinge", tol=1e-6).fit(X, y, qid=qid)
    assert found.objective_ == pytest.approx(wanted.objective_, rel=1e-5)
    with pytest.raises(PairrankError, match=r'needs a smooth loss.*use solver="bundle"'):
        PairwiseRanker(Absolute(), solver="tron").fit(X, y, qid=qid)


def test_models_of_named_losses_are_saved_and_objects_are_refused(rows, tmp_path):
    X, y, qid = rows
    named = PairwiseRanker("modified_huber").fit(X, y, qid=qid)
    named.save(tmp_path / "model")
    np.testing.assert_array_equal(load_model(tmp_path / "model").predict(X), named.predict(X))
    with pytest.raises(PairrankError, match="loss"):
        PairwiseRanker(Quartic()).fit(X, y, qid=qid).save(tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_loss_without_a_fast_sum_refuses_a_fit_of_hours():
    y = np.arange(240_000) % 2
    message = r"Quartic has no fast sum.*14,400,000,000 pairs.*minutes"
    with pytest.raises(PairrankError, match=message):
        PairwiseRanker(Quartic()).fit(y[:, np.newaxis] * 1.0, y)
