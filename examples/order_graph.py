"""Groups of which only some are ordered
=====================================

An order graph between labels. Doctors rank healthy below mild, and mild below severe. Patients with
another disease rank above the healthy ones, but nobody compares them with the mild and the severe.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
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


X, y = make_patients(300, seed=0)
X_new, y_new = make_patients(300, seed=1)

# %%
# Accuracy counts the pairs of the graph only. The table has it for each edge.

accuracy = {}
for model in (RankSVM(graph=GRAPH), ConvexHullRanker(graph=GRAPH)):
    name, scores = type(model).__name__, model.fit(X, y).predict(X_new)
    accuracy[name] = float(pairwise_accuracy(y_new, scores, graph=GRAPH))
    print(f"{name}: weights {model.coef_.round(2)}, accuracy {accuracy[name]:.3f}")
    table = pairwise_accuracy(y_new, scores, graph=GRAPH, groups=y_new)
    for higher, row in zip(table.groups, table.accuracy, strict=True):
        for lower, share in zip(table.groups, row, strict=True):
            if not np.isnan(share):
                print(f"    {higher} above {lower}: {share:.3f}")

# %%
# The patients, and lines of equal score: scores rise to the upper right.

_, axes = plt.subplots(layout="constrained")
for group in CENTRES:
    axes.plot(*X[y == group].T, "o", markersize=4, label=group)
grid = np.stack(np.meshgrid(np.linspace(-2, 5, 60), np.linspace(-3, 4, 60)), axis=-1)
lines = axes.contour(*grid.T, model.predict(grid.reshape(-1, 2)).reshape(60, 60).T, colors="0.5")
axes.clabel(lines)
axes.set(xlabel="first measurement", ylabel="second measurement")
axes.legend()
plt.show()
