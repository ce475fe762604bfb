"""Sums of losses over preferences; `bind` chooses the algorithm."""

from pairrank.pair_sums.plan import bind as bind
from pairrank.pair_sums.plan import check_eps as check_eps
