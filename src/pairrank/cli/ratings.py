"""pairrank ratings: rate named items from a file of comparisons, with intervals."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from pairrank.cli import _options as options
from pairrank.cli._errors import UsageError, named
from pairrank.cli._models import wrong_usage
from pairrank.cli._options import column
from pairrank.cli._output import print_lines, report
from pairrank.cli._rows import check_output
from pairrank.exceptions import PairrankError


def ratings(
    votes: Annotated[
        str,
        typer.Argument(
            metavar="VOTES", help="A comparison of two names per line: CSV or Parquet; - is stdin."
        ),
    ],
    *,
    winner: Annotated[str, column("The column of winners.")] = "winner",
    loser: Annotated[str, column("The column of losers.")] = "loser",
    tie: Annotated[str | None, column("The column that is 1 if neither won, else 0.")] = None,
    weight: Annotated[str | None, column("The column of weights.")] = None,
    group: Annotated[
        str | None, column("The column of voters; their votes may depend on one another.")
    ] = None,
    covariate: Annotated[
        list[str] | None,
        column(
            "A number that speaks for the winner, such as 1 at home and -1 away; may be repeated."
        ),
    ] = None,
    output: Annotated[
        str | None,
        options.output("Where to write all items; .parquet is Parquet; - is stdout.", "FILE"),
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    **params: Any,
) -> None:
    """Rate the items of VOTES by a Bradley-Terry model, and print them best first."""
    from pairrank.io import read_votes
    from pairrank.io.tables import write_columns
    from pairrank.ratings import BradleyTerry

    if output is not None:
        check_output(output, votes, as_json=as_json)
    start = time.perf_counter()
    columns = {"tie": tie, "weight": weight, "groups": group}
    if params.get("covariance") == "clusters" and group is None:
        raise UsageError("--covariance clusters needs the column of voters: use --group.")
    model = BradleyTerry(**params)
    with wrong_usage(params):
        model._check_parameters(group)
    read = read_votes(votes, winner=winner, loser=loser, covariates=covariate or (), **columns)
    with named(votes), wrong_usage(model.get_params(), PairrankError):
        model.fit(**read._asdict())
    if output is not None:
        write_columns(output, model.ranking_)
    summary = _summary(model, len(read.winner), time.perf_counter() - start)
    if as_json:
        rows = zip(*model.ranking_.values(), strict=True)
        summary["ranking"] = [dict(zip(model.ranking_, row, strict=True)) for row in rows]
    elif not quiet and output != "-":
        print_lines(str(model.ranking_))
    title = f"Ratings from {votes}"
    report(title, summary, output or "standard output", quiet=quiet, as_json=as_json)


def _summary(model: Any, n_votes: int, seconds: float) -> dict[str, Any]:
    """Return the facts of a fit, and the effects of covariates with their errors."""
    facts: dict[str, Any] = {"comparisons": n_votes, "items": model.items_.size}
    if model.ties != "half":
        facts[{"davidson": "nu", "rao-kupper": "theta"}[model.ties]] = model.tie_parameter_
    errors = getattr(model, "coef_standard_errors_", [None] * model.coef_.size)
    for name, effect, error in zip(model.covariate_names_, model.coef_, errors, strict=True):
        facts[f"effect of {name}"] = effect
        if error is not None:
            facts[f"standard error of {name}"] = error
    return {**facts, "log-likelihood": model.log_likelihood_, "seconds": seconds}
