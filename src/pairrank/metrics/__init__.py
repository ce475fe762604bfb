"""Metrics: pairwise accuracy, AUC, log-loss of pairs, Kendall's tau, NDCG, MAP, MRR and others."""

from pairrank.metrics.differences import hinge_magnitude_cost as hinge_magnitude_cost
from pairrank.metrics.differences import hinge_rank_cost as hinge_rank_cost
from pairrank.metrics.differences import m1d as m1d
from pairrank.metrics.differences import msd as msd
from pairrank.metrics.differences import tube_cost as tube_cost
from pairrank.metrics.gains import expected_reciprocal_rank as expected_reciprocal_rank
from pairrank.metrics.gains import mean_ndcg as mean_ndcg
from pairrank.metrics.gains import ndcg_score as ndcg_score
from pairrank.metrics.groups import GroupAccuracy as GroupAccuracy
from pairrank.metrics.lists import mean_average_precision as mean_average_precision
from pairrank.metrics.lists import mean_reciprocal_rank as mean_reciprocal_rank
from pairrank.metrics.lists import precision_at_k as precision_at_k
from pairrank.metrics.lists import rank_biased_precision as rank_biased_precision
from pairrank.metrics.lists import recall_at_k as recall_at_k
from pairrank.metrics.pairwise import auc_score as auc_score
from pairrank.metrics.pairwise import kendall_tau as kendall_tau
from pairrank.metrics.pairwise import pairwise_accuracy as pairwise_accuracy
from pairrank.metrics.pairwise import pairwise_log_loss as pairwise_log_loss
from pairrank.metrics.pairwise import wmw_score as wmw_score
from pairrank.metrics.stability import StabilityBound as StabilityBound
from pairrank.metrics.stability import stability_bound as stability_bound
from pairrank.metrics.tables import Comparison as Comparison
from pairrank.metrics.tables import compare_scores as compare_scores
from pairrank.metrics.tables import evaluate as evaluate
