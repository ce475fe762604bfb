"""The sample of the first pass: uniform over blocks, reproducible, and it stands for all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from memory_passes import cut_rows
from pairrank.blocks import catalog
from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.catalog import describe
from pairrank.blocks.layouts import prepare
from pairrank.blocks.sample import Request, draw_rows, hashed
from pairrank.losses import SquaredHinge
from pairrank.pair_sums import bind
from pairrank.preferences import Levels


def sampled(monkeypatch, n_rows, y, borders, *, seed=0, hidden=(), **aligned):
    """Return the catalog of rows whose only feature is their number.

    `hidden` names what the passes do not know before the first one.
    """
    monkeypatch.setattr(catalog, "SAMPLE_ROWS", n_rows)
    X = np.arange(y.size, dtype=np.float64)[:, None]
    passes = cut_rows(X, y, borders, **aligned)
    for name in hidden:
        setattr(passes, name, 0)
    return passes, describe(passes, seed=seed)


@pytest.mark.parametrize("reduction", ["rows", "query", "sum"])
@pytest.mark.parametrize("kind", ["one", "small", "large", "weights"])
def test_the_sampled_sum_estimates_the_sum_of_every_pair(monkeypatch, kind, reduction):
    """The mean over 40 seeds is within five deviations of that mean, and the weights are equal."""
    generator = np.random.default_rng(2)
    n_rows = 6000
    y = (generator.random(n_rows) < 0.2).astype(np.float64)
    scores = generator.normal(size=n_rows) + y
    aligned = {}
    if kind in ("small", "large"):
        aligned["qid"] = np.arange(n_rows) // {"small": 8, "large": 1500}[kind]
    if kind == "weights":
        aligned["sample_weight"] = generator.integers(0, 3, n_rows).astype(np.float64)
    every = Levels.build(y, aligned.get("qid"), sample_weight=aligned.get("sample_weight"))
    wanted = bind(SquaredHinge(), every.reduced(reduction)).at(scores).value
    values = []
    for seed in range(40):
        passes, found = sampled(monkeypatch, 600, y, [2000, 4500], seed=seed, **aligned)
        prepared = prepare(passes, found, SquaredHinge(), reduction=reduction)
        levels = prepared.sampled
        total = prepared.scale * levels.total_weight
        assert total == pytest.approx(every.reduced(reduction).total_weight, rel=1e-10)
        rows = found.sample.rows.X[:, 0].astype(int)
        values.append(prepared.scale * bind(SquaredHinge(), levels).at(scores[rows]).value)
    deviation = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - wanted) <= 5 * deviation + 0.01 * wanted


@pytest.mark.parametrize("kind", ["numbers", "text", "objects"])
def test_hashes_are_uniform_and_the_same_in_every_process(kind):
    numbers = np.arange(-500, 4500)
    identifiers = numbers if kind == "numbers" else np.array([f"q{n}" for n in numbers])
    identifiers = identifiers.astype(object) if kind == "objects" else identifiers
    found = hashed(identifiers, 7)
    assert ((found >= 0) & (found < 1)).all()
    assert np.unique(found).size == 5000
    # a part of 5,000 uniform numbers has a deviation of at most sqrt(5000)/2
    for edge in (0.1, 0.5, 0.9):
        assert abs(np.count_nonzero(found < edge) - 5000 * edge) <= 5 * np.sqrt(5000) / 2
    assert_array_equal(hashed(identifiers[::-1], 7)[::-1], found)
    assert np.abs(hashed(identifiers, 8) - found).min() > 0


def drawn_by_definition(index, block, kept, query_of, queries, request):
    """Return the numbers, rates and places of the rows drawn, from a number and a rate per row."""
    n_blocks, of_rows, n_rows, seed, _ = request
    wanted = 2.0 * n_rows / (n_blocks or index + 1)
    rate = min(1.0, wanted / max(1, kept.sum()))
    if of_rows and kept.all():
        rate = min(1.0, n_rows / of_rows)
    of_query = hashed(queries, seed)
    sizes = np.array([np.count_nonzero(kept & (query_of == k)) for k in range(queries.size)])
    thinned = kept & (sizes[query_of] > max(1, n_rows // 100))
    rates = np.full(kept.size, rate)
    total, labels = rate * thinned.sum(), np.unique(block.y[thinned])
    if rate < 1.0 and labels.size <= total / 8:
        for label in labels:
            rows = thinned & (block.y == label)
            least = min(rows.sum(), total / (4 * labels.size))
            rates[rows] = max(rate * rows.sum(), least) / rows.sum()
    number = np.where(thinned, 1.0, of_query[query_of])
    if thinned.any():
        generator = np.random.default_rng([seed, index])
        number[thinned] = generator.random(thinned.sum())
    places = np.flatnonzero(kept & (number < rates))
    return number[places], rates[places], thinned[places], places


@given(
    seed=st.integers(0, 99),
    n_rows=st.integers(20, 600),
    n_queries=st.sampled_from([1, 2, 40]),
    n_labels=st.sampled_from([1, 2, 5, 400]),
    n_blocks=st.integers(0, 3),
    of_rows=st.sampled_from([0, 1500, 6000]),
    share=st.sampled_from([1.0, 0.7, 0.0]),
)
def test_rows_are_drawn_as_defined(seed, n_rows, n_queries, n_labels, n_blocks, of_rows, share):
    rng = np.random.default_rng(seed)
    size = 1500
    kept = rng.random(size) < share
    query_of = np.minimum(rng.geometric(0.3, size) - 1, n_queries - 1).astype(np.int32)
    queries = rng.permutation(n_queries) + 100
    y = np.floor(n_labels * rng.random(size) ** 3)
    block = RowBlock(np.arange(size, dtype=np.float64)[:, None], y)
    request = Request(n_blocks, of_rows, n_rows, seed, "full")
    found = draw_rows(2, block, kept, query_of, queries, request)
    number, rates, thinned, places = drawn_by_definition(2, block, kept, query_of, queries, request)
    assert_array_equal(found.rows.X[:, 0], places)
    assert_array_equal(found.number, number)
    assert_array_equal(found.rate, rates)
    assert_array_equal(found.thinned, thinned)


@pytest.mark.parametrize("n_rows", [1, 300, 4096])
@pytest.mark.parametrize("n_features", [1, 7, 500])
def test_far_features_are_found_in_any_row(n_rows, n_features):
    """A feature is far where its values are large against their spread."""
    X = np.random.default_rng(0).normal(size=(n_rows, n_features))
    y = np.zeros(n_rows)
    assert describe(cut_rows(X, y, [])).origin is None
    if n_rows > 1:
        X[:, -1] += 1e9
        assert_array_equal(describe(cut_rows(X, y, [])).origin, X[0])
        X[-1, -1] = -1e9
        assert describe(cut_rows(X, y, [])).origin is None
