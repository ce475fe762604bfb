"""How losses are summed over preferences: one entrance, `bind`, which chooses the algorithm."""

from pairrank.pair_sums.plan import bind as bind
