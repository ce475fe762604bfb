"""Rankers on a Dask cluster: the fit, the options and the answer of the rankers in memory."""

from pairrank._extras import require

require("dask.dataframe", "dask", "rankers on a cluster")
require("distributed", "dask", "rankers on a cluster")

from pairrank.dask import metrics as metrics  # noqa: E402
from pairrank.dask.rankers import DaskMPRank as DaskMPRank  # noqa: E402
from pairrank.dask.rankers import DaskRankNCG as DaskRankNCG  # noqa: E402
from pairrank.dask.rankers import DaskRankRLS as DaskRankRLS  # noqa: E402
from pairrank.dask.rankers import DaskRankSVM as DaskRankSVM  # noqa: E402
from pairrank.dask.rankers import DaskSVRank as DaskSVRank  # noqa: E402
