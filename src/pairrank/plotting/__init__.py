"""Displays in scikit-learn's style; matplotlib is loaded when one draws."""

from pairrank.plotting.iterations import IterationCurveDisplay as IterationCurveDisplay
from pairrank.plotting.pair_calibration import PairCalibrationDisplay as PairCalibrationDisplay
from pairrank.plotting.paths import RegularizationPathDisplay as RegularizationPathDisplay
from pairrank.plotting.query_metric import QueryMetricDisplay as QueryMetricDisplay
from pairrank.plotting.ratings import RatingsDisplay as RatingsDisplay
from pairrank.plotting.ratings import WinMatrixDisplay as WinMatrixDisplay
from pairrank.plotting.weights import WeightsDisplay as WeightsDisplay
