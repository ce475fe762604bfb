"""AUC as the goal
===============

A binary target in scikit-learn's pipelines and searches: a logistic model of rows beside one of all
pairs. AUC is the share of pairs that are in order, and that is what the model of pairs fits.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairrank import RankNCG

X, y = load_breast_cancer(return_X_y=True)
models = {
    "rows": LogisticRegression(max_iter=1000),
    "pairs": GridSearchCV(RankNCG(), {"alpha": [0.01, 1.0, 100.0]}, scoring="roc_auc", cv=3),
}

# %%
# Cross-validation scores both models on the same folds.

auc = {}
for name, model in models.items():
    auc[name] = cross_val_score(make_pipeline(StandardScaler(), model), X, y, scoring="roc_auc")
    print(f"AUC of a model of {name}: {auc[name].mean():.4f}")

# %%
# A line joins the two models on one fold.

_, axes = plt.subplots(layout="constrained")
for fold in zip(*auc.values(), strict=True):
    axes.plot(list(auc), fold, color="0.6", marker="o")
axes.set(ylabel="AUC on the held-out fold", xlabel="the model learns from")
axes.margins(x=0.3)
plt.show()
