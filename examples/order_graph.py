"""Groups of which only some are ordered: an order graph between labels.

Doctors rank healthy below mild, and mild below severe. Patients with another disease rank above the
healthy ones, but nobody compares them with the mild and the severe.
"""

from __future__ import annotations

import numpy as np

from pairrank import ConvexHullRanker, OrderGraph, RankSVM
from pairrank.metrics import pairwise_accuracy

GRAPH = OrderGraph([("healthy", "mild"), ("mild", "severe"), ("healthy", "other")])
CENTRES = {"healthy": (0, 0), "mild": (1, 1), "severe": (2, 2), "other": (3, -1)}


def make_patients(n_patients: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two measurements per patient, and the group of each."""
    rng = np.random.default_rng(seed)
    y = rng.choice(list(CENTRES), n_patients)
    return np.array([CENTRES[each] for each in y]) + rng.normal(0.0, 0.7, (n_patients, 2)), y


def main() -> dict[str, float]:
    """Print weights, the limits of classes, and accuracy on new patients."""
    X, y = make_patients(300, seed=0)
    X_new, y_new = make_patients(300, seed=1)
    found = {}
    for model in (RankSVM(graph=GRAPH), ConvexHullRanker(graph=GRAPH)):
        name, scores = type(model).__name__, model.fit(X, y).predict(X_new)
        found[name] = float(pairwise_accuracy(y_new, scores, graph=GRAPH))
        print(f"{name}: weights {model.coef_.round(2)}, accuracy {found[name]:.3f}")
        table = pairwise_accuracy(y_new, scores, graph=GRAPH, groups=y_new)
        for higher, row in zip(table.groups, table.accuracy, strict=True):
            for lower, accuracy in zip(table.groups, row, strict=True):
                if not np.isnan(accuracy):
                    print(f"    {higher} above {lower}: {accuracy:.3f}")
    return found


if __name__ == "__main__":
    main()
