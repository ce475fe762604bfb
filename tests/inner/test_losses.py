"""Losses and kernels inside: formulas, derivatives, families and features say the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse, special
from sklearn.svm import SVC

from kernel_definitions import KERNELS, rows_of
from loss_table import NAMED
from pairrank._protocols import Exponential as ExponentialFamily
from pairrank._protocols import Generic, PiecewisePolynomial
from pairrank.compiled import sigmoid
from pairrank.kernels import Kernel
from pairrank.kernels import kernel as kernel_module
from pairrank.kernels.columns import kernel_values
from pairrank.losses import Logistic, Probit, as_loss

pytestmark = pytest.mark.numeric


MARGINS = np.concatenate([np.linspace(-12.0, 12.0, 97), [1e-3, -1.0, 0.5, 1.0, 30.0, -30.0]])


@pytest.mark.parametrize("name", NAMED)
def test_the_family_is_the_formula(name):
    loss = as_loss(name)
    if isinstance(loss.family, Generic):
        pytest.skip("no family but the formula")
    if isinstance(loss.family, PiecewisePolynomial):
        found = sum(c * np.maximum(0.0, m - MARGINS) ** p for m, p, c in loss.family.terms)
    elif isinstance(loss.family, ExponentialFamily):
        found = np.exp(-MARGINS)
    else:
        found = as_loss(loss.family.value).phi(MARGINS)
    np.testing.assert_allclose(found, loss.phi(MARGINS), rtol=1e-12, atol=1e-12)


KINDS = {sigmoid.LOGISTIC: Logistic(), sigmoid.PROBIT: Probit()}
FAR = np.concatenate([sign * 10.0 ** np.arange(-300.0, 301.0, 25.0) for sign in (1.0, -1.0)])
EVERYWHERE = np.concatenate([FAR, np.linspace(-60.0, 60.0, 481), np.array([0.0, -0.0])])


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_functions_equal_the_records(kind):
    loss = KINDS[kind]
    slope, cost, curvature = np.empty((3, EVERYWHERE.size))
    sigmoid.shares_and_costs(kind, EVERYWHERE, slope, cost)
    curvature[:] = [sigmoid.curvature_at(kind, d) for d in EVERYWHERE]
    assert (
        np.abs(cost - loss.phi(EVERYWHERE)) <= 2e-15 * (1.0 + np.abs(loss.phi(EVERYWHERE)))
    ).all()
    np.testing.assert_allclose(slope, -loss.phi(EVERYWHERE, order=1), rtol=0.0, atol=2e-15)
    np.testing.assert_allclose(curvature, loss.phi(EVERYWHERE, order=2), rtol=1e-12, atol=2e-15)


def test_vectorised_functions_are_exact():
    t = np.concatenate([np.linspace(0.0, 708.0, 3001), 10.0 ** np.arange(-300.0, 2.0)])
    found = np.array([sigmoid.decay(value) for value in t])
    np.testing.assert_allclose(found, np.exp(-t), rtol=5e-16)
    assert 0.0 < sigmoid.decay(np.inf) == sigmoid.decay(1e300) < 1e-300
    e = np.concatenate([np.linspace(0.0, 1.0, 1001), 10.0 ** np.arange(-300.0, 0.0)])
    found = np.array([sigmoid.log_one_plus(value) for value in e])
    np.testing.assert_allclose(found, np.log1p(e), rtol=5e-16)
    x = np.linspace(0.0, 37.5, 4001)
    density = np.array([sigmoid.normal_density(value) for value in x])
    wanted = np.exp(-0.5 * x**2) / math.sqrt(2.0 * math.pi)
    np.testing.assert_allclose(density, wanted, rtol=1e-12)
    mills = np.array([sigmoid.mills_ratio(value) for value in x])
    np.testing.assert_allclose(density * mills, special.ndtr(-x), rtol=0.0, atol=1e-15)


def test_gamma_follows_scikit_learn():
    X = 3.0 * rows_of(50) + 1.0
    X[np.abs(X) < 1.0] = 0.0
    assert Kernel("rbf").fit(X).gamma_ == 0.25
    scale = SVC(gamma="scale").fit(X, np.arange(50) % 2)._gamma
    for form in (X, sparse.csr_array(X), X.astype(np.float32)):
        assert Kernel("rbf", gamma="scale").fit(form).gamma_ == pytest.approx(scale, rel=1e-6)
    assert Kernel("rbf", gamma="scale").fit(np.ones((5, 3))).gamma_ == 1.0


@pytest.mark.parametrize("name", KERNELS)
def test_blocks_change_nothing(name, monkeypatch):
    X = rows_of(101)
    features = Kernel(**KERNELS[name][0], method="nystroem", n_components=20).fit(X)
    whole = features.transform(X)
    monkeypatch.setattr(kernel_module, "_BLOCK_ENTRIES", 140)
    np.testing.assert_allclose(features.transform(X), whole, rtol=1e-9, atol=1e-9)


def test_a_dense_row_far_from_all_others_has_an_rbf_kernel_of_zero_with_them():
    X = rows_of(6)
    X[4, 1] = 1e200
    values = kernel_values(Kernel("rbf", gamma=0.25).fit(X), X)
    np.testing.assert_array_equal(values[4], np.arange(6) == 4)
