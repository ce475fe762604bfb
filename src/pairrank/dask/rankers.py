"""The rankers on a Dask cluster: each has the options and the answer of the one in memory."""

from __future__ import annotations

from pairrank.dask.on_dask import OnDask
from pairrank.estimators._docstrings import ranker
from pairrank.estimators.convex_hull import ConvexHullRanker
from pairrank.estimators.mp_rank import MPRank
from pairrank.estimators.rank_ncg import RankNCG
from pairrank.estimators.rank_rls import RankRLS
from pairrank.estimators.rank_svm import RankSVM
from pairrank.estimators.sv_rank import SVRank


@ranker
class DaskRankSVM(OnDask, RankSVM):
    """RankSVM on a Dask cluster: the options and the answer of `pairrank.RankSVM`.

    See `pairrank.RankSVM` for the objective. Value and gradient are sums over partitions; a query
    may have rows in several of them. The solver runs in this process.

    Attributes
    ----------
    coef_, n_iter_, best_iteration_, status_, history_, objective_, gap_, n_pairs_
    n_rows_, n_queries_, n_ties_, validation_scores_, n_features_in_, feature_names_in_

    See Also
    --------
    pairrank.RankSVM : The same in memory.
    """

    _in_memory = RankSVM


@ranker
class DaskRankNCG(OnDask, RankNCG):
    """RankNCG on a Dask cluster: the options and the answer of `pairrank.RankNCG`.

    See `pairrank.RankNCG` for the objective, and `DaskRankSVM` for rows on a cluster.

    Attributes
    ----------
    coef_, n_iter_, best_iteration_, status_, history_, objective_, n_pairs_
    n_rows_, n_queries_, n_ties_, validation_scores_, n_features_in_, feature_names_in_

    See Also
    --------
    pairrank.RankNCG : The same in memory.
    """

    _in_memory = RankNCG


@ranker
class DaskRankRLS(OnDask, RankRLS):
    """RankRLS on a Dask cluster: the options and the answer of `pairrank.RankRLS`.

    See `pairrank.RankRLS` for the objective, and `DaskRankSVM` for rows on a cluster.

    Attributes
    ----------
    coef_, n_iter_, best_iteration_, status_, history_, objective_, n_pairs_
    n_rows_, n_queries_, validation_scores_, n_features_in_, feature_names_in_

    See Also
    --------
    pairrank.RankRLS : The same in memory.
    """

    _in_memory = RankRLS


@ranker
class DaskMPRank(OnDask, MPRank):
    """MPRank on a Dask cluster: the options and the answer of `pairrank.MPRank`.

    See `pairrank.MPRank` for the objective, and `DaskRankSVM` for rows on a cluster.

    Attributes
    ----------
    coef_, n_iter_, best_iteration_, status_, history_, objective_, n_pairs_
    n_rows_, n_queries_, validation_scores_, n_features_in_, feature_names_in_

    See Also
    --------
    pairrank.MPRank : The same in memory.
    """

    _in_memory = MPRank


@ranker
class DaskSVRank(OnDask, SVRank):
    """SVRank on a Dask cluster: the options and the answer of `pairrank.SVRank`.

    See `pairrank.SVRank` for the objective, and `DaskRankSVM` for rows on a cluster.

    Attributes
    ----------
    coef_, n_iter_, best_iteration_, status_, history_, objective_, n_pairs_
    n_rows_, n_queries_, validation_scores_, n_features_in_, feature_names_in_

    See Also
    --------
    pairrank.SVRank : The same in memory.
    """

    _in_memory = SVRank


@ranker
class DaskConvexHullRanker(OnDask, ConvexHullRanker):
    """ConvexHullRanker on a Dask cluster: options and answer of `pairrank.ConvexHullRanker`.

    See `pairrank.ConvexHullRanker` for the objective, and `DaskRankSVM` for rows on a cluster.

    Attributes
    ----------
    coef_, n_iter_, best_iteration_, status_, history_, objective_, n_pairs_
    n_rows_, n_queries_, n_ties_, validation_scores_, n_features_in_, feature_names_in_

    See Also
    --------
    pairrank.ConvexHullRanker : The same in memory.
    """

    _in_memory = ConvexHullRanker
