"""The methods of Tables 3 and 4, each with the choice of its parameter on the training rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from sklearn.model_selection import GridSearchCV, StratifiedKFold

import pairrank
from pairrank import Kernel, RankBoost, RankNCG, RankNCGCV, RankSVM, RankSVMCV
from pairrank.metrics import wmw_score
from reproduction.protocols import (
    ExplicitPairs,
    Fold,
    seconds_of,
    with_ties,
    without_warnings,
)

ALPHAS = tuple(10.0**power for power in range(-3, 4))
"""The paper names no values of lambda."""

C_VALUES = tuple(10.0**power for power in range(-4, 3))

ROUNDS = 100
"""The paper boosts for 50 to 100 cycles, and trains RankNet for 500 to 1000 epochs."""

EPOCHS = 500

_PRODUCTS: dict[str, Any] = {"kernel": Kernel("poly", degree=2, gamma=1.0, coef0=1.0)}


class Method(NamedTuple):
    """How a method is made from its parameter, and how (X, y, seed) choose that, if anything."""

    make: Callable[[float], Any]
    choose: Callable[[Any, Any, int], float] | None = None

    def chosen(self, fold: Fold, seed: int) -> Any:
        """Return the estimator with its parameter, chosen on the training rows."""
        return self.make(0.0 if self.choose is None else self.choose(fold.X, fold.y, seed))


def choose_alpha(X: Any, y: Any, seed: int) -> float:
    """Return lambda by five folds of the training rows."""
    search = RankNCGCV(ALPHAS, reduction="sum", scoring="wmw", random_state=seed)
    return float(search.fit(X, y).alpha_)


def _choose_c(X: Any, y: Any, seed: int, **kernel: Any) -> float:
    search = RankSVMCV(C_VALUES, reduction="sum", scoring="wmw", random_state=seed, **kernel)
    return float(search.fit(X, y).C_)


def _choose_explicit_c(X: Any, y: Any, seed: int, degree: int = 1) -> float:
    """Return the C of the best mean WMW in five folds."""
    search = GridSearchCV(
        ExplicitPairs(loss="hinge", degree=degree),
        {"C": C_VALUES},
        scoring=lambda model, X, y: wmw_score(y, model.predict(X)),
        cv=StratifiedKFold(5, shuffle=True, random_state=seed),
        refit=False,
    )
    return float(search.fit(X, y).best_params_["C"])


def _rank_ncg(**options: Any) -> Callable[[float], Any]:
    return lambda alpha: RankNCG(alpha, reduction="sum", solver="ncg", **options)


def _rank_net(hidden: int) -> Callable[[float], Any]:
    return lambda _: pairrank.RankNet(hidden, alpha=0.0, max_iter=EPOCHS, random_state=0)


METHODS: dict[str, Method] = {
    "RankNCG direct": Method(_rank_ncg(pair_sum="direct"), choose_alpha),
    "RankNCG fast": Method(_rank_ncg(loss="raykar", pair_sum="beaulieu"), choose_alpha),
    "RankNCG boxes (ours)": Method(_rank_ncg(pair_sum="boxes"), choose_alpha),
    "RankNet linear": Method(_rank_net(0)),
    "RankNet two layer": Method(_rank_net(10)),
    "RankSVM linear, listed pairs": Method(
        lambda C: ExplicitPairs(C, loss="hinge"), _choose_explicit_c
    ),
    "RankSVM quadratic, listed pairs": Method(
        lambda C: ExplicitPairs(C, loss="hinge", degree=2),
        lambda X, y, seed: _choose_explicit_c(X, y, seed, 2),
    ),
    "RankSVM linear (ours)": Method(lambda C: RankSVM(C, reduction="sum"), _choose_c),
    "RankSVM quadratic (ours)": Method(
        lambda C: RankSVM(C, reduction="sum", **_PRODUCTS),
        lambda X, y, seed: _choose_c(X, y, seed, **_PRODUCTS),
    ),
    "RankBoost": Method(lambda _: RankBoost(ROUNDS, learning_rate=1.0)),
}
DIRECT, FAST, BOXES, NET, TWO_LAYER, LISTED, LISTED_QUADRATIC, _, QUADRATIC, BOOST = METHODS


def judge_folds(
    folds: Iterable[Fold], make: Callable[[Fold], Any], *attributes: str
) -> dict[str, list[float]]:
    """Return WMW, seconds of a fit, and attributes of the fitted model in each fold.

    `make` chooses parameters, which is not timed. The first fit is made twice, since it compiles.
    """
    found: dict[str, list[float]] = {name: [] for name in ("wmw", "seconds", *attributes)}
    with without_warnings():
        for fold in folds:
            model = make(fold)
            if not found["wmw"]:
                model.fit(fold.X, fold.y)
            found["seconds"].append(seconds_of(lambda: model.fit(fold.X, fold.y)))  # noqa: B023
            found["wmw"].append(wmw_of(model, fold))
            for name in attributes:
                found[name].append(float(getattr(model, name)))
    return found


def wmw_of(model: Any, fold: Fold) -> float:
    """Return WMW on the test rows; tied scores are right, as the paper defines it."""
    return float(wmw_score(fold.y_test, with_ties(model.predict(fold.X_test)), ties="correct"))
