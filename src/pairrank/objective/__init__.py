"""Objectives for the solvers, made of X, preferences, loss and penalty, and their models."""

from pairrank.objective.hull_objective import HullObjective as HullObjective
from pairrank.objective.models import LineSample as LineSample
from pairrank.objective.models import Sample as Sample
from pairrank.objective.models import SampledModel as SampledModel
from pairrank.objective.models import in_bands as in_bands
from pairrank.objective.models import sampled as sampled
from pairrank.objective.models import sampled_hessian_cost as sampled_hessian_cost
from pairrank.objective.models import samples as samples
from pairrank.objective.normal_equations import CentredSums as CentredSums
from pairrank.objective.normal_equations import Quadratic as Quadratic
from pairrank.objective.normal_equations import centred_sums as centred_sums
from pairrank.objective.normal_equations import dual_matrix as dual_matrix
from pairrank.objective.normal_equations import primal_matrix as primal_matrix
from pairrank.objective.pair_steps import PairSteps as PairSteps
from pairrank.objective.problem import PairObjective as PairObjective
from pairrank.objective.problem import Problem as Problem
from pairrank.objective.problem import Products as Products
