"""pairrank: every pair, at the price of a pointwise model."""

import importlib
from typing import TYPE_CHECKING, Any

from pairrank.estimators import RANKERS

if TYPE_CHECKING:
    from pairrank.blocks import RowBlocks as RowBlocks
    from pairrank.clicks import click_weights as click_weights
    from pairrank.comparison import compare as compare
    from pairrank.estimators import *  # noqa: F403
    from pairrank.estimators.model_files import load_model as load_model
    from pairrank.estimators.sgd import SGD as SGD
    from pairrank.kernels import Kernel as Kernel
    from pairrank.metrics import stability_bound as stability_bound
    from pairrank.model_selection import GreedyRankRLS as GreedyRankRLS
    from pairrank.model_selection import PairwiseClassifier as PairwiseClassifier
    from pairrank.model_selection import QueryKFold as QueryKFold
    from pairrank.model_selection import RankNCGCV as RankNCGCV
    from pairrank.model_selection import RankRLSCV as RankRLSCV
    from pairrank.model_selection import RankSVMCV as RankSVMCV
    from pairrank.model_selection import regularization_path as regularization_path
    from pairrank.pair_sums.erfc import fast_erfc_sum as fast_erfc_sum
    from pairrank.plotting import QueryMetricDisplay as QueryMetricDisplay
    from pairrank.plotting import RatingsDisplay as RatingsDisplay
    from pairrank.plotting import WeightsDisplay as WeightsDisplay
    from pairrank.preferences import OrderGraph as OrderGraph
    from pairrank.preferences import Pairs as Pairs
    from pairrank.ratings import BradleyTerry as BradleyTerry
    from pairrank.survival import survival_target as survival_target

__version__ = "1.0.0rc1"

_LAZY = {
    **RANKERS,
    "BradleyTerry": "pairrank.ratings",
    "GreedyRankRLS": "pairrank.model_selection",
    "Kernel": "pairrank.kernels",
    "OrderGraph": "pairrank.preferences",
    "Pairs": "pairrank.preferences",
    "PairwiseClassifier": "pairrank.model_selection",
    "QueryKFold": "pairrank.model_selection",
    "QueryMetricDisplay": "pairrank.plotting",
    "RatingsDisplay": "pairrank.plotting",
    "RankNCGCV": "pairrank.model_selection",
    "RankRLSCV": "pairrank.model_selection",
    "RankSVMCV": "pairrank.model_selection",
    "RowBlocks": "pairrank.blocks",
    "SGD": "pairrank.estimators.sgd",
    "WeightsDisplay": "pairrank.plotting",
    "click_weights": "pairrank.clicks",
    "compare": "pairrank.comparison",
    "fast_erfc_sum": "pairrank.pair_sums.erfc",
    "load_model": "pairrank.estimators.model_files",
    "regularization_path": "pairrank.model_selection",
    "stability_bound": "pairrank.metrics",
    "survival_target": "pairrank.survival",
}
_MODULES = (
    "boosting",
    "clicks",
    "comparison",
    "dask",
    "datasets",
    "exceptions",
    "export",
    "io",
    "metrics",
    "model_selection",
    "plotting",
    "ratings",
    "report",
    "survival",
    "torch",
)

_NEED_EXTRAS = {"RankNet": "torch", "torch": "torch", "dask": "distributed"}
"""The library of an extra that a name needs; an import of every name leaves these names out."""

__all__ = ["__version__", *(name for name in (*_LAZY, *_MODULES) if name not in _NEED_EXTRAS)]


def __getattr__(name: str) -> Any:
    """Load what needs heavier libraries at its first use."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"pairrank.{name}")
    raise AttributeError(f"module 'pairrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names that load: `help` and `inspect` get all of them."""
    from importlib.util import find_spec

    return sorted([*__all__, *(name for name, needs in _NEED_EXTRAS.items() if find_spec(needs))])
