"""Rankers on a Dask cluster: the fit, the options and the answer of the rankers in memory."""

from pairrank._extras import require

require("dask.dataframe", "dask", "rankers on a cluster")
require("distributed", "dask", "rankers on a cluster")
