"""Values that users give become arrays: what cannot is refused."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError

_NO_NUMBERS = (str, bytes, complex, datetime.date, np.datetime64, np.timedelta64)
_SCALARS = (np.str_, np.bool_, np.integer, np.floating)


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Return the values as an array of any shape and type."""
    refuse_hidden(values, name)
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise PairrankError(f"{name} is not an array: {error}") from None


def as_float_array(values: Any, name: str) -> FloatArray:
    """Return the values as an array of float64, copied only where they are of another type."""
    array = as_array(values, name)
    refuse_kinds(array, name)
    try:
        return array.astype(np.float64, copy=False)
    except OverflowError:
        raise PairrankError(
            f"{name} holds a number beyond {np.finfo(np.float64).max:.2g}, the largest float: "
            "scale or remove it"
        ) from None
    except (TypeError, ValueError) as error:
        raise PairrankError(f"{name} must hold numbers: {error}") from None


def from_sequence(values: Iterable[Any]) -> NDArray[Any]:
    """Return an array that keeps every identifier unchanged."""
    values = list(values)
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {int, str, float}:
        plain = np.asarray(values)
        drops = plain.dtype.kind == "U" and any(value.endswith("\0") for value in values)
        if not drops and (plain.dtype.kind in "iu" or kinds != {int}):
            return plain
    return np.fromiter(values, dtype=object, count=len(values))


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT, pandas' NA or masked."""
    if value is None or value is np.ma.masked:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True
    except ValueError:
        return False


def is_hashable(value: Any) -> bool:
    """Whether a value, with all that it holds, can be a name."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def plain(value: Any) -> Any:
    """Return a number or text of numpy as Python's; other values are unchanged."""
    return value.item() if isinstance(value, _SCALARS) else value


def shown(value: Any) -> str:
    """Return a value as an error shows it: a whole number beyond the largest float in words."""
    value = plain(value)
    is_huge = isinstance(value, numbers.Rational) and not fits_a_float(value)
    return "a number beyond the largest float" if is_huge else repr(value)


def fits_a_float(value: Any) -> bool:
    """Return whether a number is finite as a float."""
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def refuse_hidden(values: Any, name: str) -> None:
    """Raise a PairrankError where values are masked, or not computed yet."""
    if np.ma.is_masked(values):
        raise PairrankError(
            f"{name} is a masked array that hides {np.ma.count_masked(values)} of its values: drop "
            f"their rows, or fill them with {name}.filled(...)"
        )
    if hasattr(values, "collect") and not hasattr(values, "shape"):
        raise PairrankError(
            f"{name} is a {type(values).__name__}, which holds no rows yet: call collect() on it"
        )


def refuse_kinds(values: Any, name: str) -> None:
    """Raise a PairrankError for complex numbers, dates and, of single columns, text."""
    dtypes = getattr(values, "dtypes", None)
    dtypes = [getattr(values, "dtype", None)] if dtypes is None or np.ndim(dtypes) == 0 else dtypes
    kinds = {getattr(dtype, "kind", "") for dtype in dtypes}
    if "c" in kinds:
        raise PairrankError(f"{name} holds complex numbers: Complex data not supported")
    if kinds & {"m", "M"} or any(getattr(dtype, "is_temporal", bool)() for dtype in dtypes):
        raise PairrankError(f"{name} holds dates: turn them into numbers")
    if not isinstance(values, np.ndarray) or values.ndim > 1:
        return
    if values.dtype.kind in "UST":
        raise PairrankError(f"{name} must hold numbers, got text")
    for row, value in enumerate(values.ravel() if values.dtype.kind == "O" else ()):
        if isinstance(value, _NO_NUMBERS) or is_missing(value):
            shown = "a missing value" if is_missing(value) else repr(value)
            raise PairrankError(f"{name} must hold numbers, got {shown} in row {row}")


def refuse_merged(values: list[Any], floats: FloatArray, name: str) -> None:
    """Raise a PairrankError where different values became the same float64."""
    first: dict[float, Any] = {}
    for row, (value, number) in enumerate(zip(values, floats.tolist(), strict=True)):
        known = first.setdefault(number, value)
        if known != value:
            raise PairrankError(
                f"{name}[{row}] = {value} and {known} differ, but are equal as float64: subtract "
                "the same number from all of them, or give their ranks"
            )
