"""Compiled pair sums: arrays in, arrays out; no classes, no validation, no X."""
