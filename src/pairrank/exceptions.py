"""Errors and warnings that a user may catch."""


class PairrankError(ValueError):
    """Input that pairrank cannot work with; every such error says what, where, and the remedy."""


class InputTypeError(PairrankError, TypeError):
    """Features of a type that holds no numbers."""


class NoPairsError(PairrankError):
    """No preference is left to learn from or to measure on."""


class FileFormatError(PairrankError):
    """A file is torn, damaged, of a newer version, or not what its name says."""


class FileAccessError(PairrankError, OSError):
    """A file cannot be read or written: missing, not permitted, or the disk is full."""


class DatasetNotFoundError(PairrankError, FileNotFoundError):
    """A registered data set is not in `data_home`; the message says where it can be had."""


class PairrankWarning(UserWarning):
    """Something that a user should know, while the result still stands."""


class NoPairsWarning(PairrankWarning):
    """A fold or a data set holds no preference, so its pairwise accuracy is NaN."""


class ZeroWeightsWarning(PairrankWarning):
    """A fit ended with weights of zero, so that every row has the same score."""


class CacheWarning(PairrankWarning):
    """Compiled code cannot be kept on disk or read from there, so it is compiled anew."""
