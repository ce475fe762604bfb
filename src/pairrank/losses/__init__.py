"""Losses of a pair: formulas, their derivatives, and the family that selects a fast sum."""

from typing import Any

from pairrank._protocols import PairLoss
from pairrank.exceptions import PairrankError
from pairrank.losses._phi import OfPhi
from pairrank.losses.differences import Square as Square
from pairrank.losses.differences import Tube as Tube
from pairrank.losses.hinges import Hinge as Hinge
from pairrank.losses.hinges import HuberisedHinge as HuberisedHinge
from pairrank.losses.hinges import ModifiedHuber as ModifiedHuber
from pairrank.losses.hinges import SquaredHinge as SquaredHinge
from pairrank.losses.sigmoids import Exponential as Exponential
from pairrank.losses.sigmoids import Logistic as Logistic
from pairrank.losses.sigmoids import Probit as Probit
from pairrank.losses.sigmoids import Raykar as Raykar

LOSSES: dict[str, Any] = {
    "squared_hinge": SquaredHinge,
    "hinge": Hinge,
    "logistic": Logistic,
    "probit": Probit,
    "raykar": Raykar,
    "exponential": Exponential,
    "modified_huber": ModifiedHuber,
    "huberised_hinge": HuberisedHinge,
}
"""The losses of preferences by name."""


def as_loss(loss: Any) -> PairLoss:
    """Return the loss of a name in `LOSSES`, or of any object that has `phi`.

    An object's ``phi(d, magnitude=0.0, order=0)`` takes and returns arrays. Without `family`, it is
    summed pair by pair; without `smooth`, it must have a second derivative.
    """
    if isinstance(loss, str) and loss in LOSSES:
        made: PairLoss = LOSSES[loss]()
        return made
    if isinstance(loss, type) or not callable(getattr(loss, "phi", None)):
        names = ", ".join(map(repr, LOSSES))
        raise PairrankError(f"loss must be one of {names}, or an object with phi (got {loss!r})")
    if hasattr(loss, "family") and hasattr(loss, "smooth"):
        given: PairLoss = loss
        return given
    return OfPhi(loss, bool(getattr(loss, "smooth", True)))
