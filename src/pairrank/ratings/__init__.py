"""Ratings of named items from comparisons: Bradley-Terry models and their ranking tables."""

from pairrank.ratings.bradley_terry import BradleyTerry as BradleyTerry
from pairrank.ratings.ranking import Contrast as Contrast
from pairrank.ratings.ranking import Ranking as Ranking
