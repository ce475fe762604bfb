"""Exact sums within parts of bands against a double loop: ties, weights, long parts, scales."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.compiled.cell_parts import gradient_of_parts, partners_of_parts

pytestmark = pytest.mark.numeric

GROUPS = {
    "distinct": [1] * 150,
    "tied": [1, 3, 2, 1, 5, 1, 1, 4] * 12,
    "a long part": [1, 1, 250, 1, 2] + [1] * 40 + [3, 210],
}


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("sides", [0, 1, 2])
@pytest.mark.parametrize("kind", GROUPS)
def test_parts_are_summed_pair_by_pair(kind, sides, power):
    rng = np.random.default_rng(sides)
    sizes = np.array(GROUPS[kind])
    group_start = np.concatenate(([0], np.cumsum(sizes)))
    n, n_parts = int(group_start[-1]), sizes.size // 4
    borders = np.sort(rng.choice(np.arange(1, sizes.size), n_parts, replace=False))
    borders = np.concatenate(([0], borders, [sizes.size]))
    parts = np.column_stack((borders[:-1], borders[1:]))
    scale = np.repeat([0.5, 2.0], [3, len(parts) - 3])
    group = np.repeat(np.arange(sizes.size), sizes)
    part = np.searchsorted(borders, group, side="right") - 1
    scores, values = 1e3 + rng.normal(size=n), rng.normal(size=(max(sides, 1), n))
    weight = rng.uniform(0.5, 2.0, (sides, n)) if sides else np.empty((1, 0))
    winner, loser = (weight[0], weight[-1]) if sides else np.ones((2, n))
    terms = (np.array([1.0, 0.3]), np.array([power, power]), np.array([1.0, 0.5]))
    value, gradient, product = 0.0, np.zeros(n), np.zeros(values.shape)
    for i, j in zip(*np.nonzero(group[:, None] > group[None, :]), strict=True):
        if part[i] != part[j]:
            continue
        for margin, _, c in zip(*terms, strict=True):
            excess, c = max(margin - (scores[i] - scores[j]), 0.0), c * scale[part[i]]
            slope = (2.0 * excess if power == 2 else 1.0 * (excess > 0.0)) * c
            value += winner[i] * loser[j] * c * excess**power
            gradient[[i, j]] += np.array([-1.0, 1.0]) * winner[i] * loser[j] * slope
            product[0, i] += 2.0 * c * (excess > 0.0) * values[-1, j]
            product[-1, j] += 2.0 * c * (excess > 0.0) * values[0, i]
    out, sums = np.zeros(n), np.zeros(values.shape)
    found = gradient_of_parts(scores, weight, parts, group_start, scale, *terms, out)
    partners_of_parts(scores, values, parts, group_start, scale, *terms[::2], sums)
    np.testing.assert_allclose(found, value, rtol=1e-10)
    np.testing.assert_allclose(out, gradient, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(sums, product, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", GROUPS)
def test_an_offset_of_all_scores_costs_no_digits(kind):
    """Scores are exact at the offset, but a score less the margin would lose its last bits."""
    rng = np.random.default_rng(0)
    sizes = np.array(GROUPS[kind])
    group_start = np.concatenate(([0], np.cumsum(sizes)))
    n = int(group_start[-1])
    parts = np.array([[0, sizes.size // 2], [sizes.size // 2, sizes.size]])
    scores = np.round(512.0 * rng.normal(size=n)) / 512.0
    terms = np.array([1.0 + 2.0**-12]), np.array([2]), np.array([1.0])
    near, far = np.zeros((2, n))
    values = [
        gradient_of_parts(each, np.empty((1, 0)), parts, group_start, np.ones(2), *terms, out)
        for each, out in ((scores, near), (scores + 2.0**43, far))
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    np.testing.assert_allclose(far, near, rtol=1e-12, atol=1e-12 * np.abs(near).max())
