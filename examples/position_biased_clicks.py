"""Position-biased clicks
======================

Learn from simulated clicks, with weights by propensity and without. A row is relevant by its second
feature, and less so by its first one. The rows were shown in the order of the first feature, and
users rarely examine low positions. So rows with a large first feature get more clicks although they
are less relevant, and only the weighted fit learns that.
"""

from __future__ import annotations

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from pairrank import RankSVM, click_weights
from pairrank.clicks import ips_score
from pairrank.metrics import pairwise_accuracy


class Sessions(NamedTuple):
    """Rows as they were shown, by query; X is (n_rows, 2), the others are (n_rows,)."""

    X: NDArray[np.float64]
    qid: NDArray[np.int64]
    clicks: NDArray[np.bool_]
    propensity: NDArray[np.float64]
    relevance: NDArray[np.float64]


def simulate(n_queries: int, n_shown: int, seed: int) -> Sessions:
    """Return sessions in which position p is examined with probability p^-1.5."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries, n_shown, 2))
    X = np.take_along_axis(X, np.argsort(-X[:, :, :1], axis=1), axis=1)
    relevance = X[:, :, 1] - 0.5 * X[:, :, 0]
    propensity = np.broadcast_to(np.arange(1.0, n_shown + 1.0) ** -1.5, relevance.shape)
    examined = rng.random(relevance.shape) < propensity
    clicks = examined & (relevance > np.median(relevance))
    qid = np.repeat(np.arange(n_queries), n_shown)
    return Sessions(X.reshape(-1, 2), qid, clicks.ravel(), propensity.ravel(), relevance.ravel())


def fits(shown: Sessions) -> dict[str, RankSVM]:
    """Return a fit with weights by propensity and one without."""
    X, qid, clicks, propensity, _ = shown
    return {
        "weighted": RankSVM().fit(X, qid=qid, **click_weights(clicks, propensity)),
        "unweighted": RankSVM().fit(X, clicks.astype(np.float64), qid=qid),
    }


def judge(model: RankSVM, shown: Sessions) -> tuple[float, float, float]:
    """Return the true accuracy, and DCG per relevant row from weighted and from plain clicks."""
    scores, everywhere = model.predict(shown.X), np.ones(shown.qid.size)
    return (
        pairwise_accuracy(shown.relevance, scores, qid=shown.qid),
        ips_score(shown.clicks, shown.propensity, scores, qid=shown.qid),
        ips_score(shown.clicks, everywhere, scores, qid=shown.qid),
    )


def main() -> None:
    """Print coefficients and metrics on new sessions, and draw the coefficients."""
    test = simulate(500, 10, seed=1)
    _, axes = plt.subplots(layout="constrained")
    for place, (name, model) in enumerate(fits(simulate(1500, 10, seed=0)).items()):
        true, estimate, biased = judge(model, test)
        print(f"{name:10}  coefficients {model.coef_.round(2)}  true accuracy {true:.3f}")
        print(f"{'':10}  DCG from weighted clicks {estimate:.3f}, from plain clicks {biased:.3f}")
        axes.bar(np.arange(2) + 0.35 * place, model.coef_, 0.35, label=name)
    axes.axhline(0.0, color="0.5", linewidth=0.8)
    axes.set_xticks([0.175, 1.175], ["feature of the old order", "feature of relevance"])
    axes.set_ylabel("coefficient")
    axes.legend()
    plt.show()


# %%
# Weighted clicks find that the first feature speaks against a row, as it does.

if __name__ == "__main__":
    main()
