"""Fits on blocks: every ranker's `fit` where X is RowBlocks, or any other `Passes`."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from pairrank import threads
from pairrank._protocols import Callback, FloatArray
from pairrank._validation import ALIGNED
from pairrank.blocks import RowBlocks, refuse_given
from pairrank.blocks._contracts import Passes, RowBlock
from pairrank.blocks.catalog import describe
from pairrank.blocks.local_passes import LocalPasses
from pairrank.blocks.row_blocks import check_names
from pairrank.design import Design
from pairrank.estimators._rows import Rows, Watch, are_given, judge_of, keep, row_scores
from pairrank.exceptions import PairrankError
from pairrank.preferences import as_graph, refuse_roles


def fit_on_passes(
    ranker: Any,
    passes: Passes,
    *,
    held: Passes | None = None,
    callback: Callback | None = None,
    scale: FloatArray | float = 1.0,
) -> Any:
    """Fit a ranker on the blocks of `passes`, wherever these are; return the ranker.

    `held` are validation rows. The user's features are `scale` times those in the blocks. An error
    of a pass that is not the first has the last weights as `partial_coef_`, and so has the ranker:
    `warm_start` goes on from them.
    """
    ranker._check_parameters()
    ranker._check_blocks()
    if held is None and ranker._stops_early:
        raise PairrankError(ranker._needs_held("X_val (in memory, or as X is)"))
    graph = as_graph(getattr(ranker, "graph", "full"))
    catalog = describe(passes, seed=ranker._seed(), graph=graph)
    if ranker._role_refusal and catalog.has_roles:
        refuse_roles(catalog, None, ranker._role_refusal)
    last: list[Any] = [None]
    names = getattr(passes, "feature_names", None)
    names = None if names is None else np.array(names, dtype=object)
    keep(ranker, n_features_in_=catalog.n_features, feature_names_in_=names, kernel_=None)
    watches = [] if held is None else [_watch(ranker, held, scale)]
    start = ranker._starts(1, catalog.n_features)[0]
    starts = [None if start is None else start * scale]
    prepared = ranker._prepare_blocks(passes, catalog)
    keep(ranker, n_pairs_=prepared.n_pairs, n_ties_=prepared.n_ties)
    keep(ranker, n_rows_=catalog.n_kept, n_queries_=catalog.n_queries)

    def told(step: Any) -> object:
        """Keep the weights, and pass them on as those of the user's features."""
        last[0] = step.coef
        return callback is not None and callback(step._replace(coef=step.coef / scale))

    try:
        with threads.blas_for(catalog.sample.rows.X):
            solve = ranker._block_solver(passes, prepared)
            solutions = ranker._solve(solve, [None], starts, watches, told)
    except Exception as error:
        if last[0] is not None:
            ranker.partial_coef_ = error.partial_coef_ = last[0] / scale  # type: ignore[attr-defined]
        raise
    status = ranker._keep(solutions, watches, 1)
    ranker._warn(status, row_scores(catalog.sample.rows.X))
    ranker.coef_ = ranker.coef_ / scale
    return ranker


def held_passes(
    X: Any, y: Any, layout: Mapping[str, Any], beside: LocalPasses | None = None
) -> Passes | None:
    """Return passes over the validation rows that `fit` was given in blocks or in memory, if any.

    `beside` are the passes over training rows in the same memory, if there are any.
    """
    if isinstance(X, RowBlocks):
        refuse_given(y_val=y, **{f"{name}_val": part for name, part in layout.items()})
        return X._changed(_scaler=None)._passes(beside)  # fitted weights are of raw features
    if not are_given(X, y, layout):
        return None
    return RowBlocks.from_arrays(X, y, **layout)._passes(beside)


def _watch(ranker: Any, held: Passes, scale: FloatArray | float) -> Watch:
    """Return the callback that scores iterates on the validation rows."""
    rows = held_rows(held)
    n_features = getattr(held, "n_features", ranker.n_features_in_)
    if n_features != ranker.n_features_in_:
        raise PairrankError(
            f"X_val has {n_features} features, but the blocks have {ranker.n_features_in_}"
        )
    check_names(getattr(held, "feature_names", None), ranker)

    def scores(w: FloatArray) -> FloatArray:
        return np.concatenate(held.reduce(score_block, w / scale, operator.iadd))

    return Watch(judge_of(ranker, rows), scores, ranker.patience if ranker._stops_early else None)


def held_rows(passes: Passes) -> Rows:
    """Return the labels, queries and weights of all blocks, without X."""
    blocks = passes.describe(without_features, None)
    by_name = zip(*(block[1:] for block in blocks), strict=True)
    y, *rest = (None if parts[0] is None else np.concatenate(parts) for parts in by_name)
    if y is None:
        raise PairrankError(
            "X_val has no labels: name their column, or yield (X, y) or (X, y, qid)"
        )
    return Rows(None, y, places=np.arange(y.size), **dict(zip(ALIGNED, rest, strict=True)))


def without_features(index: int, block: RowBlock, shared: None) -> RowBlock:
    """Return a block without X."""
    return block._replace(X=None)


def score_block(index: int, X: Any, state: Any, w: FloatArray) -> list[FloatArray]:
    """Return the scores of a block, to be joined by those of the next blocks."""
    return [Design(X).scores(w)]
