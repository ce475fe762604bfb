"""pairrank ratings: rate named items from a file of comparisons, with intervals."""

from __future__ import annotations

import time as clock
from typing import Annotated, Any

import typer

from pairrank.cli import _options as options
from pairrank.cli._errors import UsageError, named
from pairrank.cli._models import in_flags
from pairrank.cli._options import choice, option, reader
from pairrank.cli._report import print_table, report
from pairrank.cli._rows import check_output
from pairrank.exceptions import PairrankError

_SHOWN = 30


def _column(help: str) -> Any:
    return option("Data", help, metavar="COLUMN")


def ratings(
    votes: Annotated[
        str,
        typer.Argument(
            metavar="VOTES", help="A comparison of two names per line: CSV or Parquet; - is stdin."
        ),
    ],
    *,
    winner: Annotated[str, _column("The column of winners.")] = "winner",
    loser: Annotated[str, _column("The column of losers.")] = "loser",
    tie: Annotated[str | None, _column("The column that is 1 if neither won, else 0.")] = None,
    weight: Annotated[str | None, _column("The column of weights.")] = None,
    group: Annotated[
        str | None, _column("The column of voters; their votes may depend on one another.")
    ] = None,
    time: Annotated[str | None, _column("The column of times: numbers or ISO dates.")] = None,
    covariate: Annotated[
        list[str] | None,
        option(
            "Data",
            "A number that speaks for the winner, such as 1 at home and -1 away; may be repeated.",
            metavar="COLUMN",
        ),
    ] = None,
    ties: Annotated[
        str,
        option("Model", "How ties count.", **choice("half", "davidson", "rao-kupper")),
    ] = "half",
    half_life: Annotated[
        float | None,
        option(
            "Model",
            "The age at which a comparison counts half; with dates in days.",
            metavar="NUMBER",
        ),
    ] = None,
    alpha: Annotated[
        float, option("Strength", "The penalty on squared scores; 0: none.", min=0.0)
    ] = 0.0,
    scale: Annotated[
        Any,
        option(
            "Output",
            "What scores are multiplied by; elo: 400 points are odds of 10 to 1.",
            parser=reader(("elo",), float),
            metavar="NUMBER|elo",
        ),
    ] = 1.0,
    anchor: Annotated[
        str | None,
        option(
            "Output",
            "The mean score, or the score of one item; 0 if left out, with elo 1000.",
            metavar="NUMBER|NAME=NUMBER",
        ),
    ] = None,
    covariance: Annotated[
        str,
        option(
            "Output",
            "What standard errors take as independent; none: no errors.",
            **choice("auto", "hessian", "robust", "clusters", "dyadic", "none"),
        ),
    ] = "auto",
    level: Annotated[float, option("Output", "The confidence level of intervals.")] = 0.95,
    output: Annotated[
        str | None,
        options.output("Where to write all items; .parquet is Parquet; - is stdout.", "FILE"),
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Rate the items of VOTES by a Bradley-Terry model, and print them best first."""
    from pairrank.io import read_votes
    from pairrank.io.tables import write_columns
    from pairrank.ratings import BradleyTerry

    if output is not None:
        check_output(output, votes, as_json=as_json)
    start = clock.perf_counter()
    columns = {"tie": tie, "weight": weight, "groups": group, "time": time}
    model = BradleyTerry(
        ties=ties,  # type: ignore[arg-type]
        alpha=alpha,
        half_life=half_life,
        scale=scale,
        anchor=_anchor(anchor),
        covariance=None if covariance == "none" else covariance,  # type: ignore[arg-type]
        level=level,
    )
    _check_options(model, columns)
    read = read_votes(
        votes,
        winner=winner,
        loser=loser,
        covariates=covariate or (),
        **columns,
    )
    with named(votes):
        try:
            model.fit(**read._asdict())
        except PairrankError as error:
            raise type(error)(in_flags(str(error), model.get_params())) from None
    if output is not None:
        write_columns(output, model.ranking_.columns)
    summary = _summary(model, len(read.winner), clock.perf_counter() - start)
    if as_json:
        names = list(model.ranking_)
        rows = zip(*model.ranking_.columns.values(), strict=True)
        summary["ranking"] = [dict(zip(names, row, strict=True)) for row in rows]
    elif not quiet and output != "-":
        _print_ranking(model.ranking_)
    title = f"Ratings from {votes}"
    report(title, summary, output or "standard output", quiet=quiet, as_json=as_json)


def _anchor(text: str | None) -> float | dict[str, float] | None:
    """Return the value of --anchor as `BradleyTerry` takes it."""
    if text is None:
        return None
    name, _, value = text.rpartition("=")
    try:
        return {name.strip(): float(value)} if name else float(value)
    except ValueError:
        raise UsageError(f"--anchor must be NUMBER or NAME=NUMBER (got {text!r}).") from None


def _check_options(model: Any, columns: dict[str, str | None]) -> None:
    """Refuse options that do not fit together, as wrong usage."""
    if (columns["time"] is None) != (model.half_life is None):
        raise UsageError("--time and --half-life need one another: give both or none.")
    try:
        model._check_parameters(columns["groups"])
    except PairrankError as error:
        text = in_flags(str(error), model.get_params()).replace("pass groups to fit", "use --group")
        raise UsageError(f"{text}.") from None


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


def _print_ranking(ranking: Any) -> None:
    """Print the first items of a ranking as a table; ranks as one range."""
    more = len(ranking) - _SHOWN
    title = f"The best {_SHOWN} of {len(ranking):,} items" if more > 0 else "All items"
    rows = [dict(zip(ranking, cells, strict=True)) for cells in ranking.cells(_SHOWN)]
    for row in rows:
        if "rank_low" in row:
            row["ranks"] = f"{row.pop('rank_low')}-{row.pop('rank_high')}"
            row["n"] = row.pop("n")
    names = [name.replace("standard_", "") for name in rows[0]]
    print_table(title, names, (row.values() for row in rows))
