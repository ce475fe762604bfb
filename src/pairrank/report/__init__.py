"""Reports on rankers: one page of metrics, queries, weights and calibration."""

from pairrank.report.calibration import PairCalibration as PairCalibration
from pairrank.report.calibration import pair_calibration as pair_calibration
from pairrank.report.page import Report as Report
from pairrank.report.page import report as report
