"""Array-likes, frames and sparse matrices in; canonical arrays out, or a clear error."""

from __future__ import annotations

import functools
import numbers
import typing
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from pairrank.exceptions import PairrankError

FloatArray = NDArray[np.float64]


def check_features(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X as a dense or CSR matrix of float64 or float32, without a copy where it is one.

    Sets or checks `n_features_in_` and `feature_names_in_` on the estimator, as scikit-learn does.
    Raises a ValueError that names the first row and feature that is not finite.
    """
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=(np.float64, np.float32),
        ensure_all_finite=False,
    )
    check_finite_matrix(X)
    return X


def check_finite_matrix(X: Any) -> None:
    """Raise a PairrankError that names the first entry of a matrix that is not finite; O(size)."""
    values = X.data if sparse.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=values.dtype)):
            return
    finite = np.isfinite(values)
    if finite.all():
        return
    if sparse.issparse(X):
        entry = int(np.argmin(finite))
        row = int(np.searchsorted(X.indptr, entry, side="right")) - 1
        feature, value = int(X.indices[entry]), values[entry]
    else:
        row, feature = (int(at) for at in np.unravel_index(np.argmin(finite), finite.shape))
        value = values[row, feature]
    raise PairrankError(
        f"X contains {_name_of(value)} in row {row}, feature {feature}; "
        "replace or impute what is not finite"
    )


def check_labels(y: Any, n_rows: int | None = None) -> NDArray[Any]:
    """Return labels as a float64 or text array of shape (n_rows,)."""
    if y is None:
        raise PairrankError("y is None: ranking requires y to be passed, but the target y is None")
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise PairrankError(f"y must have one dimension, got shape {labels.shape}")
    check_length(labels, "y", n_rows)
    if labels.dtype.kind in "US" and hasattr(y, "dtype"):
        return labels
    if labels.dtype.kind in "USO":
        return _as_text(list(y) if labels.dtype.kind in "US" else labels)
    return _as_floats(labels, "y")


def check_query_ids(qid: Any, n_rows: int | None = None) -> NDArray[Any] | None:
    """Return query identifiers as an array of numbers, text or objects, or None."""
    if qid is None:
        return None
    identifiers = np.asarray(qid) if hasattr(qid, "dtype") else _from_sequence(qid)
    if identifiers.ndim == 2 and identifiers.shape[1] == 1:
        identifiers = identifiers[:, 0]
    if identifiers.ndim != 1:
        raise PairrankError(f"qid must have one dimension, got shape {identifiers.shape}")
    check_length(identifiers, "qid", n_rows)
    missing = _missing(identifiers)
    if missing.any():
        row = int(missing.argmax())
        raise PairrankError(f"qid is missing in row {row}; give every row its query")
    return identifiers


def check_weights(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Return row weights as float64 of shape (n_rows,), or None where there are none."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Real):
        return _not_negative(np.full(n_rows, as_float_array(sample_weight, "sample_weight")))
    weights = np.asarray(sample_weight)
    if weights.ndim != 1:
        raise PairrankError(
            f"sample_weight must have one dimension, got shape {weights.shape}: "
            "Sample weights must be 1D array or scalar"
        )
    check_length(weights, "sample_weight", n_rows)
    return _not_negative(_as_floats(weights, "sample_weight"))


def check_length(values: Any, name: str, n_rows: int | None) -> None:
    """Raise a PairrankError where an array has not one entry a row."""
    if n_rows is not None and len(values) != n_rows:
        raise PairrankError(
            f"{name} has {len(values)} entries for {n_rows} rows of X: inconsistent lengths"
        )


def check_number(
    value: Any, name: str, *, low: float = 0.0, inclusive: bool = False, integer: bool = False
) -> None:
    """Raise a PairrankError where a parameter is no finite number above `low`."""
    kind = numbers.Integral if integer else numbers.Real
    wanted = "a whole number" if integer else "a finite number"
    bound = f"{'at least' if inclusive else 'above'} {low:g}"
    valid = isinstance(value, kind) and not isinstance(value, bool) and _fits_a_float(value)
    if not valid or value < low or (value == low and not inclusive):
        raise PairrankError(f"{name} must be {wanted} {bound}, got {_shown(value)}")


def check_choice(value: Any, name: str, choices: tuple[Any, ...]) -> None:
    """Raise a PairrankError where a parameter is none of its choices."""
    if not any(isinstance(value, type(choice)) and value == choice for choice in choices):
        listed = ", ".join(map(repr, choices))
        raise PairrankError(f"{name} must be one of {listed}; got {_shown(value)}")


def check_choices(estimator: Any) -> None:
    """Raise a PairrankError where a parameter is none of the words that its annotation lists."""
    for name, choices in _choices_of(estimator.__class__).items():
        check_choice(getattr(estimator, name), name, choices)


@functools.cache
def _choices_of(estimator: Any) -> dict[str, tuple[Any, ...]]:
    """Return the words that a Literal annotation lists for each parameter of a constructor."""
    found = {}
    for name, hint in typing.get_type_hints(estimator.__init__).items():
        parts = typing.get_args(hint) if type(None) in typing.get_args(hint) else (hint,)
        words = [part for part in parts if typing.get_origin(part) is typing.Literal]
        optional = [None] if type(None) in parts else []
        if words and len(words) + len(optional) == len(parts):
            choices = (*typing.get_args(words[0]), *optional)
            if isinstance(choices[0], str):
                found[name] = choices
    return found


def check_power(n: Any) -> None:
    """Raise a PairrankError where the power of a cost is neither 1 nor 2."""
    check_number(n, "n", low=1, inclusive=True, integer=True)
    check_choice(int(n), "n", (1, 2))


def as_float_array(values: Any, name: str) -> FloatArray:
    """Return an array of float64, without a copy where it is one; an error if they are not."""
    try:
        return np.asarray(values).astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise PairrankError(f"{name} must hold numbers: {error}") from None
    except OverflowError:
        raise PairrankError(
            f"{name} holds a number beyond {np.finfo(np.float64).max:.2g}, the largest float: "
            "scale or remove it"
        ) from None


def _fits_a_float(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def _shown(value: Any) -> str:
    """Return a value as an error shows it: one beyond every float in words, not in its digits."""
    is_float = isinstance(value, (float, np.floating))
    if isinstance(value, numbers.Real) and not is_float and not _fits_a_float(value):
        return "a number beyond the largest float"
    return repr(value)


def _as_text(labels: Any) -> NDArray[Any]:
    """Return labels as text, or as floats where none is text; an error where they mix."""
    texts = [isinstance(label, str) for label in labels]
    if not any(texts):
        return _as_floats(np.asarray(labels, dtype=object), "y")
    if not all(texts):
        row = texts.index(False)
        raise PairrankError(f"y mixes text with {labels[row]!r} in row {row}")
    return np.asarray(labels, dtype=str)


def _missing(identifiers: NDArray[Any]) -> NDArray[np.bool_]:
    if identifiers.dtype.kind == "f":
        return np.isnan(identifiers)
    if identifiers.dtype.kind in "mM":
        return np.isnat(identifiers)
    return np.zeros(1, dtype=bool)


def _from_sequence(values: Any) -> NDArray[Any]:
    """Turn a list into an array that keeps every identifier whole and as it is."""
    values = list(values)
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {int, str, float}:
        plain = np.asarray(values)
        if plain.dtype.kind in "iu" or kinds != {int}:
            return plain
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def _as_floats(values: NDArray[Any], name: str) -> FloatArray:
    if values.dtype.kind == "c":
        raise PairrankError(f"{name} holds complex numbers: Complex data not supported")
    if values.dtype.kind in "mM":
        raise PairrankError(f"{name} holds dates: turn them into numbers")
    floats = as_float_array(values, name)
    finite = np.isfinite(floats)
    if not finite.all():
        row = int(np.argmin(finite))
        raise PairrankError(f"{name} contains {_name_of(floats[row])} in row {row}")
    return floats


def _not_negative(weights: FloatArray) -> FloatArray:
    if (weights < 0).any():
        row = int((weights < 0).argmax())
        raise PairrankError(f"sample_weight[{row}] = {weights[row]} is negative")
    if not (weights > 0).any():
        raise PairrankError("every sample_weight is zero: no row is left")
    heaviest, lightest = weights.max(), weights[weights > 0].min()
    if not 1e-100 <= lightest <= heaviest <= 1e100:
        raise PairrankError(
            f"sample_weight runs from {lightest:g} to {heaviest:g}: products of two must be "
            "numbers, so keep weights between 1e-100 and 1e100"
        )
    return weights


def _name_of(value: Any) -> str:
    return "NaN" if np.isnan(value) else "infinity (inf)"
