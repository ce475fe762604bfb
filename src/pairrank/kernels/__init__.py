"""Kernels k(x, x') as explicit features, so that every solver serves them."""

from pairrank.kernels.feature_map import FeatureMap as FeatureMap
from pairrank.kernels.kernel import Kernel as Kernel
