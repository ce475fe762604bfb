"""Solvers: they see an Objective and return a Solution; blind to ranking."""
