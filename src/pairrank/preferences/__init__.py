"""Who is preferred to whom: Levels, OrderGraph, Pairs."""
