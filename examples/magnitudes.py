"""Targets whose differences count: keep how much higher one row is than another.

MPRank fits differences of scores to differences of labels. RankSVM only orders the rows, and its
scores have no unit.
"""

from __future__ import annotations

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairrank import MPRank, RankSVM, SVRank
from pairrank.metrics import m1d, pairwise_accuracy


def main() -> dict[str, tuple[float, float]]:
    """Print the accuracy of the order and the mean error of differences, in units of the label."""
    X, y = load_diabetes(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    found = {}
    for ranker in (MPRank(C=10.0), SVRank(C=10.0, epsilon=10.0), RankSVM()):
        scores = make_pipeline(StandardScaler(), ranker).fit(X, y).predict(X_test)
        found[type(ranker).__name__] = (pairwise_accuracy(y_test, scores), m1d(y_test, scores))
    for name, (accuracy, error) in found.items():
        print(f"{name:8} pairs in order {accuracy:.3f}, differences are off by {error:.1f}")
    return found


if __name__ == "__main__":
    main()
