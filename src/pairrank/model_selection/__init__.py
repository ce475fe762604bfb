"""Choosing models by folds of queries: splitters, scorers, paths, CV estimators."""
