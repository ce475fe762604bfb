"""The rankers on a Dask cluster: each has the options and the answer of the one in memory."""

from __future__ import annotations

from pairrank.dask.on_dask import OnDask
from pairrank.estimators._docstrings import ranker
from pairrank.estimators.mp_rank import MPRank
from pairrank.estimators.rank_ncg import RankNCG
from pairrank.estimators.rank_rls import RankRLS
from pairrank.estimators.rank_svm import RankSVM
from pairrank.estimators.sv_rank import SVRank


@ranker
class DaskRankSVM(OnDask, RankSVM):
    """RankSVM on a Dask cluster: the options and the answer of `pairrank.RankSVM`."""


@ranker
class DaskRankNCG(OnDask, RankNCG):
    """RankNCG on a Dask cluster: the options and the answer of `pairrank.RankNCG`."""


@ranker
class DaskRankRLS(OnDask, RankRLS):
    """RankRLS on a Dask cluster: the options and the answer of `pairrank.RankRLS`."""


@ranker
class DaskMPRank(OnDask, MPRank):
    """MPRank on a Dask cluster: the options and the answer of `pairrank.MPRank`."""


@ranker
class DaskSVRank(OnDask, SVRank):
    """SVRank on a Dask cluster: the options and the answer of `pairrank.SVRank`."""
