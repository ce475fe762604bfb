"""Displays: validation curves, ratings with intervals, and matrices of wins."""

from pairrank.plotting.iteration_curve import IterationCurveDisplay as IterationCurveDisplay
from pairrank.plotting.ratings import RatingsDisplay as RatingsDisplay
from pairrank.plotting.ratings import WinMatrixDisplay as WinMatrixDisplay
