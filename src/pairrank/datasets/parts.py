"""What every reader of a data set returns, and the check of its options."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pairrank.datasets.record import DatasetRecord
from pairrank.exceptions import PairrankError
from pairrank.preferences import Pairs


class Parts(NamedTuple):
    """What a reader returns: the first four parts of a Dataset."""

    X: Any
    y: np.ndarray[Any, Any] | Pairs
    qid: np.ndarray[Any, Any] | None
    feature_names: list[str] | None


def choose(record: DatasetRecord, option: str, value: Any, allowed: Any) -> Any:
    """Return `value` if it is among `allowed`, else say which are."""
    if value not in allowed:
        listed = ", ".join(repr(one) for one in allowed)
        raise PairrankError(f"{record.name}: {option}={value!r}; there are {listed}")
    return value
