"""Rows that are not in memory together: where they come from, and passes over them."""
