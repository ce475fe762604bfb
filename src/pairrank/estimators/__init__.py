"""The rankers, their one fit and their model files; a ranker is loaded at its first use."""

from importlib import import_module
from typing import Any

_HERE = {
    "ConvexHullRanker": "convex_hull",
    "MPRank": "mp_rank",
    "PairwiseRanker": "pairwise_ranker",
    "RankBoost": "rank_boost",
    "RankNCG": "rank_ncg",
    "RankRLS": "rank_rls",
    "RankSVM": "rank_svm",
    "SVRank": "sv_rank",
}
RANKERS = {name: f"pairrank.estimators.{module}" for name, module in _HERE.items()}
RANKERS |= {"RankNet": "pairrank.torch.rank_net"}
"""The module of each ranker: `pairrank` exports them, and model files may hold them."""


def ranker_named(name: str) -> Any:
    """Return the class of a ranker."""
    return getattr(import_module(RANKERS[name]), name)
