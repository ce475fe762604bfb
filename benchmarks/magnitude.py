"""Cortes' Tables 1 and 2 and Raykar's Table 2: collaborative filtering, one ranker per user.

Cortes, Mohri and Rastogi: reference reviewers come from a group by activity, 300 test reviewers
have 50 to 300 ratings, half of which are to learn from; ten draws, of whose means the mean and the
standard deviation are shown. Kernels are Gaussian. Width, C and epsilon are chosen on held-out test
reviewers of the middle group, each method by its own cost (SVRank by M1D, the others by MSD), then
fixed, and those reviewers leave the data. Misranking is Eq. 32, in which a tied score is wrong. A
constant score stands beside them: it keeps no difference, and its MSD is what there is to explain.
Raykar, Duraiswami and Krishnapuram: d random users are the features of 100 others, 70 % to learn
from; its text leaves open of what a gap's Gaussian takes its moments, and who the users are: active
ones have 200 ratings, references too. Data are read where PAIRRANK_DATA names their folder; a set
that is not there is left out.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import _harness as harness
from reproduction.data import DatasetNotFoundError

GROUPS = ((20, 40), (40, 60), (60, 80))
ACTIVE = 200
SHOWN = ("msd", "m1d", "misranking")
PAPER = {
    "MovieLens 20-40": {
        "MPRank": "2.01 ± 0.02 / 1.04 ± 0.05",
        "SVRank": "2.43 ± 0.13 / 1.17 ± 0.03",
    },
    "MovieLens 40-60": {
        "MPRank": "2.02 ± 0.06 / 1.04 ± 0.02 / 0.471 ± 0.005",
        "SVRank": "2.36 ± 0.16 / 1.15 ± 0.07",
    },
    "MovieLens 60-80": {
        "MPRank": "2.07 ± 0.05 / 1.06 ± 0.01 / 0.442 ± 0.005",
        "SVRank": "2.66 ± 0.09 / 1.24 ± 0.02",
    },
    "Jester 20-40": {
        "MPRank": "51.34 ± 2.90 / 5.08 ± 0.15 / 0.414 ± 0.005",
        "SVRank": "55.00 ± 5.14 / 5.40 ± 0.20",
    },
    "Jester 40-60": {
        "MPRank": "46.77 ± 2.03 / 4.98 ± 0.13 / 0.418 ± 0.007",
        "SVRank": "57.75 ± 5.14 / 5.27 ± 0.20",
    },
    "Jester 60-80": {
        "MPRank": "49.33 ± 3.11 / 4.88 ± 0.14 / 0.400 ± 0.017",
        "SVRank": "56.06 ± 4.26 / 5.25 ± 0.19",
    },
    "Books": {"MPRank": "4.00 ± 3.12 / 1.38 ± 0.60", "SVRank": "3.64 ± 3.04 / 1.32 ± 0.56"},
}  # fmt: skip
PAPER_WMW = {
    50: "0.693 ± 0.054", 100: "0.707 ± 0.049", 200: "0.722 ± 0.053", 400: "0.720 ± 0.054",
    800: "0.721 ± 0.050", 1600: "0.719 ± 0.053",
}  # fmt: skip
NOTES = {
    "Jester": "the paper has 73,496 users, here are the first 24,983",
    "Books": "the paper has 131 reviewers and 89 books of the whole Book-Crossing (200 ratings a "
    "reviewer, then 10 a book); of the part that is here, 20 and 3 leave about as many reviewers, "
    "a quarter of whom is tuned on",
    "MovieLens 100K": "the paper's set is MovieLens 1M",
}


class Method(NamedTuple):
    """A method of the tables: what makes it, what it is tuned by, and over what."""

    make: Callable[..., Any]
    cost: str
    grid: dict[str, tuple[float, ...]]


def methods(size: float, deviation: float) -> dict[str, Method]:
    """Return the methods, their grids in the units of the data.

    `size` is the number of references times the variance of ratings, `deviation` its root.
    """
    from sklearn.dummy import DummyRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import Ridge

    from pairrank import MPRank, SVRank

    widths = tuple(one / size for one in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0))
    costs = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
    return {
        "MPRank": Method(
            lambda **params: MPRank(kernel="rbf", **params), "msd", {"gamma": widths, "C": costs}
        ),
        "SVRank": Method(
            lambda **params: SVRank(kernel="rbf", n=1, tol=1e-3, **params), "m1d",
            {
                "gamma": widths[1:5],
                "C": tuple(deviation * cost for cost in (1.0, 5.0, 25.0, 125.0)),
                "epsilon": (0.1 * deviation, 0.5 * deviation),
            },
        ),
        "kernel ridge": Method(
            lambda **params: KernelRidge(kernel="rbf", **params), "msd",
            {"gamma": widths, "alpha": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)},
        ),
        "ridge": Method(
            lambda **params: Ridge(**params), "msd",
            {"alpha": tuple(size * one for one in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0))},
        ),
        "constant": Method(lambda: DummyRegressor(), "msd", {}),
    }  # fmt: skip


class Study(NamedTuple):
    """One line of the tables: a table of ratings, and protocols to tune and to judge by."""

    name: str
    tune: Any
    tune_table: Any
    judge: Any
    judge_table: Any
    n_references: int


def cortes_studies(name: str, ratings: Any, options: Any) -> list[Study]:
    """Return the three groups of a data set; held-out reviewers are left out of the judged data."""
    from pairrank.recommend import PROTOCOLS, RatingsTable

    table = RatingsTable.build(ratings)
    active = np.flatnonzero((table.counts >= 50) & (table.counts <= 300))
    held = np.random.default_rng(1).choice(active, options.tune_users, replace=False)
    rest = ~np.isin(np.repeat(np.arange(table.n_users), table.counts), held)
    users = np.repeat(table.user_ids, table.counts)
    judged = RatingsTable.build((users[rest], table.item_ids[table.item][rest], table.rating[rest]))
    cortes = replace(PROTOCOLS["cortes"], n_references=options.references, n_users=options.users)
    tune = replace(cortes, group=GROUPS[1], users=table.user_ids[held].tolist())
    return [
        Study(
            f"{name} {group[0]}-{group[1]}", tune, table,
            replace(cortes, group=group), judged, options.references,
        )
        for group in GROUPS
    ]  # fmt: skip


def books_studies(ratings: Any, options: Any) -> list[Study]:
    """Return the leave-one-out study; a quarter of the reviewers, at random, is to tune on."""
    from pairrank.recommend import PROTOCOLS, RatingsTable

    table = RatingsTable.build(ratings, duplicates="mean")
    rule = {"min_user_ratings": 20, "min_item_ratings": 3}
    left = table.restricted(**rule)
    able = np.random.default_rng(1).permutation(left.user_ids[left.counts >= 4])
    held, rest = able[: able.size // 4], able[able.size // 4 :]
    tune, judge = (
        replace(PROTOCOLS["leave-one-out"], **rule, users=names.tolist())
        for names in (held, np.sort(rest))
    )
    print(f"\nBooks: {left.n_users} reviewers, {left.n_items} books, {left.n_ratings} ratings")
    return [Study("Books", tune, table, judge, table, left.n_users - 1)]


def tuned(method: Method, problems: Any, jobs: int) -> tuple[dict[str, float], Any]:
    """Return the parameters of the least cost on the held-out reviewers, and the estimator."""
    from pairrank.recommend import evaluate_users

    tried = [
        dict(zip(method.grid, values, strict=True))
        for values in itertools.product(*method.grid.values())
    ]
    if len(tried) == 1:
        return {}, method.make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        costs = [
            evaluate_users(problems, method.make(**params), n_jobs=jobs).mean(method.cost)
            for params in tried
        ]
    best = tried[int(np.argmin(costs))]
    return best, method.make(**best)


def drawn(protocol: Any, table: Any, seed: int) -> Any:
    """Return a draw without the users whose training ratings are all equal: no pair to learn."""
    problems = protocol.draw(table, random_state=seed)
    ratings = problems.table.ratings_of
    tasks = [task for task in problems.tasks if np.ptp(ratings(task.user)[task.train]) > 0.0]
    return replace(problems, tasks=tasks)


def table_1(studies: list[Study], options: Any) -> Iterator[list[Any]]:
    """Yield every method on every study: the three measures beside the paper's."""
    from pairrank.recommend import evaluate_users

    first = studies[0]
    problems = drawn(first.tune, first.tune_table, 2)
    variance = float(first.tune_table.rating.var())
    made = {
        name: tuned(method, problems, options.jobs)
        for name, method in methods(first.n_references * variance, variance**0.5).items()
    }
    for study in studies:
        judged: dict[str, list[Any]] = {name: [] for name in made}
        for seed in range(options.repeat):
            problems = drawn(study.judge, study.judge_table, 100 + seed)
            for name, (_, estimator) in made.items():
                judged[name].append(evaluate_users(problems, estimator, n_jobs=options.jobs))
        for name, (params, _) in made.items():
            shown = ", ".join(f"{key} {value:.3g}" for key, value in params.items()) or "-"
            milliseconds = 1e3 * float(np.median(np.concatenate([e.seconds for e in judged[name]])))
            yield [
                study.name, name, shown,
                *(figures(judged[name], metric, by_user=study.name == "Books") for metric in SHOWN),
                milliseconds, PAPER.get(study.name, {}).get(name, "-"),
            ]  # fmt: skip


def figures(judged: list[Any], metric: str, *, by_user: bool) -> str:
    """Return mean ± standard deviation of the draws' means, or of users, as the papers have it."""
    means = np.array([evaluation.mean(metric) for evaluation in judged])
    spread = (
        np.mean([evaluation.spread(metric) for evaluation in judged])
        if by_user
        else means.std(ddof=1) if means.size > 1 else np.nan
    )  # fmt: skip
    digits = 3 if metric == "misranking" else 2
    return f"{means.mean():.{digits}f} ± {spread:.{digits}f}"


def raykar_table_2(ratings: Any, options: Any) -> Iterator[list[Any]]:
    """Yield RankNCG on d random users' ratings, by either reading of the imputation."""
    from pairrank import RankNCG
    from pairrank.recommend import PROTOCOLS, RatingsTable, evaluate_users, suited_params

    table = RatingsTable.build(ratings)
    busy = table.restricted(min_user_ratings=ACTIVE)
    n_users = min(100, options.users)
    for d, theirs in PAPER_WMW.items():
        row: list[Any] = [d]
        taken: list[float] = []
        for users, impute in (
            (table, "gaussian"),
            (table, "gaussian-item"),
            (busy, "gaussian-item"),
        ):
            if d + n_users > users.n_users:
                row.append("too few users")
                continue
            suited = suited_params(users, d, "alpha", differences=False)
            changes = {"n_references": d, "n_users": n_users, "impute": impute}
            problems = replace(PROTOCOLS["raykar"], **changes).draw(users, random_state=0)
            found = evaluate_users(problems, RankNCG(**suited), n_jobs=options.jobs)
            row.append(f"{found.mean('wmw'):.3f} ± {found.spread('wmw'):.3f}")
            taken.extend(found.seconds)
        yield [*row, theirs, float(np.median(taken)) if taken else "-", "0.41 to 0.51"]


def options_of() -> argparse.Namespace:
    """Return the command line's options, --quick filled in."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="MovieLens 100K, few users and draws")
    parser.add_argument("--only", choices=["movielens", "jester", "books", "raykar"])
    parser.add_argument("--users", type=int, help="test reviewers a draw; 300")
    parser.add_argument("--repeat", type=int, help="draws; 10")
    parser.add_argument("--references", type=int, help="reference reviewers; 300")
    parser.add_argument("--tune-users", type=int, help="held-out reviewers to tune on; 60")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; one a core")
    options = parser.parse_args()
    full = {"users": 300, "repeat": 10, "references": 300, "tune_users": 60}
    small = {"users": 40, "repeat": 3, "references": 50, "tune_users": 20}
    for name, value in (small if options.quick else full).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    return options


def main() -> None:
    """Print every table as Markdown."""
    options = options_of()
    limits = harness.one_thread()
    print("## Magnitude-preserving ranking and collaborative filtering\n")
    print(harness.header())
    start = time.perf_counter()
    movies = ("ml-100k", "MovieLens 100K") if options.quick else ("ml-1m", "MovieLens")
    runs = {
        "movielens": (movies[0], lambda ratings: cortes_studies(movies[1], ratings, options)),
        "jester": ("jester", lambda ratings: cortes_studies("Jester", ratings, options)),
        "books": ("book_crossing_partial", lambda ratings: books_studies(ratings, options)),
    }
    columns = ["data", "method", "chosen", "MSD", "M1D", "misranking", "median fit ms"]
    columns += ["paper: MSD / M1D / misranking"]
    for name, (dataset, studies) in runs.items():
        ratings = loaded(dataset) if options.only in (None, name) else None
        if ratings is not None:
            listed = studies(ratings)
            print(f"\n### Cortes' protocol: {listed[0].name.split(' 20')[0]}\n")
            print(harness.table(columns, table_1(listed, options)))
            note = NOTES.get(listed[0].name.removesuffix(" 20-40"))
            print(f"\n({note})" if note else "")
    ratings = loaded(movies[0]) if options.only in (None, "raykar") else None
    if ratings is not None:
        print(f"\n### Raykar's Table 2: RankNCG on {movies[1]}\n")
        columns = ["d", "WMW, gaps by reference user", "gaps by film", "of active users"]
        columns += ["paper's WMW", "fit s", "paper's fit s"]
        print(harness.table(columns, raykar_table_2(ratings, options)))
    print(f"\n{time.perf_counter() - start:.0f} s in all, {options.jobs} processes (-1: all cores)")
    limits.restore_original_limits()


def loaded(name: str) -> Any:
    """Return a ratings table; None, with a word, where it is not there."""
    from reproduction.data import load_ratings

    try:
        return load_ratings(name)
    except DatasetNotFoundError as absence:
        print(f"\n{name} left out: {absence}")
        return None


if __name__ == "__main__":
    main()
