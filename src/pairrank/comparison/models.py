"""The models that a comparison knows by name, and rankers of LightGBM and XGBoost."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pkgutil import resolve_name
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from pairrank._extras import require
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.preferences._codes import query_codes


@dataclass(eq=False, repr=False)
class BoostedRanker(BaseEstimator):
    """100 trees that learn grades, whole numbers from 0 to 30, within queries in any order.

    Parameters
    ----------
    objective : "lambdarank", "rank:ndcg" or "rank:pairwise"
        The first is LightGBM's; the others are XGBoost's, which weighs whole queries only.
    num_leaves, max_depth : int
        The leaves of each tree of LightGBM, and the depth of each of XGBoost.
    random_state : int
    """

    objective: str = "lambdarank"
    _: KW_ONLY
    num_leaves: int = 31
    max_depth: int = 6
    random_state: int = 0

    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the grades of rows within queries."""
        codes = np.zeros(len(y), dtype=np.int32) if qid is None else query_codes(qid)[1]
        order = np.argsort(codes, kind="stable")
        rows: dict[str, Any] = {"group": np.bincount(codes)}
        fixed: dict[str, Any] = {
            "learning_rate": 0.1,
            "n_estimators": 100,
            "random_state": self.random_state,
        }
        if self.objective.startswith("rank:"):
            if sample_weight is not None:
                raise PairrankError("it takes no sample_weight")
            xgboost = require("xgboost", "xgboost", "rank:ndcg and rank:pairwise")
            fixed |= {"objective": self.objective, "max_depth": self.max_depth, "verbosity": 0}
            model = xgboost.XGBRanker(**fixed)
        else:
            lightgbm = require("lightgbm", "lightgbm", "models such as lambdarank")
            model = lightgbm.LGBMRanker(num_leaves=self.num_leaves, verbose=-1, **fixed)
            rows["sample_weight"] = None if sample_weight is None else sample_weight[order]
        self.model_ = model.fit(X[order], y[order], **rows)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the scores of rows."""
        return np.asarray(self.model_.predict(X), dtype=np.float64)


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
    grid: Mapping[str, tuple[Any, ...]] = {}
    params: Mapping[str, Any] = {}


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
    """An estimator to clone, and the values of its strengths."""

    name: str
    estimator: Any
    grid: Mapping[str, tuple[Any, ...]]


def models_named(models: Any, baseline: str | None = None) -> dict[str, Any]:
    """Return {name: estimator or known name}; raise a PairrankError for what is neither."""
    models = DEFAULT if models is None else models
    if isinstance(models, str):
        models = [name.strip() for name in models.split(",") if name.strip()]
    if not isinstance(models, Mapping):
        models = list(models)
        twice = next((name for name in models if models.count(name) > 1), None)
        if twice is not None:
            raise PairrankError(f"model {twice!r} is named twice; name it once")
        models = {str(name): name for name in models}
    if not models:
        raise PairrankError(f"models names none; give at least one of {', '.join(KNOWN)}")
    for name, model in models.items():
        if isinstance(model, str) and model not in KNOWN:
            near = difflib.get_close_matches(model.lower(), KNOWN, n=3, cutoff=0.5)
            asked = f" (did you mean {' or '.join(near)}?)" if near else ""
            raise PairrankError(
                f"there is no model {model!r}{asked}; use one of {', '.join(KNOWN)}"
            )
        if not isinstance(model, str) and not hasattr(model, "get_params"):
            raise PairrankError(
                f"model {name!r} must be a known name or an estimator (got {model!r}); give "
                'estimators as a mapping, {"mine": estimator}'
            )
    if baseline is not None and baseline not in models:
        raise PairrankError(f"baseline {baseline!r} is not one of the models: {', '.join(models)}")
    return {str(name): model for name, model in models.items()}


def candidate_of(name: str, model: Any, graph: Any, seed: int) -> Candidate:
    """Return a model to clone.

    `graph` and `seed` are set on a model that is known by name and has such a parameter.
    """
    if not isinstance(model, str):
        return Candidate(name, clone(model), {})
    known = KNOWN[model]
    estimator = resolve_name(known.place)(**known.params)
    own = {"graph": graph, "random_state": seed}
    taken = estimator.get_params(deep=False)
    estimator.set_params(**{param: own[param] for param in own if param in taken})
    return Candidate(name, estimator, known.grid)


def tried_text(grid: Mapping[str, tuple[Any, ...]]) -> str:
    """Return the values that are tried as text, "C: 0.1, 1, 10"."""
    return "; ".join(f"{name}: {', '.join(f'{v:g}' for v in grid[name])}" for name in grid)
