"""The losses by name, and which derivatives they have."""

from __future__ import annotations

from typing import Any

from pairrank._protocols import LossFamily, PairLoss, PiecewisePolynomial, Squares, Tubes
from pairrank.exceptions import PairrankError
from pairrank.losses import LOSSES, Square, Tube, as_loss

OF_DIFFERENCES = {"square": Square, "tube": Tube}
"""The losses of differences by name."""


def loss_of(loss: Any) -> PairLoss:
    """Return the loss of a name, or of any object that has `phi`."""
    if isinstance(loss, str) and loss in OF_DIFFERENCES:
        made: PairLoss = OF_DIFFERENCES[loss]()
        return made
    if isinstance(loss, str) and loss not in LOSSES:
        names = ", ".join(map(repr, (*LOSSES, *OF_DIFFERENCES)))
        raise PairrankError(f"loss must be one of {names}, or an object with phi (got {loss!r})")
    return as_loss(loss)


def is_of_differences(family: LossFamily) -> bool:
    """Whether the loss compares differences of labels with those of scores."""
    return isinstance(family, Squares | Tubes)


def is_piecewise_linear(family: LossFamily) -> bool:
    """Whether the second derivative is 0 wherever it exists."""
    if isinstance(family, Tubes):
        return family.power == 1
    if isinstance(family, PiecewisePolynomial):
        return all(power == 1 for _, power, _ in family.terms)
    return False
