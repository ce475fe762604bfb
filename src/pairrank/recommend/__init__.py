"""Ratings tables as one ranking problem per user: protocols, evaluation, recommendations."""

from pairrank.recommend.evaluation import Evaluation as Evaluation
from pairrank.recommend.evaluation import evaluate_users as evaluate_users
from pairrank.recommend.personal import suited_params as suited_params
from pairrank.recommend.protocols import PROTOCOLS as PROTOCOLS
from pairrank.recommend.protocols import Protocol as Protocol
from pairrank.recommend.protocols import UserProblem as UserProblem
from pairrank.recommend.protocols import UserProblems as UserProblems
from pairrank.recommend.protocols import UserTask as UserTask
from pairrank.recommend.rankers import UserRankers as UserRankers
from pairrank.recommend.rankers import fit_users as fit_users
from pairrank.recommend.recommendations import Recommendations as Recommendations
from pairrank.recommend.recommendations import recommend as recommend
from pairrank.recommend.references import References as References
from pairrank.recommend.references import impute as impute
from pairrank.recommend.table import RatingsTable as RatingsTable
