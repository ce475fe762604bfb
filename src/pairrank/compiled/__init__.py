"""Compiled pair sums: arrays in, arrays out; no classes, no validation, no X."""

from pairrank.compiled._collector import paused_collection

with paused_collection():
    import numba as numba
