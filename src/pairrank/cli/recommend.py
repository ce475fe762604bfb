"""pairrank recommend: from a file of ratings to ranked items that are new to their users."""

from __future__ import annotations

import csv
import time
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any

import typer
from rich.console import Console

from pairrank.cli import _options as options
from pairrank.cli._guard import complain
from pairrank.cli._interrupts import INTERRUPTED
from pairrank.cli._kernels import GammaOption, KernelOption, as_gamma, check_together
from pairrank.cli._models import MODELS, check_params, make_model, users_of
from pairrank.cli._report import print_facts, print_json
from pairrank.cli._rows import check_inputs, check_output, named
from pairrank.exceptions import PairrankError

_DEFAULT_MODEL = "rankrls"
_PARAMS = frozenset(["C", "alpha", "nu", "kernel", "gamma"])


class Impute(StrEnum):
    """What stands where a reference user has not rated an item."""

    median = "median"
    gaussian = "gaussian"
    gaussian_item = "gaussian-item"


class Duplicates(StrEnum):
    """What becomes of several ratings of one item by one user."""

    error = "error"
    mean = "mean"
    last = "last"


def recommend(
    ratings: Annotated[
        str,
        typer.Argument(metavar="RATINGS", help="A user, an item and a rating a line; - is stdin."),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="CSV", help="user,position,item,score; - is stdout."
        ),
    ] = "-",
    users: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES|@FILE",
            help="Whom to recommend to: names with commas between, or a file of a name a line; "
            "everyone if left out.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many items a user gets.")] = 10,
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="COLUMN", help="Name, or place from 1; user, else 1."),
    ] = None,
    item: Annotated[
        str | None,
        typer.Option("--item", metavar="COLUMN", help="Name, or place from 1; item, else 2."),
    ] = None,
    rating: Annotated[
        str | None,
        typer.Option("--rating", metavar="COLUMN", help="Name, or place from 1; rating, else 3."),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(help="Between columns, \\t for a tab; told by the first line if left out."),
    ] = None,
    duplicates: Annotated[
        Duplicates, typer.Option(help="Of several ratings of an item by a user: error, or which.")
    ] = Duplicates.error,
    model: Annotated[
        str,
        typer.Option(
            callback=options.one_of(MODELS),
            help=f"One of {', '.join(MODELS)}; -C, --alpha, --nu "
            "and rbf's --gamma suit the ratings if left out; poly takes them as in train.",
        ),
    ] = _DEFAULT_MODEL,
    cost: Annotated[
        float | None,
        typer.Option("-C", callback=options.positive, help=f"{users_of('C')}: weight of the loss."),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            callback=options.positive, help=f"{users_of('alpha')}: weight of the penalty."
        ),
    ] = None,
    nu: Annotated[
        float | None,
        typer.Option(callback=options.positive, help=f"{users_of('nu')}: weight of the loss."),
    ] = None,
    kernel: KernelOption = None,
    gamma: GammaOption = None,
    references: Annotated[
        int,
        typer.Option(
            min=2, help="An item's features: its ratings by so many users, those who rated most."
        ),
    ] = 300,
    min_support: Annotated[
        int, typer.Option(min=0, help="Items that fewer of them rated are not recommended.")
    ] = 5,
    impute: Annotated[
        Impute, typer.Option(help="What stands where one of them has not rated an item.")
    ] = Impute.median,
    jobs: Annotated[
        int | None, typer.Option(help="Processes; -1 is one a core, one if left out.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Draws what --impute gaussian draws.")] = 0,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Rank for each user the items of RATINGS that they have not rated; one ranker a user.

    Ctrl-C keeps the users that are done.
    """
    params = options.given(C=cost, alpha=alpha, nu=nu, kernel=kernel, gamma=gamma)
    check_params(model, params, offered=_PARAMS)
    check_together(params)
    if as_json and output == "-":
        raise typer.BadParameter("standard output takes the items or --json: name a file with -o.")
    if jobs == 0:
        raise typer.BadParameter("--jobs 0 would leave nobody to work: give 1 or more, or -1.")
    source_of_users = users.removeprefix("@") if users and users.startswith("@") else None
    check_inputs(ratings, source_of_users)
    check_output(output, ratings, source_of_users)
    wanted = names_of(users) if users is not None else None
    from pairrank.io import read_ratings
    from pairrank.recommend import RatingsTable
    from pairrank.recommend import recommend as recommended

    start = time.perf_counter()
    if separator is not None:
        separator = separator.replace("\\t", "\t")
    columns = read_ratings(ratings, user=user, item=item, rating=rating, separator=separator)
    with named(ratings), Progress(quiet=quiet) as progress:
        table = RatingsTable.build(columns, duplicates=duplicates.value)
        found = recommended(
            table,
            None if wanted is None else as_ids(wanted, table),
            top=top,
            ranker=ranker_of(model, params, table, references),
            n_references=references,
            min_support=min_support,
            impute=impute.value,
            random_state=seed,
            n_jobs=jobs,
            callback=progress,
        )
    if found.interrupted and not found.n_users:
        raise KeyboardInterrupt
    if not found.n_users:
        raise PairrankError(
            f"{ratings}: nothing to recommend: no user has two ratings that a ranker learns from "
            f"and an item left that {min_support} references rated; see --min-support"
        )
    write(found, output)
    summary = {
        "ratings": table.n_ratings,
        "users": table.n_users,
        "items": table.n_items,
        "users with recommendations": found.n_users,
        "users skipped": found.n_skipped,
        "recommendations": int(found.item.size),
        "seconds": time.perf_counter() - start,
    }
    if as_json:
        print_json(summary)
    elif not quiet:
        print_facts(f"Recommendations from {ratings}", summary, err=output == "-")
    if found.interrupted:
        n_users = found.n_users
        complain(f"interrupted: {output} holds the {n_users} users that were done.", kind="warning")
        raise typer.Exit(INTERRUPTED)


class Progress:
    """A bar on standard error, on a terminal; elsewhere nothing, as users are many."""

    def __init__(self, *, quiet: bool) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True)
        columns = (TextColumn("users"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        shown = console.is_terminal and not quiet
        self._bar = Bar(*columns, console=console, transient=True, disable=not shown)
        self._task = self._bar.add_task("users", total=None)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def __call__(self, n_done: int, n_users: int) -> None:
        """Show how many users are done."""
        self._bar.update(self._task, completed=n_done, total=n_users)


def ranker_of(model: str, params: dict[str, Any], table: Any, n_references: int) -> Any:
    """Return the ranker of the options, and where they say nothing, what suits the ratings."""
    from pairrank.recommend import suited_params

    kind = MODELS[model]
    suited = suited_params(
        table, n_references, kind.strength, differences=kind.differences,
        kernel=params.get("kernel"),
    )  # fmt: skip
    if "gamma" in params:
        params = {**params, "gamma": as_gamma(params["gamma"])}
    return make_model(model, {**suited, **params})


def names_of(users: str) -> list[str]:
    """Return the names that --users gives, or those in the file that it names.

    Raises
    ------
    PairrankError
        If there is no such file, or no name.
    """
    if users.startswith("@"):
        source = users[1:]
        if source == "-":
            text = typer.get_text_stream("stdin").read()
        else:
            text = Path(source).read_text(encoding="utf-8-sig")
        names = [line.strip() for line in text.splitlines()]
    else:
        names = [name.strip() for name in users.split(",")]
    names = [name for name in names if name]
    if not names:
        raise PairrankError("--users names nobody; leave it out for everyone")
    return names


def as_ids(names: list[str], table: Any) -> list[Any]:
    """Return names as the table has them, numbers where it has numbers.

    Raises
    ------
    PairrankError
        That names a user who is no number where all users are.
    """
    if table.user_ids.dtype.kind not in "iu":
        return names
    wrong = [name for name in names if not (name.isascii() and name.isdecimal())]
    if wrong:
        raise PairrankError(f"no ratings of user {wrong[0]}; all users are numbers")
    return [int(name) for name in names]


def write(found: Any, output: str) -> None:
    """Write recommendations as CSV, whole or not at all."""
    from pairrank.io import atomic_write

    columns = (found.user, found.position, found.item, found.score)
    with atomic_write(output, "w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("user", "position", "item", "score"))
        writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
