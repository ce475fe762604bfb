"""Methods of Cortes et al. on ratings: chosen on held-out reviewers, judged on others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from pairrank import Kernel, MPRank, RankBoost, SVRank
from reproduction.data import load
from reproduction.data.made import make_ratings
from reproduction.data.ratings import ratings_table, restricted
from reproduction.users import METRICS, PROTOCOLS, Protocol, evaluate_users, user_metrics

N_REPEATS, N_USERS, N_REFERENCES, N_HELD = 10, 300, 300, 60
ACTIVITY = (50, 300)
GENERATED = "generated"


class Method(NamedTuple):
    """A method of the tables: an estimator by its parameters, and the metric that chooses them."""

    make: Callable[..., Any]
    cost: str
    grid: Mapping[str, tuple[Any, ...]]


MP, SV, BOOST = "MPRank", "SVRank", "RankBoost"
RIDGE, KERNEL_RIDGE, CONSTANT = "ridge", "kernel ridge", "one score for all"


def methods(size: float, deviation: float) -> dict[str, Method]:
    """Return the methods, with grids in the units of the data.

    `size` is the number of references times the variance of ratings, `deviation` its root.
    """
    widths = tuple(one / size for one in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0))
    return {
        MP: Method(
            lambda gamma, **params: MPRank(kernel=Kernel("rbf", gamma=gamma), **params),
            "msd",
            {"gamma": widths, "C": (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)},
        ),
        SV: Method(
            lambda gamma, **params: SVRank(
                kernel=Kernel("rbf", gamma=gamma), n=1, tol=1e-3, **params
            ),
            "m1d",
            {
                "gamma": widths[1:5],
                "C": tuple(deviation * one for one in (1.0, 5.0, 25.0, 125.0)),
                "epsilon": (0.1 * deviation, 0.5 * deviation),
            },
        ),
        BOOST: Method(
            partial(RankBoost, learning_rate=1.0),
            "misranking",
            {"n_estimators": (10, 30, 100, 300)},
        ),
        RIDGE: Method(
            Ridge, "msd", {"alpha": tuple(size * one for one in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0))}
        ),
        KERNEL_RIDGE: Method(
            lambda **params: KernelRidge(kernel="rbf", **params),
            "msd",
            {"gamma": widths, "alpha": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)},
        ),
        CONSTANT: Method(DummyRegressor, "msd", {}),
    }


@cache
def ratings_of(dataset: str) -> Any:
    """Return a table of ratings, or a generated one."""
    if dataset == GENERATED:
        return ratings_table(*make_ratings(60, 100, density=0.4, random_state=0))
    return load(dataset)


def judge(
    *,
    dataset: str,
    group: tuple[int, int],
    method: str,
    n_repeats: int = N_REPEATS,
    n_users: int = N_USERS,
    n_references: int = N_REFERENCES,
    n_held: int = N_HELD,
    activity: tuple[int, int] = ACTIVITY,
    seed: int = 0,
) -> dict[str, Any]:
    """Return each draw's metrics, means over the test reviewers, at the chosen parameters.

    Parameters are chosen on held-out reviewers, who leave the data. References are drawn once per
    draw from the reviewers with a number of ratings in `group`.
    """
    table = ratings_of(dataset)
    protocol = replace(
        PROTOCOLS["cortes"],
        group=group,
        n_references=n_references,
        n_users=n_users,
        activity=activity,
    )
    counts = table.groupby("user").size()
    able = counts.index[counts.between(*activity)]
    held = np.random.default_rng([seed, 1]).choice(able, n_held, replace=False)
    tune = replace(protocol, users=held.tolist(), n_users=None)
    estimator, chosen = tuned(method, tune, table, n_references)
    rest = table[~table["user"].isin(held)]
    draws = [
        evaluate_users(protocol.draw(rest, 100 + repeat), estimator) for repeat in range(n_repeats)
    ]
    return {metric: [draw[metric] for draw in draws] for metric in METRICS} | {"chosen": chosen}


def books(*, dataset: str, method: str, rule: Mapping[str, Any], seed: int = 0) -> dict[str, Any]:
    """Return each reviewer's metrics, all others referring; a quarter of them is held out."""
    table = ratings_of(dataset)
    counts = restricted(table, **rule).groupby("user").size()
    able = np.random.default_rng([seed, 1]).permutation(counts.index[counts >= 4])
    held, rest = able[: able.size // 4], np.sort(able[able.size // 4 :])
    protocol = replace(PROTOCOLS["leave-one-out"], **rule)
    tune = replace(protocol, users=held.tolist())
    estimator, chosen = tuned(method, tune, table, counts.size - 1)
    problems = replace(protocol, users=rest.tolist()).draw(table, 100)
    return user_metrics(problems, estimator) | {"chosen": chosen}


def tuned(method: str, protocol: Protocol, table: Any, n_references: int) -> tuple[Any, str]:
    """Return the estimator of the least cost on the held-out reviewers, and its parameters."""
    variance = float(table["rating"].var(ddof=0))
    how = methods(n_references * variance, variance**0.5)[method]
    tried = [
        dict(zip(how.grid, values, strict=True)) for values in itertools.product(*how.grid.values())
    ]
    costs = [0.0]
    if len(tried) > 1:
        problems = protocol.draw(table, 2)
        costs = [evaluate_users(problems, how.make(**params))[how.cost] for params in tried]
    best = tried[int(np.argmin(costs))]
    return how.make(**best), ", ".join(f"{name} {value:.3g}" for name, value in best.items())
