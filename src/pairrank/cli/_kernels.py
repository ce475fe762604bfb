"""--kernel and its options: rbf or poly, as far as a command line can say a kernel."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated, Any

import typer

from pairrank.cli._models import flag_of, users_of
from pairrank.cli._options import not_negative

KERNELS = ("rbf", "poly")
FEATURES = ("auto", "exact", "nystroem")

_OF_EVERY = ("gamma", "kernel_features", "n_components", "regularizer")
_OF_POLY = ("degree", "coef0")


class Regularizer(StrEnum):
    """What a kernel's scores are penalised by."""

    rkhs = "rkhs"
    coefficients = "coefficients"


def check_kernel(name: str | None) -> str | None:
    """Check that an option's value is a kernel that rows in a file can have."""
    if name == "precomputed":
        raise typer.BadParameter(
            "'precomputed' takes a matrix of kernel values, which no file of rows holds: use "
            f"{' or '.join(KERNELS)}, or fit in Python, which takes functions too"
        )
    if name is not None and name not in KERNELS:
        raise typer.BadParameter(
            f"{name!r} is none of {', '.join(KERNELS)}; leave it out for linear scores"
        )
    return name


def check_gamma(text: str | None) -> str | None:
    """Check that an option's value is a positive number, or "scale"."""
    if text is not None and text != "scale":
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 < value < math.inf:
            raise typer.BadParameter(f"{text!r} is neither a positive number nor scale")
    return text


def check_features(name: str | None) -> str | None:
    """Check that an option's value is a way to make features of a kernel."""
    if name is not None and name not in FEATURES:
        raise typer.BadParameter(f"{name!r} is none of {', '.join(FEATURES)}")
    return name


_PANEL = "Kernels"

KernelOption = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="KERNEL",
        callback=check_kernel,
        rich_help_panel=_PANEL,
        help="rbf, exp(-gamma |x - x'|^2), or poly, (gamma x.x' + coef0)^degree; linear if left "
        "out.",
    ),
]
GammaOption = Annotated[
    str | None,
    typer.Option(
        "--gamma",
        metavar="NUMBER|scale",
        callback=check_gamma,
        rich_help_panel=_PANEL,
        help="1/features if left out; scale divides that by the variance of the features, too.",
    ),
]
DegreeOption = Annotated[
    int | None,
    typer.Option("--degree", min=1, rich_help_panel=_PANEL, help="Of poly; 3 if left out."),
]
Coef0Option = Annotated[
    float | None,
    typer.Option(
        "--coef0", callback=not_negative, rich_help_panel=_PANEL, help="Of poly; 1 if left out."
    ),
]
FeaturesOption = Annotated[
    str | None,
    typer.Option(
        "--kernel-features",
        metavar="WAY",
        callback=check_features,
        rich_help_panel=_PANEL,
        help="exact: every row is a landmark; nystroem: a sample is; auto (default): by the rows.",
    ),
]
ComponentsOption = Annotated[
    int | None,
    typer.Option("--components", min=1, rich_help_panel=_PANEL, help="The landmarks of nystroem."),
]
RegularizerOption = Annotated[
    Regularizer | None,
    typer.Option(
        "--regularizer",
        rich_help_panel=_PANEL,
        help=f"{users_of('regularizer')}: penalise the kernel's norm (rkhs, default), or that of "
        "the coefficients of the rows.",
    ),
]


def check_together(params: dict[str, Any]) -> None:
    """Refuse options of a kernel where there is none, or another one, as wrong usage."""
    kernel = params.get("kernel")
    for param in (*_OF_EVERY, *_OF_POLY):
        if param in params and kernel is None:
            raise typer.BadParameter(
                f"{flag_of(param)} is of a kernel: give --kernel {' or '.join(KERNELS)} too."
            )
    for param in _OF_POLY:
        if param in params and kernel != "poly":
            raise typer.BadParameter(f"{flag_of(param)} is of --kernel poly: leave it out.")
    if "n_components" in params and params.get("kernel_features") == "exact":
        raise typer.BadParameter(
            "--components is of --kernel-features nystroem: exact takes every row."
        )


def as_gamma(text: str) -> float | str:
    """Return a checked --gamma as estimators take it."""
    return text if text == "scale" else float(text)
