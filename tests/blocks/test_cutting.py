"""Blocks cut where queries begin: sorted queries never cross, and later passes cut alike."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from block_sources import cut
from pairrank import RankSVM
from pairrank.blocks import problem
from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.cutting import cut_again, cut_at_queries
from pairrank.blocks.local_passes import INTERPRETER_BYTES


def blocks_of(X, qid, borders):
    ends = [0, *sorted(borders), len(qid)]
    parts = [slice(*ends_of) for ends_of in pairwise(ends) if ends_of[0] < ends_of[1]]
    return [RowBlock(X[part], qid[part] * 1.0, qid[part], qid[part] + 1.0) for part in parts]


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12),
    borders=st.lists(st.integers(0, 60), max_size=8),
    kind=st.sampled_from(["C", "F", "sparse"]),
    text=st.booleans(),
    seed=st.one_of(st.none(), st.integers(0, 9)),
)
def test_the_rows_are_the_same_in_blocks_of_whole_queries(sizes, borders, kind, text, seed):
    qid = np.repeat(np.arange(len(sizes)), sizes)
    if seed is not None:
        qid = np.random.default_rng(seed).permutation(qid)
    X = np.arange(1.0, 2 * qid.size + 1).reshape(2, -1).T
    X = sparse.csr_array(X) if kind == "sparse" else np.asarray(X, order=kind)
    blocks = blocks_of(X, qid, [border for border in borders if border < qid.size])
    if text:
        blocks = [block._replace(qid=block.qid.astype(str)) for block in blocks]
    found = list(cut_at_queries(iter(blocks)))
    for place in range(4):
        one, other = (
            np.concatenate([dense(block[place]) for block in each]) for each in (found, blocks)
        )
        np.testing.assert_array_equal(one, other)
    largest = max(len(block.qid) for block in blocks)
    assert max(len(block.qid) for block in found) <= 2 * largest
    if seed is None:
        crossing = {query for one, two in pairwise(found) for query in set(one.qid) & set(two.qid)}
        for query in crossing:
            first = next(at for at, block in enumerate(blocks) if query in block.qid)
            assert sizes[int(query)] >= max(len(block.qid) for block in blocks[: first + 1])

    rows = [block.X.shape[0] for block in found]
    for start in range(len(found)):
        first, before = sum(rows[:start]), 0
        left = list(blocks)
        while before + left[0].X.shape[0] <= first:
            before += left.pop(0).X.shape[0]
        again = list(cut_again((block.X for block in left), rows[start:], first - before))
        assert len(again) == len(found) - start
        for one, other in zip(again, found[start:], strict=True):
            np.testing.assert_array_equal(dense(one), dense(other.X))


@pytest.mark.parametrize("n_cached", [0, 1, 2, 9])
def test_an_evaluation_over_sorted_queries_is_one_pass(n_cached, monkeypatch):
    """Blocks of 800 kB to 1.6 MB; those that do not stay in memory are cut again in each pass."""
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(60, 10_000)), np.repeat(np.arange(12), 5)
    y = rng.integers(0, 3, 60) * 1.0
    limit = INTERPRETER_BYTES + (4 + n_cached) * 1.6e6
    seen = []
    blocks = cut([13, 14, 31, 44], X, y, qid, memory_limit=limit)._reporting(seen.append)
    monkeypatch.setattr(problem, "evaluate_crossing", None)
    ranker = RankSVM(tol=1e-8).fit(blocks)
    wanted = RankSVM(tol=1e-8).fit(X, y, qid=qid)
    np.testing.assert_allclose(ranker.coef_, wanted.coef_, atol=1e-8)
    assert ranker.n_queries_ == 12
    assert {each.n_rows for each in seen if each.n_blocks == each.all_blocks} == {60}
