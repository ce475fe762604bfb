"""Rough sums of samples: against exact sums, within their stated errors."""

from itertools import pairwise

import numpy as np
import pytest

from pairrank.losses import Logistic, SquaredHinge
from pairrank.pair_sums import bind, bind_roughly
from pairrank.pair_sums.rough_cells import RoughCellSum
from pairrank.preferences import Levels, OrderGraph, merge_levels

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("spread", [0.0, 0.01, 3.0, 1e4])
@pytest.mark.parametrize("n_levels", [2, 5, 2000])
def test_a_rough_gradient_is_within_its_stated_error(n_levels, spread):
    rng = np.random.default_rng(n_levels)
    y = rng.integers(0, n_levels, 3000).astype(float)
    levels = Levels.build(y)
    scores = spread * (rng.normal(size=3000) + y / n_levels)
    found = bind_roughly(SquaredHinge(), levels, levels).at(scores)
    summed = levels if n_levels < 256 else merge_levels(levels, 128)
    exact = bind(SquaredHinge(), summed, pair_sum="sorted").at(scores)
    off = np.abs(found.gradient - exact.gradient).sum()
    # Each row adds and reads at most 2e4 terms of the size of its gradient's parts.
    rounding = 2e4 * np.finfo(float).eps * levels.n_pairs * (1.0 + np.ptp(scores))
    assert off <= found.gradient_error + rounding
    assert abs(found.value - exact.value) <= found.error + rounding * (1.0 + np.ptp(scores))


def test_bands_change_the_direction_of_a_gradient_little():
    rng = np.random.default_rng(0)
    y = rng.normal(size=4096)
    levels, scores = Levels.build(y), rng.normal(size=4096) + y
    found = bind_roughly(SquaredHinge(), levels, levels).at(scores).gradient
    exact = bind(SquaredHinge(), levels, pair_sum="sorted").at(scores).gradient
    # One pair in 128 is left out: a gradient that moves by 1/7 of its length has this cosine.
    cosine = found @ exact / (np.linalg.norm(found) * np.linalg.norm(exact))
    assert cosine >= 0.99


def test_small_queries_and_other_losses_are_summed_as_usual():
    y = np.random.default_rng(0).integers(0, 3, 3000)
    queries = Levels.build(y, np.repeat(np.arange(6), 500))
    assert not isinstance(bind_roughly(SquaredHinge(), queries, queries), RoughCellSum)
    chain = Levels.build(np.arange(3000) % 500, graph=OrderGraph(pairwise(range(500))))
    assert not isinstance(bind_roughly(SquaredHinge(), chain, chain), RoughCellSum)
    levels = Levels.build(y)
    assert isinstance(bind_roughly(SquaredHinge(), levels, levels), RoughCellSum)
    assert "boxes" not in bind_roughly(Logistic(), levels, levels).queries


def test_a_sample_of_one_large_query_is_summed_by_boxes_as_all_rows_are():
    y = np.random.default_rng(0).integers(0, 3, 9000)
    whole, sample = Levels.build(y), Levels.build(y[:3000])
    assert list(bind(Logistic(), whole).queries) == ["boxes"]
    assert list(bind_roughly(Logistic(), sample, whole).queries) == ["boxes"]
    assert list(bind_roughly(Logistic(), sample, sample).queries) == ["spans"]
