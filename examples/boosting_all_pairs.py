"""Boosted trees over all pairs
============================

Trees of LightGBM that learn from all pairs of 20,000 rows in one query, and stop by their AUC. It
needs ``pip install 'pairrank[lightgbm]'``.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from pairrank.boosting import AllPairsObjective, RankingMetric
from pairrank.metrics import auc_score

try:
    import lightgbm
except ImportError:
    lightgbm = None


def rows(n_rows: int, seed: int) -> tuple[Any, Any]:
    """Return features and labels of which a tenth are 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6))
    utility = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + rng.normal(size=n_rows)
    return X, (utility > np.quantile(utility, 0.9)).astype(float)


def main() -> dict[str, float] | None:
    """Print and draw the AUC of trees that learn from rows, and of trees that learn from pairs."""
    if lightgbm is None:
        print("This example needs LightGBM: pip install 'pairrank[lightgbm]'")
        return None
    train, valid, test = rows(20_000, 0), rows(5_000, 1), rows(5_000, 2)
    found = {}
    _, axes = plt.subplots(layout="constrained")
    for name, objective in (("rows", "binary"), ("pairs", AllPairsObjective("logistic"))):
        data, curve = lightgbm.Dataset(*train), {}
        model = lightgbm.train(
            {"objective": objective, "metric": "None", "verbose": -1},
            data,
            500,
            valid_sets=[lightgbm.Dataset(*valid, reference=data)],
            feval=RankingMetric("auc"),
            callbacks=[
                lightgbm.early_stopping(20, verbose=False),
                lightgbm.record_evaluation(curve),
            ],
        )
        axes.plot(next(iter(curve["valid_0"].values())), label=f"from {name}")
        found[name] = float(auc_score(test[1], model.predict(test[0])))
        print(f"AUC of trees that learn from {name}: {found[name]:.4f}, ", end="")
        print(f"{model.best_iteration} trees")
    axes.set(xlabel="trees", ylabel="AUC of validation rows")
    axes.legend()
    plt.show()
    return found


# %%
# Both find the order. With all pairs the objective is the one that AUC judges.

if __name__ == "__main__":
    main()
