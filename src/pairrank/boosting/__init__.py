"""All pairs for gradient boosting: an objective and metrics for LightGBM and XGBoost.

`AllPairsObjective` is a loss of pairrank over every pair, without LightGBM's limit of 10,000 rows
per query and without limits on labels; `RankingMetric` is a metric of pairrank for evaluation sets
and early stopping. Both need only what LightGBM and XGBoost pass to them, so that importing this
module imports neither library.

Predictions are scores. Only their differences count, so XGBoost's ``base_score``, a constant, has
no effect on ranks, and ``boost_from_average`` does nothing: LightGBM starts custom objectives at 0,
or at ``init_score``. LightGBM's ``lambdarank_*`` and ``scale_pos_weight`` parameters do nothing
either.

``LGBMRanker`` also evaluates its own "ndcg", which refuses labels below 0 and above 30, unless
``metric="None"``. XGBoost evaluates "rmse", unless ``disable_default_eval_metric=1``. LightGBM's
early stopping watches each metric, unless ``first_metric_only=True``. ``XGBRanker`` refuses custom
objectives: use ``XGBRegressor(objective=AllPairsObjective(qid=qid))`` or ``xgboost.train``.

A model file of LightGBM or XGBoost holds no objective. A pickled estimator holds its parameters, so
that reading it needs pairrank.

CatBoost does not tell custom objectives which rows form a query, nor that rows were permuted, so
`AllPairsObjective` cannot serve it.
"""

from pairrank.boosting.metric import RankingMetric as RankingMetric
from pairrank.boosting.objective import AllPairsObjective as AllPairsObjective
