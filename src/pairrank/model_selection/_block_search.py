"""Searches over strengths on RowBlocks: one fit per value, judged by validation blocks."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import linalg

from pairrank._protocols import FloatArray
from pairrank._validation import ALIGNED
from pairrank.blocks import RowBlocks, refuse_given
from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.differences import prepare_differences
from pairrank.blocks.sampled import origin_of
from pairrank.blocks.square_sums import LARGEST_EQUATIONS, merge_square_sums, square_sums
from pairrank.estimators._blocks import described, fit_on_passes
from pairrank.estimators._rows import columns_of
from pairrank.exceptions import PairrankError
from pairrank.losses import Square
from pairrank.model_selection._outcome import Learn, adopt
from pairrank.model_selection.path import check_positive_values
from pairrank.model_selection.scorers import get_query_scorer, requested
from pairrank.preferences import refuse_roles


def search_blocks(search: Any, given: Mapping[str, Any]) -> Any:
    """Fit a search on RowBlocks; `given` has the arguments of `fit` by name."""
    blocks, held = given["X"], given["X_val"]
    refuse_given(**{name: given[name] for name in ("y", *ALIGNED)})
    if not isinstance(held, RowBlocks):
        raise PairrankError(
            f"{type(search).__name__} judges values on validation rows where X is RowBlocks: pass "
            "them as X_val, RowBlocks too"
        )
    if search.cv is not None:
        raise PairrankError(
            f"cv={search.cv!r} cuts rows in memory into folds, but X is RowBlocks, which X_val "
            "judges: leave cv=None"
        )
    name = f"{search._strength}s"
    grid = check_positive_values(getattr(search, name), name)
    scores, learn = search._search_blocks(blocks, held, grid)
    chosen = search._choose(scores, grid)
    setattr(search, f"{name}_", grid)
    learn(chosen)
    return search


def path_on_blocks(
    search: Any, blocks: RowBlocks, held: RowBlocks, grid: FloatArray
) -> tuple[FloatArray, Learn]:
    """Fit each value in ascending order, from the last solution; the fits share the first pass.

    A warm fit stops at a tenth of `tol`, because its start could already meet `tol`.
    """
    scorer = get_query_scorer(search._scoring_of(None))
    model = search._ranker()
    stated = {"warm_start": model.warm_start, "tol": model.tol}
    model.set_params(warm_start=True, tol=model.tol / 10)
    model._check_parameters()
    model._check_blocks()
    labels, passes = held.labels(), blocks.passes()
    _require_labels(labels)
    catalog = described(model, passes)
    fits, scores = [], []
    for value in grid:
        model.set_params(**{search._strength: float(value)})
        fit_on_passes(
            model, passes, catalog=catalog, raw_coef=blocks.raw_coef, own_coef=blocks.own_coef
        )
        if model.status_ == "interrupted":
            raise KeyboardInterrupt("the search was interrupted before its values were compared")
        scores.append(float(scorer(model, held, labels.y, **_asked(scorer, labels))))
        fits.append(copy.copy(model))

    def learn(values: FloatArray) -> None:
        best = fits[int(np.searchsorted(grid, values[0]))].set_params(**stated)
        adopt(search, best)
        keep_features(search, best)

    return np.array(scores).reshape(1, -1, 1), learn


def keep_features(search: Any, ranker: Any) -> None:
    """Copy what is known of the columns of X."""
    search.__dict__.pop("feature_names_in_", None)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(ranker, name):
            setattr(search, name, getattr(ranker, name))


class BlockSpectrum:
    """The weights of RankRLS at any alpha, from one eigendecomposition of the normal equations.

    One pass over the blocks after the first, O(n_features^3) once, and O(n_features^2) per alpha
    and target.
    """

    def __init__(self, ranker: Any, blocks: RowBlocks) -> None:
        ranker._check_parameters()
        ranker._check_blocks()
        self._blocks, passes = blocks, blocks.passes()
        self._catalog = catalog = described(ranker, passes)
        if catalog.has_roles:
            refuse_roles(catalog, None, ranker._role_refusal)
        d = catalog.n_features
        if d > LARGEST_EQUATIONS:
            raise PairrankError(
                f"RankRLSCV on RowBlocks decomposes a matrix of {d} x {d}, at most "
                f"{LARGEST_EQUATIONS} is sensible: fit RankRLS at each alpha"
            )
        self._names = passes.feature_names
        self._prepared = prepare_differences(passes, catalog, Square())
        origin = origin_of(catalog.sample.rows.X)
        sums = passes.reduce(square_sums, origin, merge_square_sums)
        if not np.isfinite(sums.products).all():
            raise PairrankError("the normal equations overflow: scale the features down")
        values, self._vectors = linalg.eigh(sums.products[:d, :d])
        self._values = np.maximum(values, 0.0)
        self._moments = self._vectors.T @ sums.products[:d, d:]

    def coefs(self, alphas: FloatArray) -> FloatArray:
        """Return the weights of raw features, (n_alphas, n_targets, n_features)."""
        each = [
            self._vectors @ (self._moments / (self._values + alpha)[:, None]) for alpha in alphas
        ]
        return np.array([[self._blocks.raw_coef(coef) for coef in one.T] for one in each])

    def keep(self, search: Any) -> None:
        """Set the attributes that do not depend on alpha."""
        search.n_pairs_ = self._prepared.n_pairs
        search.n_features_in_ = self._catalog.n_features
        for name in ("feature_names_in_", "feature_map_"):
            search.__dict__.pop(name, None)
        if self._names is not None:
            search.feature_names_in_ = np.array(self._names, dtype=object)


def judged_by_blocks(held: RowBlocks, coefs: FloatArray, scorer: Any) -> FloatArray:
    """Return the scores of weights, (n_values, n_targets), from one reading of validation blocks.

    The predictions at all values are in memory together, 8 bytes each.
    """
    n_values, n_targets, n_features = coefs.shape
    predicted, labels = held.scored(_Linear(coefs.reshape(-1, n_features)))
    _require_labels(labels)
    targets, asked = columns_of(labels.y), _asked(scorer, labels)
    if len(targets) not in (1, n_targets):
        raise PairrankError(f"X_val has {len(targets)} targets, but X {n_targets}")
    scores = np.empty((n_values, n_targets))
    for at in range(n_values * n_targets):
        value, target = divmod(at, n_targets)
        own = targets[target if len(targets) > 1 else 0]
        given = _Known(predicted[:, at])
        scores[value, target] = float(scorer(given, held, own, **asked))
    return scores


class _Linear:
    """Weights as blocks are scored by."""

    def __init__(self, coefs: FloatArray) -> None:
        self._coefs, self.n_features_in_ = coefs, coefs.shape[1]

    def _scores(self, X: Any) -> FloatArray:
        """Return the scores of some rows by each of the weights."""
        return np.asarray(X @ self._coefs.T, dtype=np.float64)


class _Known:
    """Predictions as a scorer asks for them."""

    graph = "full"

    def __init__(self, scores: FloatArray) -> None:
        self.scores = scores

    def predict(self, X: Any) -> FloatArray:
        """Return the predictions; the rows are ignored."""
        return self.scores


def _require_labels(labels: RowBlock) -> None:
    if labels.y is None:
        raise PairrankError("X_val has no labels: name the label column of the validation blocks")


def _asked(scorer: Any, labels: RowBlock) -> dict[str, Any]:
    """Return the queries and weights of validation blocks that a scorer takes."""
    given = {name: getattr(labels, name) for name in ALIGNED}
    return requested(scorer, {name: part for name, part in given.items() if part is not None})
