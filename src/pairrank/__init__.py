"""pairrank: every pair, at the price of a pointwise model."""
