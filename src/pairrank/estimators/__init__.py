"""The rankers, their one fit and their model files; a ranker is loaded at its first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pairrank.estimators.convex_hull import ConvexHullRanker as ConvexHullRanker
    from pairrank.estimators.mp_rank import MPRank as MPRank
    from pairrank.estimators.pairwise_ranker import PairwiseRanker as PairwiseRanker
    from pairrank.estimators.rank_boost import RankBoost as RankBoost
    from pairrank.estimators.rank_ncg import RankNCG as RankNCG
    from pairrank.estimators.rank_rls import RankRLS as RankRLS
    from pairrank.estimators.rank_svm import RankSVM as RankSVM
    from pairrank.estimators.sv_rank import SVRank as SVRank
    from pairrank.torch.rank_net import RankNet as RankNet

MODELS = {
    "ranksvm": "pairrank.estimators.rank_svm:RankSVM",
    "rankncg": "pairrank.estimators.rank_ncg:RankNCG",
    "rankrls": "pairrank.estimators.rank_rls:RankRLS",
    "mprank": "pairrank.estimators.mp_rank:MPRank",
    "svrank": "pairrank.estimators.sv_rank:SVRank",
    "pairwise": "pairrank.estimators.pairwise_ranker:PairwiseRanker",
    "ranknet": "pairrank.torch.rank_net:RankNet",
    "rankboost": "pairrank.estimators.rank_boost:RankBoost",
    "hull": "pairrank.estimators.convex_hull:ConvexHullRanker",
}
"""Each ranker by its name at the command line."""

RANKERS = {name: module for module, name in (place.split(":") for place in MODELS.values())}
"""The module of each ranker: `pairrank` exports them, and model files may hold them."""


def ranker_named(name: str) -> Any:
    """Return the class of a ranker."""
    return getattr(import_module(RANKERS[name]), name)
