"""Models side by side: the models known by name, folds, cells, tests, tables and the page."""

from pairrank.comparison.comparing import compare as compare
from pairrank.comparison.models import KNOWN as KNOWN
from pairrank.comparison.results import ComparisonResults as ComparisonResults
