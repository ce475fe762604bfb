"""Displays in scikit-learn's style; matplotlib is loaded when one draws."""

from pairrank.plotting.iterations import IterationCurveDisplay as IterationCurveDisplay
from pairrank.plotting.paths import RegularizationPathDisplay as RegularizationPathDisplay
