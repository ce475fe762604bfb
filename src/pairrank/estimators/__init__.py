"""Estimators: preferences, a loss and a solver composed, with scikit-learn's face."""
