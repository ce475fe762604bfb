"""--kernel and its options: rbf or poly, as far as a command line can say a kernel."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from pairrank.cli._models import flag_of
from pairrank.cli._options import not_negative

KERNELS = ("rbf", "poly")
FEATURES = ("auto", "exact", "nystroem")

_OF_EVERY = ("gamma", "kernel_features", "n_components", "regularizer")
_OF_POLY = ("degree", "coef0")


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


KernelOption = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="KERNEL",
        callback=check_kernel,
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
        help="Of --kernel; 1/features if left out.",
    ),
]
DegreeOption = Annotated[
    int | None, typer.Option("--degree", min=1, help="Of --kernel poly; 3 if left out.")
]
Coef0Option = Annotated[
    float | None,
    typer.Option("--coef0", callback=not_negative, help="Of --kernel poly; 1 if left out."),
]
FeaturesOption = Annotated[
    str | None,
    typer.Option(
        "--kernel-features",
        metavar="WAY",
        callback=check_features,
        help="exact: every row is a landmark; nystroem: a sample is; auto if left out.",
    ),
]
ComponentsOption = Annotated[
    int | None, typer.Option("--components", min=1, help="The landmarks of nystroem.")
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
