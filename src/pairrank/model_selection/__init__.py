"""Choosing models by folds of queries: splitters, scorers, paths, CV estimators."""

from pairrank.model_selection.classifier import PairwiseClassifier as PairwiseClassifier
from pairrank.model_selection.cv import RankNCGCV as RankNCGCV
from pairrank.model_selection.cv import RankSVMCV as RankSVMCV
from pairrank.model_selection.greedy_rank_rls import GreedyRankRLS as GreedyRankRLS
from pairrank.model_selection.path import RegularizationPath as RegularizationPath
from pairrank.model_selection.path import regularization_path as regularization_path
from pairrank.model_selection.rank_rls_cv import RankRLSCV as RankRLSCV
from pairrank.model_selection.scorers import QueryScorer as QueryScorer
from pairrank.model_selection.scorers import get_query_scorer as get_query_scorer
from pairrank.model_selection.scorers import make_query_scorer as make_query_scorer
from pairrank.model_selection.splits import QueryKFold as QueryKFold
from pairrank.model_selection.splits import pair_folds as pair_folds
