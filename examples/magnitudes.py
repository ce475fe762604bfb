"""Targets whose differences count
===============================

Keep how much higher one row is than another. MPRank and SVRank fit differences of scores to
differences of labels. RankSVM only orders the rows, and its scores have no unit.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairrank import MPRank, RankSVM, SVRank
from pairrank.metrics import m1d, pairwise_accuracy

X, y = load_diabetes(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)

found, scores = {}, {}
for ranker in (MPRank(C=10.0), SVRank(C=10.0, epsilon=10.0), RankSVM()):
    name = type(ranker).__name__
    scores[name] = make_pipeline(StandardScaler(), ranker).fit(X, y).predict(X_test)
    found[name] = (pairwise_accuracy(y_test, scores[name]), m1d(y_test, scores[name]))
for name, (accuracy, error) in found.items():
    print(f"{name:8} pairs in order {accuracy:.3f}, differences are off by {error:.1f}")

# %%
# Differences of scores against differences of labels, for 400 pairs of test rows. On the line, the
# magnitude is right.

i, j = np.random.default_rng(0).integers(0, y_test.size, (2, 400))
_, axes = plt.subplots(1, 3, figsize=(9, 3.4), sharex=True, sharey=True, layout="constrained")
for place, (name, score) in zip(axes, scores.items(), strict=True):
    place.plot([-250, 250], [-250, 250], color="0.7")
    place.plot(y_test[i] - y_test[j], score[i] - score[j], ".", markersize=3)
    place.set(title=name, xlabel="difference of labels")
axes[0].set_ylabel("difference of scores")
plt.show()
