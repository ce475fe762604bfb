"""Displays in scikit-learn's style; matplotlib is loaded when one draws."""

from pairrank.plotting.rankings import QueryMetricDisplay as QueryMetricDisplay
from pairrank.plotting.rankings import RatingsDisplay as RatingsDisplay
from pairrank.plotting.rankings import WeightsDisplay as WeightsDisplay
