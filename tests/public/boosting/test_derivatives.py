"""Gradient and Hessian for boosted trees: their definition, their scale, their bounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions import sums_over
from loss_table import LOSSES, ROUNDING, pairs_of, weights_of
from pairrank import OrderGraph
from pairrank.boosting import AllPairsObjective
from pairrank.exceptions import PairrankError
from pairrank.losses import Hinge, HuberisedHinge, Square, SquaredHinge, Tube
from strategies import problems, scores_of

SINGLE = 2.0**-23
"""Results are float32."""
EPS = 1e-9
NAMES = [name for name in LOSSES if name != "squared_hinge of margin 0"]
WITHOUT_CURVATURE = ("hinge", "hinge of margin 0.3", "huberised_hinge")
FLOOR = 0.01


class Expected(NamedTuple):
    """Gradient and Hessian, and what their errors are measured against, one number per row."""

    gradient: np.ndarray
    hessian: np.ndarray
    gradient_size: np.ndarray
    pair_weight: np.ndarray


def expected(problem, scores, definition, reduction, newton):
    """Return the definition, pair by pair; None where there is no pair.

    `newton` is False for losses without curvature at margin 0.
    """
    y, (weight, _), pairs = problem.y, weights_of(problem), pairs_of(problem)
    qid = np.zeros(len(y), dtype=int) if problem.qid is None else problem.qid
    if not pairs:
        return None
    of_rows = {q: sum(weight[qid == q]) for q in set(qid.tolist())}
    of_pairs = dict.fromkeys(of_rows, 0.0)
    for i, j in pairs:
        of_pairs[qid[i].item()] += weight[i] * weight[j]
    shares = {"auto": of_rows, "query": dict.fromkeys(of_rows, 1.0), "rows": of_pairs}[reduction]

    def scale(i: int) -> float:
        query = qid[i].item()
        return float(shares[query] / of_pairs[query])

    cost, slope, curvature = definition
    sums = sums_over(pairs, scores, definition, np.zeros(len(y)), weight, scale)
    each = curvature(0.0) if newton else slope(0.0) ** 2 / (2.0 * cost(0.0))
    at_zero = each * sums.row_weight
    hessian = np.maximum(sums.diagonal, FLOOR * at_zero) if newton else at_zero
    mean_one = sum(of_rows[q] for q in of_rows if of_pairs[q] > 0) / at_zero.sum()
    return Expected(
        mean_one * sums.gradient,
        mean_one * hessian,
        mean_one * sums.gradient_size,
        mean_one * sums.row_weight,
    )


def assert_expected(name, found, wanted, eps=EPS):
    summed = LOSSES[name]
    gradient, hessian = found
    floor = (summed.floor + summed.far) * 40 * ROUNDING
    allowed = 40 * ROUNDING * wanted.gradient_size + (2 * eps + floor) * wanted.pair_weight
    error = np.abs(gradient - wanted.gradient)
    assert (error <= allowed + SINGLE * np.abs(wanted.gradient)).all()
    allowed = (2e-6 if eps else floor) * wanted.pair_weight
    assert (np.abs(hessian - wanted.hessian) <= allowed + SINGLE * wanted.hessian).all()


@pytest.mark.filterwarnings("ignore::pairrank.exceptions.PairrankWarning")
@given(
    st.sampled_from(NAMES),
    problems(),
    st.sampled_from(("normal", "ties", "constant", "grid")),
    st.sampled_from(("auto", "rows", "query")),
)
def test_every_loss_has_the_derivatives_of_its_definition(name, problem, kind, reduction):
    scores = scores_of(kind, problem.y.size, np.random.default_rng(0))
    newton = name not in WITHOUT_CURVATURE
    wanted = expected(problem, scores, LOSSES[name].definition, reduction, newton)
    options = {"graph": problem.graph, "reduction": reduction, "eps": EPS}
    objective = AllPairsObjective(LOSSES[name].loss, **options, **problem.aligned)
    if wanted is None:
        with pytest.raises(PairrankError):
            objective(problem.y, scores)
    else:
        assert_expected(name, objective(problem.y, scores), wanted)


def test_rows_in_the_right_order_keep_a_curvature_and_wrong_ones_a_bounded_step():
    y = np.array([0.0, 1.0])
    for scores in ([0.0, 50.0], [50.0, 0.0]):
        gradient, hessian = AllPairsObjective()(y, np.array(scores))
        assert hessian.tolist() == pytest.approx([0.01, 0.01])
        assert np.abs(gradient / hessian).max() <= 400.0 * (1 + SINGLE)


def test_a_huberised_hinge_that_curves_at_0_uses_its_second_derivative():
    y, scores = [0.0, 1.0], np.array([0.0, 0.9])
    _, at_zero = AllPairsObjective(HuberisedHinge(2.0))(y, np.zeros(2))
    _, beyond = AllPairsObjective(HuberisedHinge(2.0))(y, 2.0 * scores)
    assert at_zero.tolist() == [1.0, 1.0]
    assert beyond.tolist() == pytest.approx([0.01, 0.01])


@pytest.mark.parametrize("loss", [Square(), Tube(0.2), Tube(0.2, 2)], ids=repr)
def test_losses_of_differences_have_the_derivatives_of_their_definition(loss):
    rng = np.random.default_rng(3)
    y, s, qid = rng.normal(size=30), rng.normal(size=30), np.arange(30) % 3
    weight = rng.exponential(size=30)
    gradient, hessian = AllPairsObjective(loss, qid=qid)(y, s, weight)
    slopes, costs, joined = np.zeros(30), 0.0, np.zeros(30)
    total = 0.0
    for i in range(30):
        for j in np.flatnonzero(qid == qid[i]):
            w = weight[i] * weight[j] / (2.0 * weight[qid == qid[i]].sum())
            costs += w * float(loss.phi(0.0, y[i] - y[j]))
            slope = w * float(loss.phi(s[i] - s[j], y[i] - y[j], order=1))
            slopes[[i, j]] += slope, -slope
            total += w
            joined[i] += 2.0 * w
    each = 2.0 if loss.smooth else total / (2.0 * costs)
    scale = weight.sum() / (each * joined.sum())
    np.testing.assert_allclose(gradient, scale * slopes, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(hessian, scale * each * joined, rtol=1e-5)


def test_weights_by_role_count_in_the_pairs_that_a_row_wins_or_loses():
    y, scores = [0, 1, 2], np.array([0.0, 0.5, 0.2])
    censored = AllPairsObjective(winner_weight=[1, 0, 1], loser_weight=[1, 1, 1])
    only = AllPairsObjective(graph=OrderGraph([(0, 2), (1, 2)]))
    for found, wanted in zip(censored(y, scores), only(y, scores), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize(
    ("loss", "scores", "message"),
    [
        *(
            (loss, [0.0, 0.0], "starts from equal scores")
            for loss in (Hinge(0.0), SquaredHinge(0.0), SquaredHinge(-1.0))
        ),
        (Tube(5.0), [0.0, 0.0], "lower epsilon"),
        ("exponential", [200.0, 0.0], "'logistic'"),
    ],
    ids=repr,
)
def test_a_loss_without_a_cost_or_a_finite_one_is_refused(loss, scores, message):
    with pytest.raises(PairrankError, match=message):
        AllPairsObjective(loss)([0, 1], np.array(scores))
