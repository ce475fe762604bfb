"""Kernels k(x, x') as explicit features for linear solvers."""

from pairrank.kernels.kernel import Kernel as Kernel
from pairrank.kernels.kernel import require_square as require_square
