"""Blocks that share a task, and results that are merged in one order whatever the tasks are."""

from __future__ import annotations

import functools

import numpy as np
import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("distributed", reason="needs dask: make test-extras")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from pairrank.dask.grouping import BLOCKS_TOGETHER, groups_of  # noqa: E402
from pairrank.dask.tasks import merge_groups, merged_in_order  # noqa: E402


def pairs_in_order(n_blocks):
    """Return the plain definition: neighbours in pairs, again and again, an odd one alone."""
    parts = [str(index) for index in range(n_blocks)]
    while len(parts) > 1:
        pairs = [f"({a} {b})" for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + (parts[-1:] if len(parts) % 2 else [])
    return parts[0]


def joined(first, second):
    return f"({first} {second})"


def appended(first, second):
    """Write into the first argument, as merges may."""
    first += second
    return first


@given(st.integers(1, 40), st.integers(1, 9), st.randoms(use_true_random=False))
def test_the_order_of_merges_depends_on_the_number_of_blocks_only(n_blocks, n_groups, random):
    groups = [{} for _ in range(n_groups)]
    for index in range(n_blocks):
        random.choice(groups)[0, index] = str(index)
    merged = [merged_in_order(joined, n_blocks, each) for each in groups if each]
    while len(merged) > 1:
        together = [merged.pop(random.randrange(len(merged))) for _ in range(2)]
        merged.append(merge_groups(joined, n_blocks, together))
    assert list(merged[0].values()) == [pairs_in_order(n_blocks)]


@pytest.mark.parametrize("n_blocks", [1, 2, 3, 7, 8])
def test_merging_groups_leaves_their_results_as_they_were(n_blocks):
    groups = [{(0, index): [index]} for index in range(n_blocks)]
    for _ in range(2):
        found = merge_groups(appended, n_blocks, groups)
        assert list(found.values()) == [list(range(n_blocks))]
    assert groups == [{(0, at): [at]} for at in range(n_blocks)]


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=60),
    st.fixed_dictionaries({name: st.integers(1, 5) for name in "abc"}),
)
def test_every_block_is_in_one_group_of_its_worker(homes, n_threads):
    groups = groups_of(homes, n_threads)
    assert sorted(index for group in groups for index in group) == list(range(len(homes)))
    counts = dict.fromkeys(homes, 0)
    for group in groups:
        (home,) = {homes[index] for index in group}
        assert list(group) == sorted(group)
        assert len(group) <= BLOCKS_TOGETHER
        counts[home] += 1
    for home, count in counts.items():
        assert count >= min(homes.count(home), n_threads[home])


def test_sums_have_the_same_bits_in_any_groups():
    values = np.random.default_rng(0).normal(size=(11, 3))
    found = set()
    for n_groups in (1, 2, 3, 11):
        groups = [
            {(0, int(at)): values[at].copy() for at in places}
            for places in np.array_split(np.arange(11), n_groups)
        ]
        add = functools.partial(merged_in_order, appended, 11)
        merged = merge_groups(appended, 11, [add(each) for each in groups])
        found.add(next(iter(merged.values())).tobytes())
    assert len(found) == 1
