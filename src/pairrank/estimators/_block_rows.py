"""Validation rows in blocks: their labels in memory, their scores by a pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pairrank._protocols import FloatArray
from pairrank._validation import ALIGNED
from pairrank.blocks._contracts import Passes, RowBlock
from pairrank.design import Design
from pairrank.estimators._rows import Rows
from pairrank.exceptions import PairrankError


def held_rows(passes: Passes) -> Rows:
    """Return the labels, queries and weights of all blocks, without X."""
    blocks = passes.describe(without_features, None)
    y, *rest = (
        None if parts[0] is None else np.concatenate(parts)
        for parts in zip(*(block[1:] for block in blocks), strict=True)
    )
    if y is None:
        raise PairrankError(
            "X_val has no labels: name their column, or yield (X, y) or (X, y, qid)"
        )
    return Rows(None, y, **dict(zip(ALIGNED, rest, strict=True)), places=np.arange(y.size))


def scores_by_passes(passes: Passes) -> Callable[[FloatArray], FloatArray]:
    """Return the function from weights to the scores of all rows, in the order of the blocks."""

    def scores(w: FloatArray) -> FloatArray:
        found = passes.reduce(score_block, w, merge_scores)
        return np.concatenate([found[index] for index in sorted(found)])

    return scores


def without_features(index: int, block: RowBlock, shared: None) -> RowBlock:
    """Return a block without X."""
    return block._replace(X=None)


def score_block(index: int, X: Any, state: Any, w: FloatArray) -> dict[int, FloatArray]:
    """Return the scores of a block by its number."""
    return {index: Design(X).scores(w)}


def merge_scores(
    first: dict[int, FloatArray], second: dict[int, FloatArray]
) -> dict[int, FloatArray]:
    """Return the scores of two sets of blocks."""
    first.update(second)
    return first
