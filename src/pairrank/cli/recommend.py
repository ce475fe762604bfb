"""pairrank recommend: rank the items of a ratings file that are new to each user."""

from __future__ import annotations

import csv
import time
from typing import Annotated, Any

import typer

from pairrank.cli import _options as options
from pairrank.cli._errors import UsageError, named, print_message
from pairrank.cli._models import MODELS, learns_differences, make_ranker
from pairrank.cli._options import choice, option
from pairrank.cli._process import interrupted_code
from pairrank.cli._progress import Progress
from pairrank.cli._report import report
from pairrank.cli._rows import check_inputs, check_output, names_in
from pairrank.exceptions import PairrankError


def _column(help: str) -> Any:
    return option("Data", help, metavar="COLUMN")


def recommend(
    ratings: Annotated[
        str,
        typer.Argument(
            metavar="RATINGS", help="A user, an item and a rating per line; - is stdin."
        ),
    ],
    *,
    users: Annotated[
        str | None,
        option(
            "Data",
            "The users to recommend to: names separated by commas, or a file of one name per "
            "line; everyone if left out.",
            metavar="NAMES|@FILE",
        ),
    ] = None,
    user: Annotated[str | None, _column("Name, or place from 1; user, else 1.")] = None,
    item: Annotated[str | None, _column("Name, or place from 1; item, else 2.")] = None,
    rating: Annotated[str | None, _column("Name, or place from 1; rating, else 3.")] = None,
    separator: Annotated[
        str | None,
        option(
            "Data",
            "The text between columns, \\t for a tab; found from the first line if left out.",
        ),
    ] = None,
    duplicates: Annotated[
        str,
        option(
            "Data",
            "How to treat repeated ratings of an item by a user.",
            **choice("error", "mean", "last"),
        ),
    ] = "error",
    titles: Annotated[
        str | None,
        option(
            "Data",
            "A file of an item and its title per line; the output has a column of titles.",
            metavar="FILE",
        ),
    ] = None,
    baseline: Annotated[
        str,
        option(
            "Model",
            "What the user's ranker starts from: the mean rating of each item, or nothing.",
            **choice("item-mean", "none"),
        ),
    ] = "item-mean",
    model: Annotated[
        str,
        option(
            "Model",
            "The model; its strength and rbf's --gamma are chosen from the ratings if left out; "
            "poly takes them as in train.",
            **choice(*MODELS),
        ),
    ] = "rankrls",
    references: Annotated[
        int,
        option(
            "Model",
            "An item's features are its ratings by this many users, those who rated most.",
            min=2,
        ),
    ] = 300,
    impute: Annotated[
        str,
        option(
            "Model",
            "What replaces a missing rating of a reference user; missing: nothing, for rankboost.",
            **choice("median", "gaussian", "gaussian-item", "missing"),
        ),
    ] = "median",
    seed: Annotated[int, option("Model", "The seed of --impute gaussian.", min=0)] = 0,
    jobs: Annotated[
        int | None, option("Solver", "Processes; -1: one per core; 1 if left out.")
    ] = None,
    output: Annotated[
        str, options.output("user,position,item,title,score; - is stdout.", "CSV")
    ] = "-",
    top: Annotated[int, option("Output", "How many items per user.", min=1)] = 10,
    min_support: Annotated[
        int,
        option("Output", "Items rated by fewer reference users are not recommended.", min=0),
    ] = 5,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    **params: Any,
) -> None:
    """Rank for each user the items of RATINGS that they have not rated; one ranker per user.

    Ctrl-C keeps the users that are finished.
    """  # fmt: skip
    make_ranker(model, params)
    if jobs == 0:
        raise UsageError("--jobs must be 1 or more, or -1 for one per core (got 0).")
    source_of_users = users.removeprefix("@") if users and users.startswith("@") else None
    check_inputs(ratings, source_of_users, titles)
    check_output(output, ratings, source_of_users, titles, as_json=as_json)
    wanted = names_in(users, "--users") if users is not None else None
    from pairrank.io import read_ratings
    from pairrank.io.ratings import read_titles
    from pairrank.recommend import RatingsTable
    from pairrank.recommend import recommend as recommended

    start = time.perf_counter()
    if separator is not None:
        separator = separator.replace("\\t", "\t")
    named_titles = None if titles is None else read_titles(titles)
    read = read_ratings(ratings, user=user, item=item, rating=rating, separator=separator)
    with named(ratings), Progress(quiet=quiet) as progress:
        table = RatingsTable.build(read, duplicates=duplicates)
        found = recommended(
            table,
            None if wanted is None else as_ids(wanted, table),
            top=top,
            ranker=ranker_of(model, params, table, references),
            baseline=None if baseline == "none" else baseline,
            n_references=references,
            min_support=min_support,
            titles=named_titles,
            impute=impute,
            random_state=seed,
            n_jobs=jobs,
            callback=progress.count,
        )
    if found.interrupted and not found.n_users:
        raise KeyboardInterrupt
    if not found.n_users:
        raise PairrankError(
            f"{ratings}: nothing to recommend: no user has two ratings that a ranker learns from "
            f"and an item left that {min_support} references rated; see --min-support"
        )
    write(found, output)
    if found.interrupted:
        kept = f"{output} holds the {found.n_users} users that were done."
        print_message(f"interrupted: {kept}", kind="warning")
    summary = {
        "ratings": table.n_ratings,
        "users": table.n_users,
        "items": table.n_items,
        "users with recommendations": found.n_users,
        "users skipped": len(found.skipped),
        "recommendations": int(found.item.size),
        "seconds": time.perf_counter() - start,
    }
    title = f"Recommendations from {ratings}"
    report(title, summary, output, quiet=quiet, as_json=as_json)
    if found.interrupted:
        raise typer.Exit(interrupted_code())


vars(recommend)["OFFERED"] = frozenset(["C", "alpha", "nu", "n_estimators", "kernel", "gamma"])
"""The parameters of a model that recommend takes; others are chosen from the ratings."""


def ranker_of(model: str, params: dict[str, Any], table: Any, n_references: int) -> Any:
    """Return the ranker with the given options, and others chosen from the ratings."""
    from pairrank.recommend import suited_params

    strength = MODELS[model].strength
    if strength == "n_estimators":
        return make_ranker(model, params)
    suited = suited_params(
        table,
        n_references,
        strength,
        differences=learns_differences(MODELS[model].type()),
        kernel=params.get("kernel"),
    )
    return make_ranker(model, {**suited, **params})


def as_ids(names: list[str], table: Any) -> list[Any]:
    """Return names as the table has them: integers if all its users are integers."""
    if table.user_ids.dtype.kind not in "iu":
        return names
    wrong = [name for name in names if not (name.isascii() and name.isdecimal())]
    if wrong:
        raise PairrankError(f"no ratings of user {wrong[0]}; all users are numbers")
    return [int(name) for name in names]


def write(found: Any, output: str) -> None:
    """Write recommendations as CSV in one atomic write."""
    from pairrank.io._atomic import atomic_write

    columns = found.to_dict()
    with atomic_write(output, "w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
