"""One ranking problem per user
============================

Rank films for each user by the ratings of other users. A film's features are the ratings that
everyone else gave it. RankRLS learns how a user's ratings differ from the films' mean ratings.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from pairrank import RankRLS
from pairrank.metrics import pairwise_accuracy

rng = np.random.default_rng(0)
n_users, n_films = 120, 150
tastes = rng.normal(size=(n_users, 2)) @ rng.normal(size=(2, n_films))
worth = 0.7 * rng.normal(size=n_films)
stars = np.clip(np.rint(3.0 + tastes + worth + 0.5 * rng.normal(size=tastes.shape)), 1, 5)
stars[rng.random(stars.shape) < 0.6] = np.nan  # not rated

# %%
# Half of a user's ratings train, the other half tests. A gap is filled by the median of that user's
# ratings.

filled = np.where(np.isnan(stars), np.nanmedian(stars, axis=1, keepdims=True), stars)
by_means, by_ranker = [], []
for user in range(n_users):
    films = rng.permutation(np.flatnonzero(~np.isnan(stars[user])))
    train, test = films[::2], films[1::2]
    X = np.delete(filled, user, axis=0).T
    mean = np.nanmean(np.delete(stars, user, axis=0), axis=0)
    ranker = RankRLS(alpha=100.0).fit(X[train], stars[user, train] - mean[train])
    scores = mean + ranker.predict(X)
    by_means.append(pairwise_accuracy(stars[user, test], mean[test]))
    by_ranker.append(pairwise_accuracy(stars[user, test], scores[test]))
print(f"pairs of films in order: {np.mean(by_means):.3f} by mean ratings, "
      f"{np.mean(by_ranker):.3f} by a ranker per user")  # fmt: skip

# %%
# Each point is a user: above the line, the ranker orders the films better than their mean ratings.

_, axes = plt.subplots(figsize=(4, 4), layout="constrained")
axes.plot([0.3, 1.0], [0.3, 1.0], color="0.7")
axes.plot(by_means, by_ranker, ".")
axes.set(xlabel="accuracy of mean ratings", ylabel="accuracy of a ranker per user")
plt.show()
