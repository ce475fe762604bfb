"""A binary target with AUC as the goal, in scikit-learn's pipelines and searches."""

from __future__ import annotations

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairrank import RankNCG


def main() -> dict[str, float]:
    """Print the cross-validated AUC of a logistic model of rows and one of pairs."""
    X, y = load_breast_cancer(return_X_y=True)
    found = {}
    for name, model in (
        ("rows", LogisticRegression(max_iter=1000)),
        ("pairs", GridSearchCV(RankNCG(), {"alpha": [0.01, 1.0, 100.0]}, scoring="roc_auc", cv=3)),
    ):
        scores = cross_val_score(make_pipeline(StandardScaler(), model), X, y, scoring="roc_auc")
        found[name] = float(scores.mean())
        print(f"AUC of a model of {name}: {found[name]:.4f}")
    return found


if __name__ == "__main__":
    main()
