"""Kernels k(x, x') as explicit features for linear solvers."""

from pairrank.kernels.kernel import Kernel as Kernel
