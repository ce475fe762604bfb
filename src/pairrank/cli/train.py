"""pairrank train: from a file of rows to a model file."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from pairrank._protocols import Status
from pairrank.cli import _kernels as kernels
from pairrank.cli import _options as options
from pairrank.cli._graphs import graph_of
from pairrank.cli._guard import complain
from pairrank.cli._interrupts import INTERRUPTED
from pairrank.cli._judging import Judging
from pairrank.cli._metrics import METRICS, measure
from pairrank.cli._models import MODELS, check_params, make_model, users_of
from pairrank.cli._report import Progress, print_facts, print_json
from pairrank.cli._rows import (
    Columns,
    check_inputs,
    check_output,
    facts_of,
    learnt_from,
    load_rows,
)
from pairrank.cli._search import search_strength
from pairrank.cli._summary import summarise
from pairrank.cli._usage import check_usage, stops_early

if TYPE_CHECKING:
    from pairrank.io import Rows


def train(
    data: options.Data,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="The model file; - is stdout.")
    ],
    model: Annotated[
        str, typer.Option(callback=options.one_of(MODELS), help=f"One of {', '.join(MODELS)}.")
    ] = "ranksvm",
    cost: Annotated[
        float | None,
        typer.Option(
            "-C",
            callback=options.positive,
            help=f"{users_of('C')}: weight of the loss against the penalty; 1 if left out.",
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            callback=options.positive,
            help=f"{users_of('alpha')}: weight of the penalty on |w|^2; 1 if left out.",
        ),
    ] = None,
    nu: Annotated[
        float | None,
        typer.Option(
            callback=options.positive,
            help=f"{users_of('nu')}: cost of a row outside its class's limits; 1 if left out.",
        ),
    ] = None,
    power: Annotated[
        int | None,
        typer.Option(
            "--n",
            min=1,
            max=2,
            help=f"{users_of('n')}: power of a difference's error; 2, of svrank 1, if left out.",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            callback=options.not_negative,
            help=f"{users_of('epsilon')}: error of a difference that is free; 0.1 if left out.",
        ),
    ] = None,
    regularization: Annotated[
        options.Regularization | None,
        typer.Option(
            help=f"{users_of('regularization')}: tikhonov (default) by --alpha; iteration stops by "
            "the --valid rows, or by some it keeps back; hybrid is both."
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"{users_of('patience')}: steps no better, in a row, to stop; 10 if left out.",
        ),
    ] = None,
    pairs: options.PairsOption = None,
    graph: options.GraphOption = None,
    reduction: options.ReductionOption = None,
    kernel: kernels.KernelOption = None,
    gamma: kernels.GammaOption = None,
    degree: kernels.DegreeOption = None,
    coef0: kernels.Coef0Option = None,
    kernel_features: kernels.FeaturesOption = None,
    components: kernels.ComponentsOption = None,
    regularizer: kernels.RegularizerOption = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="What a pair costs: of ranksvm squared_hinge (default) or hinge, of rankncg "
            "logistic (default), probit or raykar."
        ),
    ] = None,
    eps: Annotated[
        float | None,
        typer.Option(
            callback=options.fraction,
            help=f"{users_of('eps')}: error of the sums over pairs, relative; 1e-6 if left out.",
        ),
    ] = None,
    pair_sum: Annotated[
        str | None, typer.Option(help="How pairs are summed; auto if left out.")
    ] = None,
    solver: Annotated[
        str | None, typer.Option(help="What minimises the loss; auto if left out.")
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(
            callback=options.positive, help="Relative gradient, or duality gap, at which to stop."
        ),
    ] = None,
    max_iter: Annotated[int | None, typer.Option(min=1, help="At most so many steps.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of whatever is drawn.")] = None,
    valid: Annotated[
        str | None, typer.Option(metavar="FILE", help="Validation rows, measured by --metric.")
    ] = None,
    valid_pairs: Annotated[
        str | None, typer.Option(metavar="FILE", help="Comparisons of the --valid rows.")
    ] = None,
    metric: Annotated[
        str, typer.Option(callback=options.one_of(METRICS), help=f"One of {', '.join(METRICS)}.")
    ] = "pairwise_accuracy",
    search: Annotated[
        bool,
        typer.Option("--search", help="Pick the model's -C, --alpha or --nu on the --valid rows."),
    ] = False,
    label: options.Label = "label",
    qid: options.Qid = None,
    weight: options.Weight = None,
    drop: options.Drop = None,
    data_format: options.FormatOption = options.Format.auto,
    dtype: options.DtypeOption = options.Dtype.float64,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Learn a ranking function from the rows of DATA and write it to MODEL.

    Ctrl-C ends the descent and keeps the best weights so far.
    """
    params = options.given(
        C=cost, alpha=alpha, graph=graph, reduction=reduction, loss=loss, eps=eps,
        pair_sum=pair_sum, solver=solver, tol=tol, max_iter=max_iter, random_state=seed,
        regularization=regularization, patience=patience, nu=nu, regularizer=regularizer,
        kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, kernel_features=kernel_features,
        n_components=components, n=power, epsilon=epsilon,
    )  # fmt: skip
    judging = Judging(metric, valid, valid_pairs)
    check_params(model, params)
    check_usage(model, params, pairs, judging, search=search)
    if as_json and output == "-":
        raise typer.BadParameter("standard output takes the model or --json: name a file with -o.")
    check_inputs(data, pairs, valid, valid_pairs)
    check_output(output, data, pairs, valid, valid_pairs)
    columns = Columns(label, qid, weight, drop or (), format=data_format.value, dtype=dtype.value)
    rows = load_rows(data, columns, pairs=pairs)
    order = graph_of(graph or MODELS[model].graph, rows.y)
    learnt = learnt_from(rows, order, pairs or data, differences=MODELS[model].differences)
    facts = facts_of(rows, learnt)
    valid_rows = judging.load_rows(rows, columns, order)
    stopping = validation_of(valid_rows) if stops_early(params) else {}
    ranker = make_model(model, as_parameters(params, order))
    start = time.perf_counter()
    with Progress(quiet=quiet, n_pairs=facts["n_pairs"]) as progress, quiet_interrupt():
        if search and valid_rows is not None:
            ranker, whole = search_strength(
                model, ranker, rows, valid_rows, metric, order, progress, **stopping
            )
        else:
            routed = {"qid": rows.qid, "sample_weight": rows.weight, **stopping}
            ranker.fit(rows.X, rows.y, **routed, callback=progress)
            whole = ranker.status_ != Status.INTERRUPTED.name.lower()
    summary = summarise(model, ranker, facts, time.perf_counter() - start)
    if valid_rows is not None:
        summary[f"valid {metric}"] = measure(
            metric, valid_rows, ranker.predict(valid_rows.X), order
        )
    save(ranker, rows, output)
    report(summary, output, quiet=quiet, as_json=as_json)
    if not whole:
        complain(f"interrupted: {output} holds the best weights so far.", kind="warning")
        raise typer.Exit(INTERRUPTED)


def validation_of(rows: Rows | None) -> dict[str, Any]:
    """Return the arguments of a fit that validation rows are; none where it is to draw its own."""
    if rows is None:
        return {}
    return {
        "X_val": rows.X, "y_val": rows.y, "qid_val": rows.qid, "sample_weight_val": rows.weight,
    }  # fmt: skip


def as_parameters(given: dict[str, Any], graph: Any) -> dict[str, Any]:
    """Return options as the estimator takes them."""
    params = dict(given)
    if "graph" in params:
        params["graph"] = graph
    for name in ("reduction", "regularization", "regularizer"):
        if name in params:
            params[name] = params[name].value
    if "gamma" in params:
        params["gamma"] = kernels.as_gamma(params["gamma"])
    return params


@contextmanager
def quiet_interrupt() -> Iterator[None]:
    """Leave it to us to tell that Ctrl-C ended a fit, once the model is written."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=re.escape(Status.INTERRUPTED.value))
        yield


def save(ranker: Any, rows: Rows, output: str) -> None:
    """Write the model file, with the features' names where the data had some."""
    if rows.feature_names is not None:
        ranker.feature_names_in_ = np.array(rows.feature_names, dtype=object)
    ranker.save(output)


def report(summary: dict[str, Any], output: str, *, quiet: bool, as_json: bool) -> None:
    """Show the summary: JSON where asked for, else a table, beside the model if that is piped."""
    if as_json:
        print_json(summary)
    elif not quiet:
        print_facts(f"Trained on {summary['rows']:,} rows", summary, err=output == "-")
