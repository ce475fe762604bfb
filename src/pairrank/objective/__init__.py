"""X, preferences, loss and penalty as the objective that a solver sees, and its models."""

from pairrank.objective.banded_model import BandedModel as BandedModel
from pairrank.objective.diagonal import inverse_diagonal as inverse_diagonal
from pairrank.objective.diagonal import is_even as is_even
from pairrank.objective.diagonal import spread_of_features as spread_of_features
from pairrank.objective.hull_objective import HullObjective as HullObjective
from pairrank.objective.kernel_design import KernelDesign as KernelDesign
from pairrank.objective.least_squares import LeastSquares as LeastSquares
from pairrank.objective.line_sample import LineSample as LineSample
from pairrank.objective.normal_equations import dual_matrix as dual_matrix
from pairrank.objective.normal_equations import primal_matrix as primal_matrix
from pairrank.objective.pair_objective import PairObjective as PairObjective
from pairrank.objective.sampled_model import SampledModel as SampledModel
from pairrank.objective.sum_objective import SumObjective as SumObjective
