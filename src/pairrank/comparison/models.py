"""The models that a comparison knows by name, and rankers of LightGBM and XGBoost."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from pairrank._extras import require
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.preferences._codes import query_codes

_LARGEST_GRADE = 30
"""LightGBM's table of gains ends with this label; 2^label - 1 is the gain of NDCG."""


class BoostedRanker(BaseEstimator):
    """Trees that learn grades, whole numbers from 0 to 30, within queries in any order.

    Parameters
    ----------
    objective : "lambdarank", "rank:ndcg" or "rank:pairwise"
        The first is LightGBM's; the others are XGBoost's, which weighs whole queries only.
    n_estimators : int
        The number of trees.
    num_leaves, max_depth : int
        The leaves of each tree of LightGBM, and the depth of each of XGBoost.
    learning_rate : float
    random_state : int
    """

    model_: Any

    def __init__(
        self,
        objective: str = "lambdarank",
        *,
        n_estimators: int = 100,
        num_leaves: int = 31,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        random_state: int = 0,
    ) -> None:
        self.objective = objective
        self.n_estimators = n_estimators
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the grades of rows within queries."""
        grades, codes, order = by_query(y, qid)
        params = self.get_params()
        leaves, depth = params.pop("num_leaves"), params.pop("max_depth")
        if self.objective.startswith("rank:"):
            if sample_weight is not None:
                raise PairrankError("it takes no sample_weight")
            xgboost = require("xgboost", "xgboost", "rank:ndcg and rank:pairwise")
            self.model_ = xgboost.XGBRanker(**params, max_depth=depth, verbosity=0)
            self.model_.fit(X[order], grades, qid=codes)
            return self
        lightgbm = require("lightgbm", "lightgbm", "models such as lambdarank")
        weight = None if sample_weight is None else sample_weight[order]
        ranker = lightgbm.LGBMRanker(**params, num_leaves=leaves, verbose=-1)
        ranker.fit(X[order], grades, group=np.bincount(codes), sample_weight=weight)
        self.model_ = ranker.booster_
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the scores of rows."""
        return np.asarray(self.model_.predict(X), dtype=np.float64)


def by_query(y: Any, qid: Any) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.intp]]:
    """Return grades and queries (ascending) in the order that makes queries contiguous, and it.

    Raises a PairrankError where labels are not whole numbers from 0 to 30.
    """
    labels = np.asarray(y)
    is_number = labels.dtype.kind in "fiu"
    if not is_number or not ((labels >= 0) & (labels <= _LARGEST_GRADE)).all():
        raise PairrankError(f"it learns labels from 0 to {_LARGEST_GRADE} only")
    if (labels != np.round(labels)).any():
        raise PairrankError("it learns labels that are whole numbers only")
    codes = np.zeros(labels.size, dtype=np.int32) if qid is None else query_codes(qid)[1]
    order = np.argsort(codes, kind="stable")
    return labels.astype(np.int32)[order], codes[order], order


_NOTHING: Mapping[str, Any] = MappingProxyType({})


def _powers(first: int, last: int) -> tuple[float, ...]:
    step = 1 if first < last else -1
    return tuple(10.0**power for power in range(first, last + step, step))


_PENALTIES, _COSTS = _powers(4, -3), _powers(-4, 3)


class Known(NamedTuple):
    """A model known by name.

    Attributes
    ----------
    place : str
        Its class, as module:name; "pairrank:name" is a name at the top of the package.
    grid : mapping of str to tuple
        The values that are tried of each strength; of equally good values the first one is taken.
    params : mapping
        Other parameters that differ from the class's defaults.
    """

    place: str
    grid: Mapping[str, tuple[Any, ...]] = _NOTHING
    params: Mapping[str, Any] = _NOTHING


_BOOSTED = "pairrank.comparison.models:BoostedRanker"
_LEAVES, _DEPTHS = {"num_leaves": (7, 31)}, {"max_depth": (3, 6)}

KNOWN: dict[str, Known] = {
    "rankncg": Known("pairrank:RankNCG", {"alpha": _PENALTIES}),
    "ranksvm": Known("pairrank:RankSVM", {"C": _COSTS}),
    "rankrls": Known("pairrank:RankRLS", {"alpha": _PENALTIES}),
    "mprank": Known("pairrank:MPRank", {"C": _powers(-1, 6)}),
    "svrank": Known("pairrank:SVRank", {"C": _powers(-1, 6)}),
    "hull": Known("pairrank:ConvexHullRanker", {"nu": _powers(-4, 3)}),
    "pairwise": Known("pairrank:PairwiseRanker", {"C": _COSTS}),
    "rankboost": Known("pairrank:RankBoost", {"n_estimators": (30, 100, 300)}),
    "ranknet": Known("pairrank:RankNet", {"alpha": _powers(3, -1)}),
    "ridge": Known("sklearn.linear_model:Ridge", {"alpha": _PENALTIES}),
    "gradient_boosting": Known(
        "sklearn.ensemble:HistGradientBoostingRegressor",
        {"learning_rate": (0.03, 0.1, 0.3)},
        {"early_stopping": False},
    ),
    "logistic_regression": Known(
        "sklearn.linear_model:LogisticRegression", {"C": _powers(-4, 3)}, {"max_iter": 1_000}
    ),
    "lambdarank": Known(_BOOSTED, _LEAVES, {"objective": "lambdarank"}),
    "rank:ndcg": Known(_BOOSTED, _DEPTHS, {"objective": "rank:ndcg"}),
    "rank:pairwise": Known(_BOOSTED, _DEPTHS, {"objective": "rank:pairwise"}),
}
"""Name -> model."""

DEFAULT = ("rankncg", "ranksvm", "rankrls", "ridge", "gradient_boosting")
"""The models that are compared where none is named."""


class Candidate(NamedTuple):
    """An estimator to clone, and the values of its strengths; `reason` says why there is none."""

    name: str
    estimator: Any
    grid: Mapping[str, tuple[Any, ...]]
    reason: str = ""


def candidates_of(models: Any, graph: Any, seed: int) -> list[Candidate]:
    """Return the models that are named or given; raise a PairrankError for what is neither.

    `graph` and `seed` are set on models that are known by name and have such a parameter.
    """
    models = DEFAULT if models is None else models
    if isinstance(models, str):
        models = [name.strip() for name in models.split(",") if name.strip()]
    if not isinstance(models, Mapping):
        models = list(models)
        check_names(models)
        models = {name: name for name in models}
    if not models:
        raise PairrankError(f"models names none; give at least one of {', '.join(KNOWN)}")
    _refuse_twice([str(name) for name in models])
    return [_candidate(str(name), model, graph, seed) for name, model in models.items()]


def check_names(names: list[Any]) -> None:
    """Raise a PairrankError for a name that is not known, or is given twice."""
    for name in names:
        if not isinstance(name, str):
            raise PairrankError(
                f"models holds {name!r}, which is not a name; give estimators as a mapping, "
                '{"mine": estimator}'
            )
        if name not in KNOWN:
            near = difflib.get_close_matches(name.lower(), KNOWN, n=3, cutoff=0.5)
            asked = f" (did you mean {' or '.join(near)}?)" if near else ""
            raise PairrankError(f"there is no model {name!r}{asked}; use one of {', '.join(KNOWN)}")
    _refuse_twice(names)


def _refuse_twice(names: list[str]) -> None:
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise PairrankError(f"model {twice!r} is named twice; name it once")


def _candidate(name: str, model: Any, graph: Any, seed: int) -> Candidate:
    if not isinstance(model, str):
        if not (hasattr(model, "fit") and hasattr(model, "get_params")):
            raise PairrankError(
                f"model {name!r} must be an estimator or a name, such as 'ridge' (got {model!r})"
            )
        return Candidate(name, clone(model), {})
    check_names([model])
    known = KNOWN[model]
    module, _, attribute = known.place.partition(":")
    try:
        kind = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        return Candidate(name, None, {}, reason=str(error))
    estimator = kind(**known.params)
    own = {"graph": graph, "random_state": seed}
    taken = estimator.get_params(deep=False)
    estimator.set_params(**{param: own[param] for param in own if param in taken})
    return Candidate(name, estimator, known.grid)


def tried_text(grid: Mapping[str, tuple[Any, ...]]) -> str:
    """Return the values that are tried as text, "C: 0.1, 1, 10"."""
    return "; ".join(f"{name}: {', '.join(f'{v:g}' for v in grid[name])}" for name in grid)
