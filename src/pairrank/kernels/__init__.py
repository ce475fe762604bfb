"""Kernels k(x, x') as explicit features for linear solvers."""

from pairrank.kernels.feature_map import FeatureMap as FeatureMap
from pairrank.kernels.kernel import Kernel as Kernel
