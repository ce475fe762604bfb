"""Hinges by sorting: digits, far margins and exact counts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pairrank.losses import Hinge, HuberisedHinge, ModifiedHuber, SquaredHinge
from pairrank.pair_sums import bind
from pairrank.pair_sums import sorted as sorted_sums
from pairrank.pair_sums.papers import sweeps
from pairrank.preferences import Levels, Pairs

pytestmark = pytest.mark.numeric

PLANS = {
    "as_it_is": {},
    "pair_by_pair": {"SMALL_QUERY": 1000, "ROWS_PER_LEVEL": 1000},
    "tree": {"SMALL_QUERY": 0, "LEAF_ROWS": 1},
    "tree_of_leaves": {"SMALL_QUERY": 0, "LEAF_ROWS": 5},
}


def make_plan(patch: pytest.MonkeyPatch, plan: str) -> None:
    for name, value in PLANS[plan].items():
        patch.setattr(sorted_sums, name, value)


@pytest.mark.parametrize("name", ["selection_tree", "level_counting"])
def test_a_paper_s_algorithm_is_the_one_of_its_name(name, monkeypatch):
    used, sums_by_sweeps = [], sweeps.sums_by_sweeps

    def watched(by_tree, *rest):
        used.append(by_tree)
        return sums_by_sweeps(by_tree, *rest)

    monkeypatch.setattr(sweeps, "sums_by_sweeps", watched)
    bind(SquaredHinge(), Levels.build(np.arange(5.0)), pair_sum=name).at(np.zeros(5))
    assert used == [name == "selection_tree"]


@pytest.mark.parametrize("plan", PLANS)
def test_an_outlier_costs_the_others_no_digits(plan, monkeypatch):
    make_plan(monkeypatch, plan)
    generator = np.random.default_rng(0)
    y, scores = generator.integers(0, 7, 300) * 1.0, generator.normal(size=300)
    bound = bind(SquaredHinge(), Levels.build(y))
    far = np.arange(300) == y.argmax()
    wanted, found = bound.at(np.where(far, 1e3, scores)), bound.at(np.where(far, 1e150, scores))
    assert found[0] == pytest.approx(wanted[0], rel=1e-13)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-13)


@pytest.mark.parametrize("upwards", [True, False])
@pytest.mark.parametrize("n_levels", [2, 7])
def test_a_hundred_thousand_additions_lose_no_digits(n_levels, upwards):
    """A plain running sum of 0.1 is off by 1e-12 here, and by 1e-10 at ten million rows."""
    n_rows = 100_000
    y = np.minimum(np.arange(n_rows + 1) // (n_rows // (n_levels - 1)), n_levels - 1) * 1.0
    levels = Levels.build(y if upwards else -y, sample_weight=np.full(n_rows + 1, 0.1))
    others = int((y < n_levels - 1).sum())
    zero = np.zeros(n_rows + 1)
    curvature = bind(SquaredHinge(), levels, pair_sum="sorted").at(zero).curvature()
    assert curvature.diagonal()[-1] == pytest.approx(2 * 0.1 * 0.1 * others, rel=1e-14)
    slope = -0.01 if upwards else 0.01
    gradient = bind(Hinge(), levels, pair_sum="sorted").at(zero)[1]
    assert gradient[-1] == pytest.approx(slope * others, rel=1e-14)


def far_margin(loss, n_rows=40):
    """Return the sum and the rows' gradients in exact fractions, for scores 1e13 margins apart."""
    scores = np.random.default_rng(0).normal(size=n_rows) * 10.0 ** (np.arange(n_rows) % 14)
    y = np.random.default_rng(1).integers(0, 3, n_rows)
    value, gradient = Fraction(0), [Fraction(0)] * n_rows
    for i, j in zip(*np.nonzero(y[:, None] > y[None, :]), strict=True):
        d = Fraction(scores[i]) - Fraction(scores[j])
        for margin, power, c in loss.family.terms:
            over = max(Fraction(margin) - d, 0)
            value += Fraction(c) * over**power
            slope = Fraction(c) * (2 * over if power == 2 else over > 0)
            gradient[i] -= slope
            gradient[j] += slope
    return Levels.build(y * 1.0), scores, float(value), np.array([float(g) for g in gradient])


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize(
    "loss", [Hinge(), SquaredHinge(), ModifiedHuber(), HuberisedHinge(0.5)], ids=str
)
def test_scores_many_margins_apart_cost_no_digits(loss, plan, monkeypatch):
    make_plan(monkeypatch, plan)
    levels, scores, value, gradient = far_margin(loss)
    found = bind(loss, levels).at(scores)
    assert found.value == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-12)


@pytest.mark.parametrize("loss", [ModifiedHuber(), HuberisedHinge(2.0)], ids=str)
def test_sums_agree_on_the_side_of_a_rounded_kink(loss):
    """The margin is below -1, but 1 less the margin rounds to 2."""
    scores, inside = np.array([0.0, np.nextafter(1.0, 2.0)]), loss.phi(np.array(0.0), order=2)
    for pairs in (Levels.build(np.array([1.0, 0.0])), Pairs([0], [1]).bound(2)):
        np.testing.assert_array_equal(bind(loss, pairs).at(scores).curvature().diagonal(), inside)


def test_many_pairs_are_counted_exactly():
    n_rows = 200_000
    levels = Levels.build(np.arange(n_rows) % 2.0)
    gradient = bind(Hinge(), levels).at(np.zeros(n_rows)).gradient
    assert gradient[1::2].sum() == -gradient[::2].sum() == -((n_rows // 2) ** 2)
    assert levels.n_pairs == (n_rows // 2) ** 2
