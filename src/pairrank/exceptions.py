"""Errors and warnings that a user may catch."""

from typing import Any


class PairrankError(ValueError):
    """Invalid input; the message says what is wrong, where, and what to do."""


class InputTypeError(PairrankError, TypeError):
    """Features of a type other than numbers."""


class NoPairsError(PairrankError):
    """There is no preference to learn from or to measure."""


class FileFormatError(PairrankError):
    """A file is cut, damaged, of a newer version, or of another format than its name says."""


class FileAccessError(PairrankError, OSError):
    """A file cannot be read or written: missing, not permitted, or the disk is full."""


class MissingLibraryError(PairrankError, ImportError):
    """An optional library is not installed; the message names the extra that installs it."""


class FitInterruptedError(PairrankError, RuntimeError):
    """A fit on a cluster was interrupted, or the cluster was lost.

    Parameters
    ----------
    message : str
        What has happened.
    partial_coef : ndarray, optional
        The weights of the last iteration; None if there was none.

    Notes
    -----
    `partial_coef_` has the weights. Set them as `coef_` of a ranker with ``warm_start=True``, and
    `fit` goes on from there.
    """

    def __init__(self, message: str, partial_coef: Any = None) -> None:
        super().__init__(message)
        self.partial_coef_ = partial_coef


class PairrankWarning(UserWarning):
    """The base of all warnings; the result is valid."""


class NoPairsWarning(PairrankWarning):
    """A fold or a data set has no preference, so its pairwise accuracy is NaN."""


class ZeroWeightsWarning(PairrankWarning):
    """A fit ended with zero weights, so that all rows have the same score."""


class UndeterminedWarning(PairrankWarning):
    """Some differences of scores are not determined by any comparison."""


class CacheWarning(PairrankWarning):
    """Compiled code cannot be cached on disk, so it is compiled again."""


class OrderChangeWarning(PairrankWarning):
    """An exported model orders some rows in another way, because it computes in less precision."""
